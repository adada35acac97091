"""Matrices in the layout that products of encoders read: integers with scales, or float32."""

import numpy as np

from engine.codegen import SMALL_TOP
from engine.codegen.group_tile import GROUP
from engine.kernels.matmul.grouped import LAYOUT
from engine.kernels.matmul.linear_float import FLOAT_COLUMNS
from engine.simd import F32, I8, I32, LANES
from engine.simd.gelu import RAISE


def pack(numbers: I32, scales: F32) -> tuple[I8, F32]:
    """The execution layout (`codegen/group_tile.py`) of what `to_integers` gives of weights (n, k), n and k multiples
    of 64: operand bytes, and for each 16 columns their scales, float32 [k / 64][16]. Where operands are bytes, the
    int32 that sums begin with lie behind these, as they are."""
    n, k = numbers.shape

    def by_columns(x: F32 | I32) -> F32:
        return np.ascontiguousarray(x.reshape(n // LANES, LANES, -1).transpose(0, 2, 1)).view(np.float32)

    if LAYOUT == "bytes":
        starts = -128 * _sums(numbers)
        factors = np.concatenate([by_columns(scales), by_columns(starts)], axis=1)
        together, kind = 4, "i1"
    else:
        factors, together, kind = by_columns(scales), 2, "i2"
    order = numbers.reshape(n // LANES, LANES, k // together, together).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(order.astype(kind)).reshape(-1).view(np.int8), factors.reshape(-1)


_LEAST = np.float32(1e-37)  # scales hardly have digits any more below it, and integers would leave their bounds


def to_integers(values: F32) -> tuple[I32, F32]:
    """Weights (n, k) as integers within SMALL_TOP, and a scale for each of the n and each GROUP of k."""
    parts = values.reshape(values.shape[0], -1, GROUP)
    scales = (np.abs(parts).max(2) / np.float32(SMALL_TOP)).astype(np.float32)
    scales = np.where(scales > _LEAST, scales, np.float32(0))
    unit = np.where(scales > 0, scales, np.float32(1))[:, :, None]
    return np.rint(parts / unit).astype(np.int32).reshape(values.shape), scales


def for_raised(bias: F32, numbers: I32, scales: F32) -> F32:
    """The bias (n) for rows whose values are raised by RAISE: without what the product gains by that."""
    gained = np.zeros_like(bias)
    with np.errstate(all="ignore"):  # a file may hold any numbers
        for products in (_sums(numbers).astype(np.float32) * scales).T:
            gained += products
        return bias - RAISE * gained


def _sums(numbers: I32) -> I32:
    """The sum of each group, [n, k / 64]."""
    sums: I32 = numbers.reshape(numbers.shape[0], -1, GROUP).sum(2, dtype=np.int32)
    return sums


def pack_float(values: F32) -> F32:
    """float32 weights (n, k), n a multiple of 32, as `linear_float` reads them: [n / 32][k][32], flat."""
    n, k = values.shape
    width = FLOAT_COLUMNS * LANES
    return np.ascontiguousarray(values.reshape(n // width, width, k).transpose(0, 2, 1)).reshape(-1)
