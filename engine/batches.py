"""Blocks of texts over threads. Which texts travel together never changes a bit of any of them."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu import threads
from engine.models import Network, Readout
from engine.models.layers import Scratch

Ids = NDArray[np.int32]
F32 = NDArray[np.float32]

BLOCK_TOKENS = 256  # whose activations pass through a core's L2 cache
_LARGEST_KEPT = 64 << 20  # bytes of scratch that a thread keeps for the next batch


class Text(NamedTuple):
    """A text, or a pair of texts, as tokens: ids int32 [n], and kinds int32 [n], the number of each token's text."""

    ids: Ids
    kinds: Ids


class Batches:
    """Computes one batch at a time, on all threads; may be called by several."""

    def __init__(self, network: Network, readout: Readout) -> None:
        self._network, self._readout = network, readout
        self._scratch: list[_Scratch] = []
        self._lock = threading.Lock()

    def run(self, texts: Sequence[Text]) -> tuple[F32, NDArray[np.int64]]:
        """float32 [rows, columns] and int64 [n + 1]: what is read of text i is in rows at[i]:at[i + 1], one row or one
        for each token."""
        each_token = self._readout.each_token
        at = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([text.ids.size if each_token else 1 for text in texts], out=at[1:])
        rows = np.zeros((int(at[-1]), self._readout.columns), np.float32)
        with self._lock:
            self._compute(texts, at, rows)
        return rows, at

    def _compute(self, texts: Sequence[Text], at: NDArray[np.int64], rows: F32) -> None:
        sizes = [text.ids.size for text in texts]
        share = -(-sum(sizes) // threads())  # few texts are for all threads too
        waiting, guard = blocks(sizes, min(BLOCK_TOKENS, share)), threading.Lock()

        def work(scratch: _Scratch) -> None:
            while True:
                with guard:
                    block = next(waiting, None)
                if block is None:
                    return
                found = self._read([texts[i] for i in block], scratch)
                rows[np.concatenate([np.arange(at[i], at[i + 1]) for i in block])] = found

        count = min(threads(), len(texts))
        self._scratch += [_Scratch(self._network) for _ in range(count - len(self._scratch))]
        with ThreadPoolExecutor(max(1, count)) as pool:
            list(pool.map(work, self._scratch[:count]))
        for scratch in self._scratch:
            scratch.shrink()

    def _read(self, texts: list[Text], scratch: "_Scratch") -> F32:
        starts = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([text.ids.size for text in texts], out=starts[1:])
        ids, kinds = np.concatenate([text.ids for text in texts]), np.concatenate([text.kinds for text in texts])
        states = self._network.states(ids, kinds, starts, scratch.of(ids.size))
        out = np.zeros((ids.size if self._readout.each_token else len(texts), self._readout.columns), np.float32)
        self._readout.read(states, starts, out)
        return out


class _Scratch:
    """The memory of one thread: as much as the longest block so far has needed."""

    def __init__(self, network: Network) -> None:
        self._network, self._tokens = network, 0
        self._arrays: Scratch | None = None

    def of(self, tokens: int) -> Scratch:
        """Enough for so many tokens."""
        if self._arrays is None or tokens > self._tokens:
            self._arrays, self._tokens = None, 0  # first, so that there are never two
            room = BLOCK_TOKENS
            while room < tokens:
                room += room // 2
            room = min(room, max(tokens, self._network.sizes.context))
            self._arrays, self._tokens = self._network.scratch(room), room
        return self._arrays

    @property
    def bytes(self) -> int:
        """The size of the memory that is kept."""
        return _bytes(self._arrays) if self._arrays else 0

    def shrink(self) -> None:
        """Keep no large memory."""
        if self.bytes > _LARGEST_KEPT:
            self._arrays, self._tokens = None, 0


def _bytes(arrays: tuple[Any, ...]) -> int:
    return sum(_bytes(part) if isinstance(part, tuple) else part.nbytes for part in arrays)


def blocks(sizes: Sequence[int], most: int) -> Iterator[list[int]]:
    """Indexes of texts of these sizes, longest first, in blocks of at most so many tokens (or one longer text)."""
    block: list[int] = []
    tokens = 0
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        if block and tokens + sizes[i] > most:
            yield block
            block, tokens = [], 0
        block.append(i)
        tokens += sizes[i]
    if block:
        yield block
