"""Groups of four rows as operands, bit for bit as they are defined: each instruction set stores the digits where its
products look for them, and no more."""

from typing import Any

import numpy as np
import pytest
from numba import njit

from engine.simd import JIT
from engine.tiles.grouped import BYTES, FOUR, FourRows, group_rows
from tests.engine.isas import COMPARED, usable
from tests.engine.kernels.groups import planes_of, row_bytes
from tests.engine.kernels.tiles import near, to_tiles, untouched
from tests.reference.whole_numbers import GROUP, RAISED, TOPS, rows_of

LOW, ROW, SCALES = 3 * GROUP, 9 * GROUP, 5
"""Bytes to second digits and to the next row, and values to the next scale."""


def rows() -> list[np.ndarray]:
    """Four rows at a time: any, of very different sizes, of nothing and of next to nothing, not finite."""
    random = np.random.default_rng(3)
    found = [random.standard_normal((FOUR, GROUP)) * scale for scale in (1, np.array([[1e-25], [1], [1e20], [1e-4]]))]
    found += [np.full((FOUR, GROUP), value) for value in (0, 1e-31, 1e-45, -3.0, 3e38)]
    for value in (np.nan, np.inf):
        found.append(random.standard_normal((FOUR, GROUP)))
        found[-1][[1, 3], [0, 37]] = value, -value
    return [x.astype(np.float32) for x in found]


def random_factors(random: np.random.Generator) -> np.ndarray:
    return (random.random(GROUP) / 2 + 0.5).astype(np.float32)


@pytest.mark.parametrize("kind", TOPS)
@pytest.mark.parametrize("isa", COMPARED)
def test_four_rows(isa: str, kind: int) -> None:
    usable(isa)
    if isa == "amx" and not JIT:
        pytest.skip("plain Python has no AMX")
    take, random = group_rows(kind, isa), np.random.default_rng(kind)

    @njit
    def run(at: Any) -> None:
        take(at)

    layout = "bytes" if isa in BYTES and JIT else "pairs"
    planes = planes_of(kind, layout)
    size = GROUP * (1 if layout == "bytes" else 2)
    for x in rows():
        x, factors = (np.abs(x), np.ones(GROUP, np.float32)) if kind == RAISED else (x, random_factors(random))
        out, guard = near(np.full(FOUR * ROW, 0x55, np.int8))
        scales, other = near(np.full(FOUR * SCALES, 7, np.float32))
        values = to_tiles(x)
        run(FourRows(*map(np.int64, (
            values.ctypes.data, factors.ctypes.data, out.ctypes.data, ROW, LOW, scales.ctypes.data, 4 * SCALES
        ))))  # fmt: skip
        finite = np.isfinite(x).all(1)
        numbers, expected = rows_of(np.where(finite[:, None], x, 0) * factors, kind)
        found = scales.reshape(FOUR, SCALES)
        assert np.array_equal(found[:, 0], np.where(finite, expected[:, 0], np.nan), equal_nan=True)
        assert (found[:, 1:] == 7).all()
        stored = np.full((FOUR, ROW), 0x55, np.int8)
        for plane in range(planes):
            stored[:, LOW * plane : LOW * plane + size] = row_bytes(numbers, kind, layout).reshape(FOUR, planes, -1)[
                :, plane
            ]
        assert np.array_equal(out.reshape(FOUR, ROW)[finite], stored[finite])
        outside = np.ones(ROW, bool)
        for plane in range(planes):
            outside[LOW * plane : LOW * plane + size] = False
        assert (out.reshape(FOUR, ROW)[:, outside] == 0x55).all()
        assert untouched(guard)
        assert untouched(other)
