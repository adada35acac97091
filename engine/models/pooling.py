"""Vectors of texts: the mean of a text's tokens, or its first token."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.kernels.compiled import entry
from engine.kernels.rows import mean_pool, normalize
from engine.models.head import MEAN, Head
from engine.models.weights import Axis
from engine.simd import F32, I64


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
