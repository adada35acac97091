"""A loaded model: texts in, numbers out."""

import contextlib
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from engine import models, tokenizer
from engine.batches import Batches, Text
from engine.compiling import CODE, DECODER, is_compiled, is_whole
from engine.errors import BadModelFile, EngineError, InputTooLong, UnsupportedModel
from engine.gguf import GgufFile, check_whole, read
from engine.kernels.matmul.encoder import LAYOUT
from engine.kernels.vectors import probabilities, similarity, softmax
from engine.models import Head, Kind, Network, Readout, decoders
from engine.models.head import Answer, best_span
from engine.models.stored import Arrays, stored
from engine.models.weights import check_finite
from engine.simd.compiled import announced
from engine.widened import WIDE, facts, is_widened, widened

if TYPE_CHECKING:
    from engine.generate.model import Wording

NUMERICS = "cloister-int-7"
"""The version of the arithmetic (NUMERICS.md defines it): the same version gives the same bytes."""

F32 = NDArray[np.float32]
Tags = tuple[NDArray[np.int32], F32]
_FUNCTIONS = 66
"""How many functions are compiled for an encoder: counted, and near enough for all of them."""
_METHODS: dict[Kind, str] = {"embedding": "embed", "sequence": "classify", "tokens": "tag", "span": "answer"}


def make_model(file: GgufFile, *, widen: bool, progress: Callable[[str], None] | None) -> "Model":
    """Make the model that `engine.load` gives, of a file that is being hashed."""
    if _is_decoder(file):
        architecture = file.require("general.architecture", str)
        raise UnsupportedModel(f"{file.path}: architecture {architecture!r} writes text; engine.load_decoder loads it")
    file = widened(file) if widen else file
    kept: list[bool] = []

    def keep(make: Callable[[], Arrays]) -> Arrays:
        arrays, is_kept = stored(file.sha256, f"{LAYOUT}-{CODE}{WIDE * is_widened(file)}", make)
        kept.append(is_kept)
        return arrays

    with file.named():
        words = tokenizer.from_metadata(file.metadata)
    name, told = models.read_shape(file)[0].__name__.rpartition(".")[2], progress or (lambda line: None)
    with contextlib.nullcontext() if is_compiled(name) else announced(_FUNCTIONS, told):  # not in the middle of a night
        network, readout = models.load(file, words, keep)
        model = Model(file, words, network, readout, kept=all(kept))
        model._try()
    return model


def head_of(path: str | os.PathLike[str]) -> Kind | Literal["text"]:
    """`Model.head` of a GGUF file, without its weights; `text` for what `load_decoder` loads. Raises BadModelFile and
    UnsupportedModel for what would be refused in its architecture, sizes and head."""
    file = read(Path(path))
    if _is_decoder(file):
        decoders.read_shape(file)
        return "text"
    return models.read_shape(file)[2].kind


def own_head_of(path: str | os.PathLike[str]) -> Head | None:
    """Read from the metadata of a GGUF file which labels and scores its head has; None for what `load_decoder` loads.
    Raises as `head_of`."""
    file = read(Path(path))
    return None if _is_decoder(file) else models.read_shape(file)[2]


def kernels_of(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """The name of the kernels that a GGUF file is computed with, and whether they are compiled already. Files with one
    name share their kernels. Raises as `head_of`."""
    file = read(Path(path))
    if _is_decoder(file):
        return DECODER, is_whole(DECODER)
    name = models.read_shape(file)[0].__name__.rpartition(".")[2]
    return name, is_compiled(name)


def examine(path: str | os.PathLike[str]) -> "Wording | None":
    """Checks a file without loading its weights. Returns the wording of a decoder, None for an encoder. Refuses what
    loading would refuse: a tokenizer or chat template that cannot be used, values that are not finite, tensors of a
    decoder that are not what they should be. Raises as `head_of`."""
    head_of(path)
    file = read(Path(path))
    if _is_decoder(file):
        # measured: 92 ms of imports that no encoder needs
        from engine.generate.load import examine_decoder

        return examine_decoder(file)
    with file.named():
        tokenizer.from_metadata(file.metadata)
    check_finite(file)
    return None


def _is_decoder(file: GgufFile) -> bool:
    """Whether a file holds a decoder. UnsupportedModel for what is no model of either kind, or not a whole one."""
    check_whole(file)
    name = file.require("general.architecture", str)
    if name not in (known := [*models.ARCHITECTURES, *decoders.DECODERS]):
        raise UnsupportedModel(f"{file.path}: architecture {name!r:.60}, expected one of {', '.join(known)}")
    return name in decoders.DECODERS


class Model:
    """An encoder and what stands on it. Thread-safe; one call at a time uses all threads.

    Every method that takes texts raises InputTooLong, and nothing is ever cut; UnsupportedModel if the head is another;
    EngineError if a value is not finite.
    """

    def __init__(
        self, file: GgufFile, words: tokenizer.Tokenizer, network: Network, readout: Readout, *, kept: bool
    ) -> None:
        self._file, self._tokenizer, self._network, self._readout, self._kept = file, words, network, readout, kept
        self._batches = Batches(network, readout)
        kind = self._tokenizer.template.second_type
        if self.head in ("sequence", "span") and 0 < network.kinds <= kind:
            found = f"found the token type {kind} for second texts, expected one of {network.kinds}"
            raise BadModelFile(f"{file.path}: cloister.tokenizer.second_type: {found}")

    @property
    def context(self) -> int:
        """Tokens of the longest text, special tokens included."""
        return self._network.sizes.context

    @property
    def dim(self) -> int:
        """Length of a token's vector, which is that of an embedding."""
        return self._network.sizes.d_model.size

    @property
    def head(self) -> Kind:
        """The model's purpose: `embedding` (embed), `sequence` (classify), `tokens` (tag) or `span` (answer)."""
        return self._readout.head.kind

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the outputs, in order; of a span `start` and `end`, of an embedding none."""
        return self._readout.head.labels

    @property
    def prompts(self) -> tuple[str, str]:
        """The texts that callers put before a query and before a document, as the model was trained with; empty where
        it was trained without. `embed` adds nothing to a text."""
        return self._readout.head.query, self._readout.head.document

    @property
    def unrelated(self) -> float:
        """The cosine of the vectors of two texts that have nothing to do with each other, as the file says; else 0."""
        return self._readout.head.unrelated

    @property
    def sha256(self) -> str:
        """The sha256 of the model file's bytes, in hexadecimal."""
        return self._file.sha256

    @property
    def tokenizer_sha256(self) -> str:
        """The sha256 of everything in the file that determines token ids, in hexadecimal."""
        return self._tokenizer.sha256

    @cached_property
    def facts(self) -> dict[str, str | int]:
        """The facts about the engine that go into the audit log: architecture, instruction set, CPU, compiler versions;
        and whether the weights are kept on the disk in their execution layout, without which every start is slow."""
        return facts(self._file) | {"weights_kept": "yes" if self._kept else "no"}

    def count_tokens(self, texts: Sequence[str | tuple[str, str]]) -> list[int]:
        """Tokens of each text, or pair of texts, special tokens included."""
        counted = self._tokenizer
        return [counted.count(text) if isinstance(text, str) else counted.encode_pair(*text).ids.size for text in texts]

    def embed(self, texts: Sequence[str]) -> F32:
        """float32 [n, dim], pooled and normalised as the file states."""
        self._expect("embedding")
        return self._run([_plain(ids) for ids in self._tokenizer.encode_many(texts)])[0]

    def classify(self, texts: Sequence[str | tuple[str, str]]) -> F32:
        """float32 [n, labels] of texts, or pairs of texts: probabilities, or the outputs as they are where the file
        says so, as models that compute a number do."""
        return self.scores(self.logits(texts))

    def logits(self, texts: Sequence[str | tuple[str, str]]) -> F32:
        """float32 [n, labels]: the outputs of which `classify` makes scores."""
        self._expect("sequence")
        return self._run([self._text(text) for text in texts])[0]

    def scores(self, logits: F32) -> F32:
        """float32 [n, labels]: what `classify` gives for texts with these outputs."""
        return probabilities(logits, self._readout.head.scores)

    def tag(self, texts: Sequence[str]) -> list[Tags]:
        """Labels tokens. Returns for each text: int32 [tokens, 2], the code points from and to which a token goes, and
        float32 [tokens, labels], probabilities. Special tokens are left out."""
        self._expect("tokens")
        encodings = [self._tokenizer.encode_with_offsets(text) for text in texts]
        outputs, at = self._run([Text(encoding.ids, encoding.types) for encoding in encodings])
        inside = [encoding.offsets[:, 0] >= 0 for encoding in encodings]
        found = probabilities(outputs, "softmax")
        return [
            (encoding.offsets[here], found[begin:end][here])
            for encoding, here, begin, end in zip(encodings, inside, at[:-1], at[1:], strict=True)
        ]

    def answer(self, question: str, texts: Sequence[str]) -> list[Answer]:
        """Returns for each text the span of at most 30 tokens that is the most likely answer."""
        self._expect("span")
        encodings = [self._tokenizer.encode_pair(question, text) for text in texts]
        outputs, at = self._run([Text(encoding.ids, encoding.types) for encoding in encodings])
        return [
            best_span(outputs[begin:end], encoding.offsets)
            for encoding, begin, end in zip(encodings, at[:-1], at[1:], strict=True)
        ]

    def _expect(self, head: Kind) -> None:
        if head != self.head:
            can = f"{_METHODS[head]} needs the head {head!r}"
            raise UnsupportedModel(f"{self._file.path}: has the head {self.head!r}, for {_METHODS[self.head]}; {can}")

    def _text(self, text: str | tuple[str, str]) -> Text:
        if isinstance(text, str):
            return _plain(self._tokenizer.encode(text))
        encoding = self._tokenizer.encode_pair(*text)
        return Text(encoding.ids, encoding.types)

    def _run(self, texts: Sequence[Text]) -> tuple[F32, NDArray[np.int64]]:
        """Computes a batch of texts; the result is that of `Batches.run`."""
        for i, text in enumerate(texts):
            if text.ids.size > self.context:
                raise InputTooLong(f"text {i} has {text.ids.size} tokens, the model takes {self.context}")
        rows, at = self._batches.run(texts)
        if not np.isfinite(rows).all():
            raise EngineError(f"{self._file.path}: gives values that are not finite")
        return rows, at

    def _try(self) -> None:
        """Call all that is compiled for this model once."""
        if self.head == "embedding":
            vectors = self.embed([""])
            softmax(similarity(vectors, vectors), 1.0)
        elif self.head == "sequence":
            self.classify([""])
        elif self.head == "tokens":
            self.tag([""])
        else:
            self.answer("", [""])


def _plain(ids: NDArray[np.int32]) -> Text:
    return Text(ids, np.zeros_like(ids))
