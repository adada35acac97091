"""A loaded model: texts in, vectors out. Which texts travel together never changes a bit of any of them."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import tokenizer
from engine.compiling import LASTING, is_compiled
from engine.cpu import isa, threads
from engine.errors import EngineError, InputTooLong, UnsupportedModel
from engine.facts import facts
from engine.gguf import GgufFile, read
from engine.kernels.matmul import LAYOUT
from engine.kernels.vectors import similarity, softmax
from engine.models import ARCHITECTURES
from engine.models.stored import Arrays, stored

NUMERICS = "cloister-int14-2"
"""The version of the arithmetic (README.md defines it): the same version gives the same bytes."""

_BLOCK_TOKENS = 128  # a block's activations stay in a core's L2 cache


def load(path: str | os.PathLike[str], *, progress: Callable[[str], None] | None = None) -> "Model":
    """Read a GGUF file and make it ready. `progress` gets one line when kernels have to be compiled.

    Raises BadModelFile, UnsupportedModel, UnsupportedCpu.
    """
    isa(), threads()  # what is forced must be possible
    file = read(Path(path))
    name = file.require("general.architecture", str)
    if name not in ARCHITECTURES:
        raise UnsupportedModel(f"{path}: architecture {name!r}, expected one of {', '.join(ARCHITECTURES)}")
    say = progress or (lambda line: None)
    key = f"{file.sha256}-{NUMERICS}-{LAYOUT}"
    kept: list[bool] = []

    def keep(make: Callable[[], Arrays]) -> Arrays:
        arrays, is_kept = stored(key, make)
        kept.append(is_kept)
        return arrays

    network = ARCHITECTURES[name].load(file, keep)
    return Model(file, network, say, all(kept))


class Model:
    """An encoder. Thread-safe; one `embed` at a time uses all threads."""

    def __init__(self, file: GgufFile, network: Any, progress: Callable[[str], None], kept: bool) -> None:
        self._file, self._network = file, network
        self._tokenizer = tokenizer.from_metadata(file.metadata)
        self._scratch: list[tuple[Any, ...]] = []
        self._lock = threading.Lock()
        self._warm_up(progress)

    @property
    def context(self) -> int:
        """Tokens of the longest text, special tokens included."""
        return int(self._network.context)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self._network.width)

    @property
    def sha256(self) -> str:
        """Of the file's bytes."""
        return self._file.sha256

    @property
    def tokenizer_sha256(self) -> str:
        """Of everything in the file that determines token ids."""
        return self._tokenizer.sha256

    @cached_property
    def facts(self) -> dict[str, str | int]:
        """What the audit log says of the engine: architecture, instruction set, CPU, compiler versions."""
        return facts(self._file)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included."""
        return [ids.size for ids in self._tokenizer.encode_many(texts)]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 [n, dim], pooled and normalised as the file states. Raises InputTooLong; nothing is ever cut."""
        sequences = self._tokenizer.encode_many(texts)
        for i, ids in enumerate(sequences):
            if ids.size > self.context:
                raise InputTooLong(f"text {i} has {ids.size} tokens, the model takes {self.context}")
        vectors = np.zeros((len(sequences), self.dim), np.float32)
        with self._lock:
            self._compute(sequences, vectors)
        if not np.isfinite(vectors).all():
            raise EngineError(f"{self._file.path}: gives values that are not finite")
        return vectors

    def _compute(self, sequences: Sequence[NDArray[np.int32]], vectors: NDArray[np.float32]) -> None:
        blocks = _blocks(sequences)
        guard = threading.Lock()

        def work(scratch: tuple[Any, ...]) -> None:
            while True:
                with guard:
                    block = next(blocks, None)
                if block is None:
                    return
                vectors[block] = self._encode([sequences[i] for i in block], scratch)

        count = min(threads(), len(sequences))
        while len(self._scratch) < count:
            self._scratch.append(self._network.scratch(max(_BLOCK_TOKENS, self.context)))
        with ThreadPoolExecutor(max(1, count)) as pool:
            list(pool.map(work, self._scratch[:count]))

    def _encode(self, sequences: list[NDArray[np.int32]], scratch: tuple[Any, ...]) -> NDArray[np.float32]:
        starts = np.zeros(len(sequences) + 1, np.int64)
        np.cumsum([ids.size for ids in sequences], out=starts[1:])
        out = np.zeros((len(sequences), self.dim), np.float32)
        self._network.encode(np.concatenate(sequences), starts, scratch, out)
        return out

    def _warm_up(self, progress: Callable[[str], None]) -> None:
        """Compile now, not in the middle of a night."""
        if not is_compiled():
            again = "once per machine" if LASTING else "at each start, for the cache folder cannot be written"
            progress(f"compiling kernels for {isa()}, {again}")
        vectors = self.embed([""])
        softmax(similarity(vectors, vectors), 1.0)


def _blocks(sequences: Sequence[NDArray[np.int32]]) -> Iterator[list[int]]:
    """Indexes of sequences, longest first, in blocks of at most _BLOCK_TOKENS tokens (or one longer sequence)."""
    block: list[int] = []
    tokens = 0
    for i in sorted(range(len(sequences)), key=lambda i: -sequences[i].size):
        if block and tokens + sequences[i].size > _BLOCK_TOKENS:
            yield block
            block, tokens = [], 0
        block.append(i)
        tokens += sequences[i].size
    if block:
        yield block
