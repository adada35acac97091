"""Rotary positions of the heads of a decoder: frequencies, stretched in the ways that models know.

Only additions, multiplications, divisions and Decimal's logarithms: the same bits on every machine.
"""

import math
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext

import numpy as np

from engine.kernels.rope import F64, cosines_and_sines, frequencies
from engine.simd import F32

_POSITIONS = 4096  # at a time


@dataclass(frozen=True)
class Rotation:
    """Pair i of `size / 2` is rotated by position * base**(-2i / size), over its factor, and is multiplied by `grown`.

    With YaRN (Peng et al. 2023) `kept` is the share of that in each pair, the rest is over `stretch`.
    """

    size: int
    base: float
    factors: tuple[float, ...] = ()
    stretch: float = 1.0
    kept: tuple[float, ...] = ()
    grown: float = 1.0

    def linear(self, factor: float) -> "Rotation":
        return replace(self, stretch=factor)

    def yarn(self, factor: float, context: int, fast: float, slow: float, given: float, more: float) -> "Rotation":
        """`context` is that of training; pairs that rotate more than `fast` times in it are kept, those that rotate
        less than `slow` times stretched. `given`: by what all grows, 0 for the usual."""
        low, high = (self._pair(context, turns) for turns in (fast, slow))
        low, high = max(0, math.floor(low)), min(self.size - 1, math.ceil(high))
        width = max(0.001, high - low)
        kept = tuple(1 - min(1.0, max(0.0, (i - low) / width)) for i in range(self.size // 2))
        usual = 1 + 0.1 * _log(factor) if factor > 1 else 1.0
        return replace(self, stretch=factor, kept=kept, grown=(given or usual) * more)

    def _pair(self, context: int, turns: float) -> float:
        """The pair that rotates so many times in the context."""
        return self.size * (_log(context / (turns * 2 * math.pi))) / (2 * _log(self.base))

    def angles(self, first: int, count: int, half: int) -> F32:
        """float32 [count, 2, half]: cosines and sines of positions from `first` on; 1 and 0 of what is not rotated."""
        pace = self.frequencies()
        out = np.zeros((count, 2, half), np.float32)
        out[:, 0] = 1
        for at in range(0, count, _POSITIONS):
            positions = np.arange(first + at, first + min(at + _POSITIONS, count), dtype=np.float64)
            both = np.stack(cosines_and_sines(positions[:, None] * pace), 1)
            out[at : at + _POSITIONS, :, : pace.size] = both * self.grown
        return out

    def frequencies(self) -> F64:
        """The angle by which each pair is rotated from one position to the next."""
        usual = frequencies(self.size, self.base)
        if self.factors:
            usual = usual / np.array(self.factors)
        if not self.kept:
            return usual / self.stretch
        kept = np.array(self.kept)
        result: F64 = usual / self.stretch * (1 - kept) + usual * kept
        return result


def _log(x: float) -> float:
    with localcontext(Context(prec=40)):
        return float(Decimal(x).ln())
