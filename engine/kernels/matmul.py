"""Matrix products by register tiles. One table: the instruction set decides the shape of the tile, never the sum."""

import numpy as np
from numba import njit

from engine.cpu import compiled_isa
from engine.simd import F32, GROUP, I8, I16, LANES, float_tile, int_tile

# rows x vectors of 16 columns whose sums and operands just fit the registers, measured on 128 x 1536 x 384
TILES = {"avx512_vnni": (10, 2), "avx2": (3, 1), "portable": (3, 1)}
ROWS, COLUMNS = TILES[compiled_isa()]
WIDTH = COLUMNS * LANES

_int_tile = int_tile(ROWS, COLUMNS, compiled_isa())
FLOAT_ROWS = 4
_float_tile = float_tile(FLOAT_ROWS, 2)


@njit(nogil=True)
def linear(
    a: I16, scale: F32, m: int, k: int, weights: I8, weight_scales: F32, bias: F32, layer: int, n: int, out: F32
) -> None:
    """out[m, n] = scale[m] * a[m, k] @ dequantized weights.T + bias, for the weights of one layer of a stack.

    a int16, m up to the next multiple of ROWS readable; weights as `pack` gives them, weight_scales and bias float32.
    """
    groups = k // GROUP
    a_at, scale_at, out_at = a.ctypes.data, scale.ctypes.data, out.ctypes.data
    w_at = weights.ctypes.data + layer * n * k
    s_at = weight_scales.ctypes.data + layer * n * groups * 4
    b_at = bias.ctypes.data + layer * n * 4
    for j in range(0, n, WIDTH):
        for i in range(0, m, ROWS):
            _int_tile(
                a_at + 2 * k * i, 2 * k, w_at + j * k, s_at + j * groups * 4, groups,
                scale_at + 4 * i, b_at + 4 * j, out_at + 4 * (i * n + j), 4 * n,
            )  # fmt: skip


def pack(weights: I8, scales: F32) -> tuple[I8, F32]:
    """The execution layout of int8 weights (n, k) and their scales (n, k / 32), n a multiple of WIDTH, k of 32.

    weights [n / WIDTH][k / 2][COLUMNS][16][2] and scales [n / WIDTH][k / 32][WIDTH], both flat.
    """
    n, k = weights.shape
    packed = weights.reshape(n // WIDTH, COLUMNS, LANES, k // 2, 2).transpose(0, 3, 1, 2, 4)
    return (
        np.ascontiguousarray(packed).reshape(-1),
        np.ascontiguousarray(scales.reshape(n // WIDTH, WIDTH, k // GROUP).transpose(0, 2, 1)).reshape(-1),
    )


@njit(nogil=True)
def scores(q: F32, at: int, stride: int, keys: F32, padded: int, count: int, depth: int, out: F32) -> None:
    """out[count, padded] = q[count, depth] @ keys[depth, padded]; q's rows lie `stride` values apart."""
    for i in range(0, count, FLOAT_ROWS):
        for j in range(0, padded, 2 * LANES):
            _float_tile(
                q.ctypes.data + 4 * (at + i * stride), 4 * stride, keys.ctypes.data + 4 * j, 4 * padded, depth,
                out.ctypes.data + 4 * (i * padded + j), 4 * padded,
            )  # fmt: skip


@njit(nogil=True)
def mix(
    weights: F32, padded: int, rows: int, count: int, v: F32, at: int, stride: int, width: int, out: F32, to: int,
    out_stride: int,
) -> None:  # fmt: skip
    """out[rows, width] = weights[rows, count] @ v[count, width]; rows of v and out lie apart by their strides."""
    for i in range(0, rows, FLOAT_ROWS):
        for j in range(0, width, 2 * LANES):
            _float_tile(
                weights.ctypes.data + 4 * i * padded, 4 * padded, v.ctypes.data + 4 * (at + j), 4 * stride, count,
                out.ctypes.data + 4 * (to + i * out_stride + j), 4 * out_stride,
            )  # fmt: skip
