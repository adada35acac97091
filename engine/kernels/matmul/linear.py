"""Matrix products of activations and weights. One table: the instruction set decides how, never what comes out.

Activations are integers of 16 bits with one scale a row, weights integers of 8 bits with one scale a column,
or one for each group of k and column; their products are summed exactly in int32. Or both are float32, for models whose
file is.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from engine.codegen import (
    ALL,
    BEGIN,
    CHUNK,
    CONTINUE,
    END,
    NOTHING,
    ROW_TOP,
    SMALL_TOP,
    TOP,
    Finish,
    Products,
    amx_group,
    clear_tiles,
    multiply_narrow,
    operands,
    pair_tile,
)
from engine.cpu import compiled_isa
from engine.kernels.compiled import inlined, kernel
from engine.kernels.matmul.arguments import Target
from engine.kernels.places import TILE, place
from engine.simd import (
    F32,
    I8,
    I32,
    JIT,
    LANES,
    Integer,
    Lanes,
    add,
    fma,
    gelu_near,
    load_f32,
    load_i32,
    mul,
    splat,
    store_f32,
    to_f32,
    to_i32,
)

ISA = compiled_isa() if JIT else "portable"
LAYOUT = "digits" if ISA == "amx" else "pairs"
"""How packed weights lie: the same for all instruction sets that multiply int16."""
PLAIN, GELU, ADD = np.int64(0), np.int64(1), np.int64(2)
"""Modes of a product: stored, stored through GELU, added to what is there. (For a Python number numba would
compile everything that it is passed to once more.)"""

# rows x vectors of 16 columns of one tile: what the registers just hold, measured on 128 x 1536 x 384
TILES = {"amx": (16, 2), "avx512_vnni": (10, 2), "avx2": (3, 1), "portable": (3, 1)}
ROWS, COLUMNS = TILES[ISA]
WIDTH = COLUMNS * LANES
VECTORS_ISA = "avx512_vnni" if ISA == "amx" else ISA
"""The instruction set of what is done without AMX tiles."""
OPERANDS = operands(ISA)
SUMS, TOTALS = 3 * 16 * 2 * LANES, 16 * 2 * LANES  # int32 and float32 that a tile's sums take, at most
GREATEST = (2**31 - 1) // TOP
"""Bound of the sum of a column's magnitudes: then no sum of products with numbers within TOP leaves int32."""
LONGEST = (2**31 - 1) // (ROW_TOP * SMALL_TOP) // CHUNK * CHUNK
"""Weights that may share a scale: then no sum of products of a row leaves int32."""

_pair_tile = pair_tile(ROWS, COLUMNS, VECTORS_ISA)


@njit(inline="always")
def _wide_pairs(sums: I32, from_: int, r: int, c: int) -> Lanes:
    return to_f32(load_i32(sums, from_ + LANES * (COLUMNS * r + c)))


_BYTES = 1 if ISA == "amx" else 2  # of a weight
_ROW_BYTES, _STORE_PART = OPERANDS.wide.row, OPERANDS.store_part


class Operand(NamedTuple):
    """A left operand: `rows` rows of k integers as the instruction set in use takes them, rows up to the next multiple
    of ROWS readable; and a scale for each row."""

    quants: I8
    scales: F32
    rows: Integer
    k: Integer


class Layer(NamedTuple):
    """One of the equal matrices of a stack: integers as `pack` gives them, scales of groups of k and columns, the bias;
    how many values of k a group has (the last one has what is left), which matrix, and its number of columns."""

    quants: I8
    factors: F32
    bias: F32
    group: Integer
    number: Integer
    n: Integer


class Work(NamedTuple):
    """Scratch: int32 sums [2 * SUMS] and totals [WIDTH for each row]; and, for mode GELU, the left operand that is made
    and what its rows are multiplied with before they become integers."""

    inverses: F32
    operand: I8
    sums: I32
    totals: F32


class Tile(NamedTuple):
    """A tile of a product: its first row and column, the index of the first of its scales of columns, and whether the
    sums of its group begin and end a sum over groups."""

    row: Integer
    column: Integer
    factors: Integer
    begins: bool
    ends: bool


@kernel
def _weights(left: Operand, layer: Layer) -> Any:
    """The address of the matrix."""
    return np.int64(layer.quants.ctypes.data) + layer.number * layer.n * left.k * _BYTES


@kernel
def _factors(left: Operand, layer: Layer, q: int) -> Any:
    """Index of the scales of the group that begins at step q."""
    groups = (left.k + layer.group - 1) // layer.group
    return (layer.number * groups + q // (layer.group // CHUNK)) * layer.n


@kernel
def _blocks_pairs(left: Operand, layer: Layer, target: Target, first: int, work: Work) -> None:
    steps, group, w = left.k // CHUNK, layer.group // CHUNK, _weights(left, layer)
    factors = _factors(left, layer, 0)
    for j in range(0, layer.n, WIDTH):
        here = w + j * steps * CHUNK * _BYTES
        for i in range(0, left.rows, ROWS):
            rows = np.int64(left.quants.ctypes.data) + i * steps * _ROW_BYTES
            for q in range(0, steps, group):
                halves = 2 * min(group, steps - q)
                _pair_tile(rows + 128 * q, 128 * steps, here + 2048 * q, 2048 * steps, halves, work.sums.ctypes.data,
                           64 * COLUMNS, 64)  # fmt: skip
                tile = Tile(i, j, factors + q // group * layer.n + j, q == 0, q + group >= steps)
                _finish(tile, left, layer, target, first, work)


_group_of_6, _group_of_3, _group_of_1, _group_of_0 = amx_group(6), amx_group(3), amx_group(1), amx_group(0)
_PANEL = 6  # steps of weights that stay in the first cache while all rows pass
SUMS_APART = 4096 + 1024
"""Bytes from four tiles of sums to the next four: pages apart they would be mistaken for each other."""


@kernel
def address(values: F32, i: int) -> Any:
    """The address of a value."""
    return np.int64(values.ctypes.data) + 4 * i


@kernel
def group_kind(begins: bool, ends: bool, mode: int) -> Any:
    """The way in which `amx_group` finishes the sums of a group."""
    if ends:
        return np.int64((ALL if begins else END) + mode)
    return np.int64(BEGIN if begins else CONTINUE)


@kernel
def no_finish() -> Finish:
    """The rest of the work of no group."""
    none = np.int64(0)
    return Finish(np.int64(NOTHING), none, none, none, none, none, none)


@kernel
def flush(new: int, old: int, before: Finish, then: Finish) -> None:
    """Finish the last two groups: the sums of one wait at `old`, those of the other in the tiles."""
    none = np.int64(0)
    _group_of_0(Products(none, none, none, none, none, np.int64(new)), old, before)
    _group_of_0(Products(none, none, none, none, none, np.int64(old)), new, then)


@kernel
def _group(steps: int, products: Products, old: int, finish: Finish) -> None:
    """`amx_group` of any number of steps; the usual ones are compiled as a whole."""
    if steps == 6:
        _group_of_6(products, old, finish)
    elif steps == 3:
        _group_of_3(products, old, finish)
    elif steps == 1:
        _group_of_1(products, old, finish)
    else:
        _group_of_0(products, old, finish)
        clear_tiles()
        for p in range(steps):
            multiply_narrow(products.a + 2048 * p, products.w + 1024 * p, products.w_next + 1024 * p)


@kernel
def _blocks_amx(left: Operand, layer: Layer, target: Target, first: int, work: Work) -> None:
    """While the tiles of one group are multiplied, those of the group before are stored, the vectors of the one before
    that are finished, and the weights of the next columns fetched: units that would else wait for each other."""
    steps, group, w, n = left.k // CHUNK, layer.group // CHUNK, _weights(left, layer), layer.n
    lines = max(1, WIDTH // ((left.rows + ROWS - 1) // ROWS))  # of weights for each step
    panel = max(1, _PANEL // group) * group
    new, apart = np.int64(work.sums.ctypes.data), 4 * WIDTH if steps > panel else 0
    old, then = new + SUMS_APART, no_finish()
    before = then
    for j in range(0, n, WIDTH):
        here = w + j * steps * CHUNK
        ahead = here + WIDTH * steps * CHUNK if j + WIDTH < n else w
        for p in range(0, steps, panel):
            for i in range(0, left.rows, ROWS):
                rows = np.int64(left.quants.ctypes.data) + i * steps * _ROW_BYTES
                for q in range(p, min(p + panel, steps), group):
                    far = ahead + 64 * lines * (i // ROWS * steps + q)
                    at = Products(rows + 2048 * q, here + 1024 * q, here + 1024 * (steps + q), np.int64(0), far, new)
                    _group(min(group, steps - q), at, old, before)
                    new, old, before = old, new, then
                    total = np.int64(work.totals.ctypes.data) + apart * i
                    then = Finish(
                        group_kind(q == 0, q + group >= steps, target.mode),
                        address(layer.factors, _factors(left, layer, q) + j), total, address(left.scales, i),
                        address(work.inverses, i), address(layer.bias, layer.number * n + j),
                        _output(i, j, target, first, work),
                    )  # fmt: skip
    flush(new, old, before, then)


@kernel
def _output(i: int, j: int, target: Target, first: int, work: Work) -> Any:
    """The address of the values of row i and column j, or of the operand's that they become."""
    if target.mode == GELU:
        chunk = i * (target.width // CHUNK * _ROW_BYTES) + j // CHUNK * 2048 + j % CHUNK
        return np.int64(work.operand.ctypes.data) + chunk
    return address(target.out, place(first + i, target.column + j, target.width))


linear = _blocks_amx if ISA == "amx" else _blocks_pairs
"""linear(left, layer, target, first, work): rows first.. of the target = scales[m] * sum over groups g of k of
(left[m, k] @ weights[k, n]) * factors[g, n] + bias[n], then as the mode says. What goes through GELU becomes a left
operand instead: `work.operand`, integers, times inverses[m]."""


@inlined
def _finish(tile: Tile, left: Operand, layer: Layer, target: Target, first: int, work: Work) -> None:
    """The rows of a tile: the sums of a group, which may begin or end a sum over groups; at the end the scales, the
    bias, and what the mode says."""
    i, mode, out, width = tile.row, target.mode, target.out, target.width
    column, bias = target.column + tile.column, layer.number * layer.n + tile.column
    for c in range(COLUMNS):
        factor, start = load_f32(layer.factors, tile.factors + LANES * c), load_f32(layer.bias, bias + LANES * c)
        at = TILE * c
        for r in range(min(ROWS, left.rows - i)):
            y = _wide_pairs(work.sums, 0, r, c)
            y = mul(y, factor) if tile.begins else fma(y, factor, load_f32(work.totals, at + LANES * r))
            if tile.ends:
                y = fma(y, splat(left.scales[i + r]), start)
            if not tile.ends:
                store_f32(work.totals, at + LANES * r, y)
            elif mode == GELU:
                v = to_i32(mul(gelu_near(y), splat(work.inverses[i + r])))
                to = work.operand.ctypes.data + _half_chunk(i + r, column + LANES * c, width)
                _STORE_PART(to, v, (column // LANES + c) % 2 == 1)
            else:
                to = place(first + i + r, column + LANES * c, width)
                store_f32(out, to, add(load_f32(out, to), y) if mode == ADD else y)


@njit(inline="always")
def _half_chunk(r: int, i: int, n: int) -> int:
    """Bytes to the 16 integers from i on of row r of a left operand, or to the first 16 of 32 of which every other one
    is theirs."""
    return r * (n // CHUNK * _ROW_BYTES) + i // CHUNK * _ROW_BYTES + i // (2 * LANES) % 2 * 64
