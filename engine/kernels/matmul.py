"""Matrix products of activations and weights. One table: the instruction set decides how, never what comes out.

Activations are whole numbers of 14 bits with one scale a row, weights whole numbers of 8 bits (narrow) or of up to 14
(wide) with one scale a column; their products are summed exactly in int32. Or both are float32, for models whose file
is.
"""

import numpy as np
from numba import njit

from engine.cpu import compiled_isa
from engine.kernels.compiled import kernel
from engine.kernels.functions import gelu, gelu_near
from engine.kernels.places import TILE, place
from engine.simd import (
    CHUNK,
    F32,
    I8,
    I32,
    JIT,
    LANES,
    SMALL_TOP,
    TOP,
    Lanes,
    add,
    clear_tiles,
    float_tile,
    join_digits,
    keep_four,
    keep_row,
    keep_six,
    load_f32,
    load_i32,
    mul,
    multiply_narrow,
    multiply_small,
    multiply_wide,
    operands,
    pair_tile,
    prefetch,
    splat,
    split,
    store_f32,
    to_f32,
)  # fmt: skip

ISA = compiled_isa() if JIT else "portable"
LAYOUT = "digits" if ISA == "amx" else "pairs"
"""How packed weights lie: the same for all instruction sets that multiply int16."""
PLAIN, GELU, ADD = 0, 1, 2
"""What becomes of a product: stored, stored through GELU, added to what is there."""

# rows x vectors of 16 columns of one tile: what the registers just hold, measured on 128 x 1536 x 384
TILES = {"amx": (16, 2), "avx512_vnni": (10, 2), "avx2": (3, 1), "portable": (3, 1)}
ROWS, COLUMNS = TILES[ISA]
WIDTH = COLUMNS * LANES
OPERANDS = operands(ISA)
SUMS = 3 * 16 * 2 * LANES  # int32 that a tile's sums take, at most
GREATEST = (2**31 - 1) // TOP
"""Bound of the sum of a column's magnitudes: then no sum of products leaves int32."""

FLOAT_ROWS, FLOAT_COLUMNS = 4, 2
_float_tile = float_tile(FLOAT_ROWS, FLOAT_COLUMNS)
_pair_tile = pair_tile(ROWS, COLUMNS, "avx512_vnni" if ISA == "amx" else ISA)
_PLANE = ROWS * LANES  # of sums


@kernel
def _products_amx(a: int, steps: int, w: int, wide: bool, sums: int) -> None:
    clear_tiles()
    for k in range(steps):
        _step_amx(a, k, w, steps, wide)
    _keep_amx(wide, sums)


@kernel
def _step_amx(a: int, k: int, w: int, steps: int, wide: bool) -> None:
    if wide:
        multiply_wide(a + 2048 * k, w + 2048 * k, w + 2048 * (steps + k))
    else:
        multiply_narrow(a + 2048 * k, w + 1024 * k, w + 1024 * (steps + k))


@kernel
def _keep_amx(wide: bool, sums: int) -> None:
    if wide:
        keep_six(sums)
    else:
        keep_four(sums)


@njit(inline="always")
def _sum_amx(sums: I32, from_: int, r: int, c: int, wide: bool) -> Lanes:
    at = from_ + _PLANE * c + LANES * r
    total = join_digits(load_i32(sums, at), load_i32(sums, 2 * _PLANE + at))
    if wide:
        total = join_digits(total, load_i32(sums, 4 * _PLANE + at))
    return to_f32(total)


@kernel
def _small_amx(a: int, steps: int, w: int, sums: int, stride: int) -> None:
    clear_tiles()
    for k in range(steps):
        multiply_small(a + 1024 * k, w + 1024 * k, 1024 * steps)
    keep_row(sums, stride)


@kernel
def _products_pairs(a: int, steps: int, w: int, wide: bool, sums: int) -> None:
    _pair_tile(a, 128 * steps, w, 2048 * steps, 2 * steps, sums, 64 * COLUMNS)


@njit(inline="always")
def _sum_pairs(sums: I32, from_: int, r: int, c: int, wide: bool) -> Lanes:
    return to_f32(load_i32(sums, from_ + LANES * (COLUMNS * r + c)))


@kernel
def _small_pairs(a: int, steps: int, w: int, sums: int, stride: int) -> None:
    _pair_tile(a, 128 * steps, w, 2048 * steps, 2 * steps, sums, stride)


_AMX = (_products_amx, _sum_amx, _small_amx, 4)
_PAIRS = (_products_pairs, _sum_pairs, _small_pairs, COLUMNS)
products, whole_sum, small_products, SMALL_COLUMNS = _AMX if ISA == "amx" else _PAIRS
"""Products of ROWS rows and WIDTH columns, one vector of them as float32, and products of small numbers of ROWS rows
and SMALL_COLUMNS vectors."""
_NARROW_BYTES, _WIDE_BYTES = OPERANDS.small_chunk // (LANES * CHUNK), OPERANDS.chunk // (LANES * CHUNK)
_ROW_BYTES = OPERANDS.wide.row


@kernel
def linear(
    a: I8, scale: F32, m: int, k: int, weights: I8, factors: F32, bias: F32, wide: bool, layer: int, n: int, mode: int,
    out: F32, first: int, sums: I32,
) -> None:  # fmt: skip
    """Rows first.. of out[tokens, n] = scale[m] * (a[m, k] @ weights[k, n]) * factors[n] + bias[n], then as `mode`
    says.

    a: a left operand, m up to the next multiple of ROWS readable; weights as `pack` gives them, of one layer of a
    stack; sums (2 * SUMS) is scratch.
    """
    w_at = weights.ctypes.data + layer * n * k * (_WIDE_BYTES if wide else _NARROW_BYTES)
    blocks(a.ctypes.data, scale, m, k, w_at, factors, bias, wide, layer * n, n, mode, out, first, sums)


@kernel
def _blocks_pairs(
    a: int, scale: F32, m: int, k: int, w: int, factors: F32, bias: F32, wide: bool, at: int, n: int, mode: int,
    out: F32, first: int, sums: I32,
) -> None:  # fmt: skip
    steps = k // CHUNK
    for j in range(0, n, WIDTH):
        for i in range(0, m, ROWS):
            products(a + i * steps * _ROW_BYTES, steps, w + j * k * _WIDE_BYTES, wide, sums.ctypes.data)
            for c in range(0, WIDTH, LANES):
                factor, start = load_f32(factors, at + j + c), load_f32(bias, at + j + c)
                for r in range(min(ROWS, m - i)):
                    y = whole_sum(sums, 0, r, c // LANES, wide)
                    _finish(y, factor, splat(scale[i + r]), start, mode, out, place(first + i + r, j + c, n))


@kernel
def _blocks_amx(
    a: int, scale: F32, m: int, k: int, w: int, factors: F32, bias: F32, wide: bool, at: int, n: int, mode: int,
    out: F32, first: int, sums: I32,
) -> None:  # fmt: skip
    """While the tiles of one block are multiplied, the vectors of the one before are finished, and the weights of the
    next columns fetched: three units that would else wait for each other."""
    steps, size = k // CHUNK, _WIDE_BYTES if wide else _NARROW_BYTES
    lines = max(1, WIDTH * size // ((m + ROWS - 1) // ROWS))  # of weights for each turn
    between = mode == GELU and steps >= ROWS // _AT_ONCE  # is there so much to do that it pays
    done, before_i, before_j = -1, 0, 0
    for j in range(0, n, WIDTH):
        here = w + j * k * size
        ahead = here + WIDTH * k * size if j + WIDTH < n else w
        for i in range(0, m, ROWS):
            clear_tiles()
            for q in range(steps):
                _step_amx(a + i * steps * _ROW_BYTES, q, here, steps, wide)
                prefetch(ahead + 64 * lines * (i // ROWS * steps + q), lines)
                if between and done >= 0 and q < ROWS // _AT_ONCE:
                    low = _AT_ONCE * q
                    _finish_rows(sums, done, low, low + _AT_ONCE, wide, scale, before_i, factors, bias, at, mode, out,
                                 first, before_j, n)  # fmt: skip
            if done >= 0 and not between:
                _finish_rows(sums, done, 0, ROWS, wide, scale, before_i, factors, bias, at, mode, out, first, before_j,
                             n)  # fmt: skip
            done, before_i, before_j = (0 if done else SUMS), i, j
            _keep_amx(wide, sums.ctypes.data + 4 * done)
    _finish_rows(sums, done, 0, ROWS, wide, scale, before_i, factors, bias, at, mode, out, first, before_j, n)


_AT_ONCE = 4  # rows that are finished between two steps


@kernel
def _finish_rows(
    sums: I32, from_: int, low: int, high: int, wide: bool, scale: F32, i: int, factors: F32, bias: F32, at: int,
    mode: int, out: F32, first: int, j: int, n: int,
) -> None:  # fmt: skip
    """Rows of a tile of 16; those beyond the last are the padding of `out`."""
    to = place(first + i, j, n)
    for c in range(COLUMNS):
        factor, start = load_f32(factors, at + j + LANES * c), load_f32(bias, at + j + LANES * c)
        for r in range(low, high):
            y = whole_sum(sums, from_, r, c, wide)
            _finish(y, factor, splat(scale[i + r]), start, mode, out, to + TILE * c + LANES * r)


blocks = _blocks_amx if ISA == "amx" else _blocks_pairs


@njit(inline="always")
def _finish(y: Lanes, factor: Lanes, scale: Lanes, start: Lanes, mode: int, out: F32, to: int) -> None:
    """Sixteen sums: scales, bias, and what `mode` says."""
    y = add(mul(mul(y, factor), scale), start)
    if mode == GELU:
        y = gelu_near(y)
    elif mode == ADD:
        y = add(load_f32(out, to), y)
    store_f32(out, to, y)


@kernel
def linear_float(
    x: F32, m: int, k: int, weights: F32, bias: F32, layer: int, n: int, mode: int, out: F32, first: int, sums: F32
) -> None:
    """The same in float32, summed in order of k; x [m, k] row after row, m up to the next multiple of FLOAT_ROWS
    readable."""
    width = FLOAT_COLUMNS * LANES
    for j in range(0, n, width):
        w_at = weights.ctypes.data + 4 * (layer * n * k + j * k)
        for i in range(0, m, FLOAT_ROWS):
            _float_tile(x.ctypes.data + 4 * i * k, 4 * k, w_at, 4 * width, k, sums.ctypes.data, 4 * width)
            for r in range(min(FLOAT_ROWS, m - i)):
                for c in range(0, width, LANES):
                    y = add(load_f32(sums, r * width + c), load_f32(bias, layer * n + j + c))
                    to = place(first + i + r, j + c, n)
                    if mode == GELU:
                        y = gelu(y)
                    elif mode == ADD:
                        y = add(load_f32(out, to), y)
                    store_f32(out, to, y)


def pack(values: F32, *, wide: bool) -> tuple[I8, F32]:
    """The execution layout of weights (n, k), n a multiple of 32 and k of CHUNK: operand bytes and a scale a column."""
    numbers, scales = to_numbers(values, TOP if wide else SMALL_TOP)
    n, k = numbers.shape
    chunks = numbers.reshape(n // LANES, LANES, k // CHUNK, CHUNK)
    if ISA == "amx":
        order = chunks.reshape(*chunks.shape[:3], 4, LANES)[:, :, :, [0, 2, 1, 3]].transpose(0, 2, 4, 1, 3)
        packed = np.stack(split(order), axis=2) if wide else order.astype(np.int8)
    else:
        order = chunks.reshape(*chunks.shape[:3], 2, 2, LANES).transpose(0, 2, 3, 5, 1, 4)
        packed = order.astype(np.int16)
    return np.ascontiguousarray(packed).reshape(-1).view(np.int8), scales


def to_numbers(values: F32, top: int) -> tuple[I32, F32]:
    """Weights (n, k) as whole numbers within `top` and a scale for each of the n, such that no sum can overflow.

    The sum of a row's magnitudes is made of whole numbers, for a sum of floats depends on its order.
    """
    scales = (np.abs(values).max(1, initial=0) / np.float32(top)).astype(np.float32)
    total = np.ceil(np.abs(values) / _unit(scales)).sum(1, dtype=np.int64).astype(np.float32)
    room = np.float32(GREATEST - values.shape[1])
    scales = scales * np.maximum(np.float32(1), total / room * np.float32(1.0001))
    return np.rint(values / _unit(scales)).astype(np.int32), scales


def _unit(scales: F32) -> F32:
    return np.where(scales > 0, scales, np.float32(1))[:, None]


def pack_float(values: F32) -> F32:
    """float32 weights (n, k), n a multiple of 32, as `linear_float` reads them: [n / 32][k][32], flat."""
    n, k = values.shape
    width = FLOAT_COLUMNS * LANES
    return np.ascontiguousarray(values.reshape(n // width, width, k).transpose(0, 2, 1)).reshape(-1)
