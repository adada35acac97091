"""Rows of one head in the tiles of a matrix, and the greatest magnitudes in them."""

from typing import NamedTuple

import numpy as np

from engine.kernels.compiled import kernel
from engine.kernels.places import place
from engine.simd import (
    F32,
    LANES,
    Float,
    Lanes,
    larger_i32,
    largest_i32,
    largest_of_four,
    load_f32,
    magnitude_bits,
    no_i32,
    of_bits,
)

_TINY, _ZERO = np.float32(1e-30), np.float32(0)


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
def inverse_of(top: Float, greatest: Float) -> Float:
    """The factor that takes `greatest` to `top`; 0 for zeros."""
    return top / greatest if greatest > _TINY else _ZERO
