"""What all kinds of attention have in common: the heads, rows of one head and the greatest magnitudes in them, what a
token sees, and the bounds of integers."""

from typing import NamedTuple

import numpy as np

from engine.kernels.functions import whole_power_of
from engine.kernels.rows import place
from engine.simd import (
    F32,
    I8,
    I32,
    LANES,
    Float,
    Integer,
    Lanes,
    larger_i32,
    largest_i32,
    largest_of_four,
    load_f32,
    magnitude_bits,
    no_i32,
    of_bits,
)
from engine.simd.compiled import kernel
from engine.tiles.operands import TOP

GREATEST = (2**31 - 1) // TOP
"""Bound of the sum of a column's magnitudes: then no sum of products with numbers within TOP leaves int32."""
_VALUE_TOP, _VALUE_LEAST = 511, 127
_POWER_OF_TOP = whole_power_of(12.99964)  # of 8190: what is rounded up stays within TOP
_POWERS = np.array([whole_power_of(power) for power in range(TOP.bit_length())])


class Heads(NamedTuple):
    """Heads that attend together: `number` of them from head `first` on, side by side in rows of `width` places.

    `window`: an encoder's token sees those at most so many places away, a decoder's so many positions, its own the
    last; 0: all. `scale` is that of scores; a decoder's queries have it already. `cap`: scores become tanh(score) *
    cap; 0: they do not.
    """

    number: Integer
    head_dim: Integer  # places of a head, of an encoder a multiple of 16
    width: Integer
    window: Integer
    first: Integer
    scale: Float
    cap: Float


class Work(NamedTuple):
    """Scratch for one sequence: operands, scores (then weights, in their place), scales, and sums of a block."""

    queries: I8
    keys: I8
    values: I8
    scores: I32
    scales: F32
    sums: I32
    rows: I32


class HeadRows(NamedTuple):
    """The columns of one head, from `column` on, in some rows of x [tokens, n]."""

    x: F32
    first: int
    rows: int
    column: int
    n: int
    head_dim: int


@kernel
def _peak(so_far: Lanes, head: HeadRows, t: int) -> Lanes:
    """The greater of `so_far` and the magnitudes in row t, as bits: NaN and infinity are greatest."""
    at = place(t, head.column, head.n)
    for i in range(0, head.head_dim, LANES):
        so_far = larger_i32(magnitude_bits(load_f32(head.x, at + i * LANES)), so_far)
    return so_far


@kernel
def peak_of_four(head: HeadRows, t: int) -> Lanes:
    """The greatest magnitudes of the rows from t on, as bits, in every four lanes; those of the last row for rows after
    it."""
    last = head.first + head.rows - 1
    return largest_of_four(
        _peak(no_i32(), head, min(t, last)), _peak(no_i32(), head, min(t + 1, last)),
        _peak(no_i32(), head, min(t + 2, last)), _peak(no_i32(), head, min(t + 3, last)),
    )  # fmt: skip


@kernel
def greatest_of(head: HeadRows) -> Float:
    """The greatest magnitude of all rows; NaN or infinity if one is."""
    most = no_i32()
    for t in range(head.first, head.first + head.rows):
        most = _peak(most, head, t)
    return of_bits(largest_i32(most))


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
