"""The protocol of a decoder as the batch engine uses it."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

PAGE = 32
"""Tokens of a page."""

I32 = NDArray[np.int32]
F32 = NDArray[np.float32]


class Sizes(Protocol):
    """context: positions of the longest sequence; vocab: numbers of tokens, which are logits of a row."""

    @property
    def context(self) -> int: ...
    @property
    def vocab(self) -> int: ...


class Forward(Protocol):
    """A decoder, as models/decoders makes it."""

    @property
    def shape(self) -> Sizes: ...

    def pages(self, count: int, kind: Any = ...) -> Any:
        """Keys and values of tokens for all layers, room for `count` pages of PAGE tokens, of `bytes_per_page` each;
        the system gives the memory as they are written. `copy(source, target)` copies a page."""

    def step(self, ids: I32, positions: I32, sequences: I32, tables: I32, pages: Any, wanted: I32) -> F32:
        """float32 [wanted, vocab]: the logits of the rows `wanted`, in order; others cost less. Row t is the token
        ids[t] at positions[t] of the sequence sequences[t]. Its key and value go to page tables[s, position // PAGE],
        slot position % PAGE, before anything attends, and it attends to the positions of its sequence up to its own.
        Rows of a sequence are one after another, in order. The bits of a row's logits depend on the ids of its
        sequence alone."""
