"""What attention of encoders is told, and where it works."""

from typing import NamedTuple

import numpy as np

from engine.codegen import TOP
from engine.kernels.compiled import kernel
from engine.kernels.functions import whole_power_of
from engine.kernels.matmul.linear import GREATEST
from engine.simd import F32, I8, I32, Float

_VALUE_TOP, _VALUE_LEAST = 511, 127
_POWER_OF_TOP = whole_power_of(12.99964)  # of 8190: what is rounded up stays within TOP
_POWERS = np.array([whole_power_of(power) for power in range(TOP.bit_length())])


class Heads(NamedTuple):
    """The heads of an encoder, side by side in rows of `width` places."""

    number: int
    head_dim: int  # places of a head, a multiple of 16
    width: int
    scale: Float  # of scores
    window: int  # a token attends to those at most so many places away; 0: to all


class Work(NamedTuple):
    """Scratch, as `work_sizes` counts it; `weights` are the same memory as `scores` where they have no size."""

    queries: I8
    keys: I8
    values: I8
    weights: I8
    scores: I32
    scales: F32
    sums: I32
    rows: I32


@kernel
def sight(t: int, count: int, window: int) -> tuple[int, int]:
    """The first key that token t looks at, and the one after the last."""
    if window:
        return max(0, t - window), min(count, t + window + 1)
    return 0, count


@kernel
def tops(count: int) -> tuple[int, Float]:
    """The greatest integer of a value in a text of so many tokens; and the logarithm of the greatest weight, as
    `whole_power` takes it: of 8190, or of the greatest power of two that leaves sums in int32 where that is less than
    TOP."""
    value_top = max(_VALUE_LEAST, min(_VALUE_TOP, GREATEST // count))
    bound = (2**31 - 1) // (value_top * count)
    if bound >= TOP:
        return value_top, _POWER_OF_TOP
    power = 0
    while 2 << power <= bound:
        power += 1
    return value_top, _POWERS[power]
