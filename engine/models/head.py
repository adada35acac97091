"""The head of an encoder, as the metadata of its file says it. engine/MODELS.md has the keys."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import GgufFile
from engine.kernels.functions import tanh
from engine.kernels.matmul import GELU, PLAIN, Target, aligned
from engine.kernels.matmul.floats import FLOAT_ROWS, SUMS, matmul_floats
from engine.kernels.rows import LayerNorm, line_up, mean_pool, normalize, place
from engine.kernels.vectors import softmax
from engine.models.layers import norm_rows
from engine.models.network import Sizes, layer_norm
from engine.models.stored import Arrays
from engine.models.weights import Axis, read_floats, read_norm
from engine.simd import F32, I64, LANES, load_f32, store_f32
from engine.simd.compiled import entry, kernel

Kind = Literal["embedding", "sequence", "tokens", "span"]
KINDS: tuple[Kind, ...] = get_args(Kind)
EACH_TOKEN, MEAN, FIRST = 0, 1, 2  # llama.cpp's numbers of pooling types
POOLINGS = f"{MEAN} (mean) or {FIRST} (first token)"
ACTIVATIONS = ("tanh", "gelu")
SCORES = ("softmax", "sigmoid", "none")
MAX_LABELS = 65_536
MAX_PROMPT = 1000  # characters
_BETWEEN = ("cls.weight", "cls.norm.weight")


@dataclass(frozen=True)
class Head:
    """The metadata of a head."""

    kind: Kind
    pooling: int  # EACH_TOKEN for heads that look at each token
    normalized: bool = False  # embedding: whether vectors have length 1
    query: str = ""  # embedding: what the model was trained to read before a question, and before other texts
    document: str = ""
    unrelated: float = 0.0  # embedding: the cosine of two texts that have nothing to do with each other
    labels: tuple[str, ...] = ()  # of the outputs, in order; an embedding has none
    scores: str = "softmax"  # what makes scores of the outputs
    activation: str | None = None  # between the two matrices of a head that has two


def read_head(file: GgufFile, architecture: str) -> Head:
    """The head of a model file. Raises BadModelFile and UnsupportedModel."""
    kind = file.metadata.get("cloister.head", "embedding")
    if kind not in KINDS:
        raise UnsupportedModel(f"{file.path}: cloister.head: found {kind!r:.60}, expected one of {', '.join(KINDS)}")
    if kind == "embedding":
        pooling = _pooling(file, f"{architecture}.pooling_type")
        normalized = "cloister.normalize" not in file.metadata or file.require("cloister.normalize", bool)
        query, document = (_prompt(file, f"cloister.prompt.{role}") for role in ("query", "document"))
        unrelated = _unrelated(file)
        return Head("embedding", pooling, normalized=normalized, query=query, document=document, unrelated=unrelated)
    labels = file.require(f"{architecture}.classifier.output_labels", list)
    if not 1 <= len(labels) <= MAX_LABELS or (kind == "span" and len(labels) != 2):
        expected = "2" if kind == "span" else f"1 to {MAX_LABELS}"
        where = f"{file.path}: {architecture}.classifier.output_labels"
        raise BadModelFile(f"{where}: found {len(labels)}, expected {expected}")
    is_sequence = kind == "sequence"
    return Head(
        cast(Kind, kind),
        _pooling(file, f"{architecture}.classifier.pooling_type") if is_sequence else EACH_TOKEN,
        labels=tuple(labels),
        scores=_choice(file, "cloister.head.scores", SCORES) if is_sequence else "softmax",
        activation=_choice(file, "cloister.head.activation", ACTIVATIONS) if _is_deep(file) else None,
    )


def _is_deep(file: GgufFile) -> bool:
    """Whether there are two matrices, with something between them."""
    return "cloister.head.activation" in file.metadata or not file.tensors.keys().isdisjoint(_BETWEEN)


def _pooling(file: GgufFile, key: str) -> int:
    pooling = file.require(key, int)
    if pooling not in (MEAN, FIRST):
        raise UnsupportedModel(f"{file.path}: {key}: found the pooling type {pooling}, expected {POOLINGS}")
    return pooling


def _prompt(file: GgufFile, key: str) -> str:
    found = file.require(key, str) if key in file.metadata else ""
    if len(found) > MAX_PROMPT:
        raise BadModelFile(f"{file.path}: {key}: found {len(found)} characters, expected at most {MAX_PROMPT}")
    return found


def _unrelated(file: GgufFile) -> float:
    key = "cloister.similarity.unrelated"
    found = file.require(key, float) if key in file.metadata else 0.0
    if not -1 < found < 1:
        raise BadModelFile(f"{file.path}: {key}: found {found}, expected a number between -1 and 1")
    return found


def _choice(file: GgufFile, key: str, known: tuple[str, ...]) -> str:
    value = file.require(key, str)
    if value not in known:
        raise UnsupportedModel(f"{file.path}: {key}: found {value!r:.60}, expected one of {', '.join(known)}")
    return value


@dataclass(frozen=True)
class Pooling:
    """A head that gives one vector a text."""

    head: Head
    axis: Axis  # of a token's vector
    each_token: ClassVar[bool] = False

    @property
    def columns(self) -> int:
        """How many values a row has."""
        return self.axis.size

    def read(self, states: F32, starts: I64, out: F32) -> None:
        """out float32 [sequences, columns] from the states [tokens, padded d_model] in tiles."""
        padded = np.zeros(out.shape[0] * self.axis.padded, np.float32)
        pool(states, starts, self.head.pooling, self.head.normalized, self.axis.padded, padded)
        out[:] = padded.reshape(out.shape[0], -1)[:, : self.axis.size]


@entry
def pool(x: F32, starts: I64, pooling: int, normalized: bool, width: int, out: F32) -> None:
    """out[sequences, width] of x [tokens, width] in tiles."""
    for s in range(starts.size - 1):
        pooled = starts[s + 1] - starts[s] if pooling == MEAN else 1
        mean_pool(x, starts[s], pooled, width, out, s * width)
        if normalized:
            normalize(out, s * width, width)


_ROWS = 64  # at a time
_NOTHING = np.zeros(0, np.float32)
_NOTHING.flags.writeable = False


class Dense(NamedTuple):
    """A matrix and its biases; empty, if a head has one matrix only."""

    floats: F32
    bias: F32


class Weights(NamedTuple):
    """A head as its kernel takes it: one matrix, or two with a function and perhaps a norm between them."""

    pooling: int
    is_gelu: bool  # else tanh
    width: int  # places of a token's vector
    labels: int  # places
    dense: Dense
    norm: LayerNorm
    output: Dense


def read_classifier(file: GgufFile, head: Head, width: Axis) -> Arrays:
    """The weights of a classifier. Raises BadModelFile."""
    arrays = read_floats(file, "cls.output", Axis(len(head.labels)), width)
    is_normed = "cls.norm.weight" in file.tensors
    if head.activation:
        arrays |= read_floats(file, "cls", width, width, biased=not is_normed)
    if is_normed:
        arrays |= read_norm(file, "cls.norm", ["cls.norm"], width, biased=False)
    return arrays


@dataclass(frozen=True)
class Classifier:
    """A head that gives one row a text, or one a token."""

    head: Head
    sizes: Sizes
    arrays: Arrays

    @property
    def each_token(self) -> bool:
        """Whether there is a row a token."""
        return self.head.pooling == EACH_TOKEN

    @property
    def columns(self) -> int:
        """How many values a row has: its labels."""
        return len(self.head.labels)

    @cached_property
    def _weights(self) -> Weights:
        width, names = self.sizes.d_model, ("cls", "cls.output")
        dense, output = (
            Dense(self.arrays.get(f"{name}.floats", _NOTHING), self.arrays.get(f"{name}.bias", _NOTHING))
            for name in names
        )
        norm = layer_norm(self.arrays, "cls.norm", self.sizes) if "cls.norm.weights" in self.arrays else None
        inside = self.arrays["inside"]
        none = LayerNorm(_NOTHING, _NOTHING, inside, width.size, self.sizes.epsilon)
        return Weights(
            self.head.pooling, self.head.activation == "gelu", width.padded, Axis(self.columns).padded, dense,
            norm or none, output,
        )  # fmt: skip

    def read(self, states: F32, starts: I64, out: F32) -> None:
        """out float32 [sequences or tokens, columns] from the states [tokens, padded d_model] in tiles."""
        width, padded = self.sizes.d_model.padded, Axis(self.columns).padded
        rows = np.zeros(out.shape[0] * padded, np.float32)
        sizes = (_ROWS + FLOAT_ROWS) * width, (_ROWS + LANES) * width, (_ROWS + LANES) * padded, SUMS
        classify(states, starts, self._weights, tuple(aligned(size, np.float32) for size in sizes), rows)
        out[:] = rows.reshape(out.shape[0], -1)[:, : self.columns]


@entry
def classify(x: F32, starts: I64, weights: Weights, scratch: tuple[F32, F32, F32, F32], out: F32) -> None:
    """out[sequences, labels], or [tokens, labels] without a pooling, of x [tokens, d_model] in tiles."""
    rows, hidden, outputs, sums = scratch
    pooling, width, labels, dense, output = (
        weights.pooling, weights.width, weights.labels, weights.dense, weights.output
    )  # fmt: skip
    count = starts[starts.size - 1] if pooling == EACH_TOKEN else starts.size - 1
    for first in range(0, count, _ROWS):
        some = min(_ROWS, count - first)
        if pooling == EACH_TOKEN:
            line_up(x, first, some, width, rows)
        for r in range(some if pooling else 0):
            begin, end = starts[first + r], starts[first + r + 1]
            mean_pool(x, begin, end - begin if pooling == MEAN else 1, width, rows, r * width)
        if dense.floats.size:
            target = Target(hidden, width, 0, 0, GELU if weights.is_gelu else PLAIN)
            matmul_floats(rows, some, width, dense.floats, dense.bias, width, target, sums)
            if not weights.is_gelu:
                _through_tanh(hidden, some, width)
            if weights.norm.weights.size:
                norm_rows(hidden, some, weights.norm, 0, hidden)
            line_up(hidden, 0, some, width, rows)
        target = Target(outputs, labels, 0, 0, PLAIN)
        matmul_floats(rows, some, width, output.floats, output.bias, labels, target, sums)
        for r in range(some):
            for i in range(0, labels, LANES):
                store_f32(out, (first + r) * labels + i, load_f32(outputs, place(r, i, labels)))


@kernel
def _through_tanh(x: F32, count: int, n: int) -> None:
    """x = tanh(x), x [count, n] in tiles."""
    for t in range(count):
        for i in range(0, n, LANES):
            store_f32(x, place(t, i, n), tanh(load_f32(x, place(t, i, n))))


LONGEST = 30
"""Tokens of an answer, at most; what is usual for such models."""


@dataclass(frozen=True)
class Answer:
    """start and end in code points of the text. The scores are probabilities: `score` of the span, `no_answer` of what
    models that were trained on questions without an answer say then; others leave it near 0."""

    start: int
    end: int
    score: float
    no_answer: float

    @property
    def found(self) -> bool:
        """Whether the span is more likely than no answer."""
        return self.score > self.no_answer


def best_span(outputs: NDArray[np.float32], offsets: NDArray[np.int32], longest: int = LONGEST) -> Answer:
    """Finds the best span in outputs float32 [tokens, 2], start and end, with offsets int32 [tokens, 2] in the text, -1
    outside of it. The first token stands for no answer. Of equal spans it is the shortest, and of those the first; 0 to
    0 for a text without tokens."""
    inside = np.flatnonzero(offsets[:, 0] >= 0)
    some = np.concatenate([[0], inside])
    starts, ends = softmax(np.ascontiguousarray(outputs[some].T), 1.0)
    no_answer = float(starts[0] * ends[0])
    if not inside.size:
        return Answer(0, 0, 0.0, no_answer)
    first, last, best = 0, 0, np.float32(-1)
    for more in range(min(longest, inside.size)):
        products = starts[1 : starts.size - more] * ends[1 + more :]
        at = int(products.argmax())
        if products[at] > best:
            first, last, best = at, at + more, products[at]
    return Answer(int(offsets[inside[first], 0]), int(offsets[inside[last], 1]), float(best), no_answer)
