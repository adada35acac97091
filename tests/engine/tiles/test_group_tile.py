"""Tiles of an encoder's products against their definition, bit for bit: every instruction set that this processor has,
every number of rows, of each kind, up to the greatest numbers."""

from typing import Any

import numpy as np
import pytest
from numba import njit

from engine.kernels.matmul.encoder import TILES
from engine.kernels.rows import TILE, place
from engine.simd import JIT, LANES
from engine.tiles.amx import start_tiles, stop_tiles
from engine.tiles.amx.grouped import SCRATCH, group_amx
from engine.tiles.grouped import ADD, BYTES, GELU, GELU_RAISED, STORE, Tile, group_tile
from tests.engine.isas import COMPARED, usable
from tests.engine.kernels import groups
from tests.engine.kernels.groups import Numbers
from tests.engine.kernels.tiles import from_tiles, near, to_tiles, untouched
from tests.reference import whole_numbers as reference
from tests.reference.whole_numbers import RAISED, TOPS, gelu_near, gelu_raised

WIDTH, FIRST_COLUMN = 96, 16  # of what tiles are written into
Run = Any


@pytest.fixture(scope="module", params=[(isa, kind) for isa in COMPARED for kind in TOPS], ids=str)
def tile(request: pytest.FixtureRequest) -> tuple[str, int, Run]:
    """A tile of an instruction set, for rows of a kind."""
    isa, kind = request.param
    usable(isa)
    if isa == "amx" and not JIT:
        pytest.skip("plain Python has no AMX")
    if isa == "amx":
        multiply = group_amx(kind)

        @njit
        def on_tiles(rows: int, at: Any) -> None:
            start_tiles()
            multiply(rows, at)
            stop_tiles()

        return isa, kind, on_tiles
    sizes, columns = TILES[isa]
    multiply = group_tile(sizes, columns, kind, isa)

    @njit
    def run(rows: int, at: Any) -> None:
        multiply(rows, at)

    return isa, kind, run


def cases(kind: int, rows: int, n: int, k: int) -> list[tuple[Numbers, Numbers]]:
    """Rows and columns: any, the greatest and the least, and those whose products all have one sign."""
    random, top = np.random.default_rng(rows), TOPS[kind]
    least = 0 if kind == RAISED else -top
    signs = random.choice([1] if kind == RAISED else [-1, 1], k)
    return [
        (random.integers(least, top + 1, (rows, k)), random.integers(-127, 128, (n, k))),
        (np.full((rows, k), top), np.full((n, k), 127)),
        (np.full((rows, k), least), np.full((n, k), 127)),
        (np.tile(signs * top, (rows, 1)), np.tile(-127 * signs, (n, 1))),
        (np.zeros((rows, k), np.int64), np.full((n, k), -127)),
    ]


def check(found: tuple[str, int, Run], rows: int, x: Numbers, w: Numbers, first: int, mode: int) -> None:
    """Multiply x, of which `rows` count, and w, into rows from `first` on of a wider place."""
    isa, kind, run = found
    (n, k), random = w.shape, np.random.default_rng(first)
    layout = "bytes" if isa in BYTES and JIT else "pairs"
    step = 2 * k if layout == "pairs" else groups.planes_of(kind, layout) * k
    s, d = (random.random((count, k // reference.GROUP)).astype(np.float32) for count in (len(x), n))
    s, d, bias = s / np.float32(TOPS[kind]), d / np.float32(127), random.standard_normal(n).astype(np.float32)
    before = random.standard_normal((2 * LANES, WIDTH)).astype(np.float32)
    arrays = [
        groups.row_bytes(x, kind, layout), s.reshape(-1), groups.column_bytes(w, layout),
        groups.column_scales(w, d, layout), bias, to_tiles(before), np.zeros(SCRATCH // 4, np.float32),
    ]  # fmt: skip
    kept = near(*arrays)
    a, scales, weights, factors, start, out, scratch = (array.ctypes.data for array in kept[::2])
    panel, jump = kept[4].nbytes // (n // LANES), 4 * LANES * (WIDTH - LANES)
    run(rows, Tile(*map(np.int64, (
        a, step, k, scales, 4 * s.shape[1], weights, panel, factors, start, s.shape[1],
        out + 4 * place(first, FIRST_COLUMN, WIDTH), 4 * TILE, LANES - first % LANES, jump, mode, scratch, weights,
    ))))  # fmt: skip
    y = reference.product(x, s, w, d, bias)[:rows]
    expected, inside = before.copy(), (slice(first, first + rows), slice(FIRST_COLUMN, FIRST_COLUMN + n))
    expected[inside] = {
        STORE: y, GELU: gelu_near(y), GELU_RAISED: gelu_raised(y), ADD: before[inside] + y,
    }[mode]  # fmt: skip
    assert np.array_equal(from_tiles(kept[10], WIDTH), expected)
    assert all(untouched(guard) for guard in kept[1::2])
    assert all(array.tobytes() == now.tobytes() for array, now in zip(arrays[:5], kept[:10:2], strict=True))


def sizes_of(isa: str) -> tuple[list[int], int]:
    """How many rows a tile of an instruction set may have, and its columns."""
    if isa == "amx":
        return [1, 2, 7, 15, 16], 2 * LANES
    sizes, columns = TILES[isa]
    return list(sizes), columns * LANES


def test_every_number_of_rows(tile: tuple[str, int, Run]) -> None:
    isa, kind, _ = tile
    sizes, n = sizes_of(isa)
    for rows in sizes:
        for k in (64, 192):
            for x, w in cases(kind, LANES if isa == "amx" else rows, n, k):
                check(tile, rows, x, w, 0, STORE)


@pytest.mark.parametrize("mode", [STORE, GELU, ADD, GELU_RAISED])
def test_the_modes_and_rows_that_cross_a_block(tile: tuple[str, int, Run], mode: int) -> None:
    isa, kind, _ = tile
    sizes, n = sizes_of(isa)
    for rows in sizes:
        x, w = cases(kind, LANES if isa == "amx" else rows, n, 128)[0]
        # on AMX rows begin with a block; of other tiles each row may be the first of the next one
        for first in (0, 16) if isa == "amx" else range(LANES - rows, LANES + 1):
            check(tile, rows, x, w, first, mode)
