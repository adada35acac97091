"""Whole numbers as operands of encoders' products, as the instructions take them, and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference.whole_numbers import GROUP, RAISED

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


def planes_of(kind: int, layout: str) -> int:
    """How many planes of digits a row has; int16 hold all of them."""
    return 1 if layout == "pairs" else max(1, kind)


def row_bytes(x: Numbers, kind: int, layout: str) -> NDArray[np.int8]:
    """Rows as a left operand: each row's digits without sign, plane after plane, or int16."""
    if layout == "pairs":
        return np.ascontiguousarray(x.astype(np.int16)).view(np.int8).reshape(-1)
    planes = [x] if kind == RAISED else [x + 128] if kind == 1 else [(x >> 8) + 128, x & 255]
    return np.stack(planes, 1).astype(np.uint8).view(np.int8).reshape(-1)


def numbers_of(operand: NDArray[np.int8], rows: int, k: int, kind: int, layout: str) -> Numbers:
    """The whole numbers [rows, k] of a left operand."""
    if layout == "pairs":
        return operand[: 2 * rows * k].view(np.int16).astype(np.int64).reshape(rows, k)
    count = planes_of(kind, layout)
    planes = operand[: count * rows * k].view(np.uint8).astype(np.int64).reshape(rows, count, k)
    high = planes[:, 0] if kind == RAISED else planes[:, 0] - 128
    return 256 * high + planes[:, 1] if count == 2 else high


def column_bytes(w: Numbers, layout: str) -> NDArray[np.int8]:
    """Columns as a right operand: of 16 columns four int8 or two int16 of each side by side."""
    together, kind = (2, np.int16) if layout == "pairs" else (4, np.int8)
    order = w.reshape(len(w) // 16, 16, -1, together).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(order.astype(kind)).reshape(-1).view(np.int8)


def column_scales(w: Numbers, d: Floats, layout: str) -> Floats:
    """The scales of each 16 columns, and where digits have no sign what sums begin with, as int32."""

    def by_columns(x: NDArray[Any]) -> Floats:
        return np.ascontiguousarray(x.reshape(len(w) // 16, 16, -1).transpose(0, 2, 1)).view(np.float32)

    if layout == "pairs":
        return by_columns(d).reshape(-1)
    starts = -128 * w.reshape(len(w), -1, GROUP).sum(2)
    return np.concatenate([by_columns(d), by_columns(starts.astype(np.int32))], 1).reshape(-1)
