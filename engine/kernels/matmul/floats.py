"""Matrix products in float32, for models whose file has float32 weights."""

import numpy as np

from engine.kernels.functions import gelu
from engine.kernels.matmul import ADD, GELU, Target
from engine.kernels.rows import place
from engine.simd import F32, LANES, load_f32, store_f32
from engine.simd.compiled import kernel
from engine.tiles.dots import FloatTile, float_tile

FLOAT_ROWS, _COLUMNS = 4, 2
_WIDTH = _COLUMNS * LANES
SUMS = FLOAT_ROWS * _WIDTH
"""float32 that the sums of a tile take."""
_tile = float_tile(FLOAT_ROWS, _COLUMNS)


def pack_floats(values: F32) -> F32:
    """float32 weights (n, k), n a multiple of 32, as `matmul_floats` reads them: [n / 32][k][32], flat."""
    n, k = values.shape
    return np.ascontiguousarray(values.reshape(n // _WIDTH, _WIDTH, k).transpose(0, 2, 1)).reshape(-1)


@kernel
def matmul_floats(x: F32, m: int, k: int, weights: F32, bias: F32, n: int, target: Target, sums: F32) -> None:
    """The target = x @ weights + bias in float32, summed in order of k, then as the mode says; x [m, k] row after row,
    m up to the next multiple of FLOAT_ROWS readable."""
    left, right, out, mode = x.ctypes.data, weights.ctypes.data, target.out, target.mode
    for j in range(0, n, _WIDTH):
        for i in range(0, m, FLOAT_ROWS):
            _tile(FloatTile(left + 4 * i * k, 4 * k, right + 4 * j * k, 4 * _WIDTH, k, sums.ctypes.data, 4 * _WIDTH))
            for r in range(min(FLOAT_ROWS, m - i)):
                for c in range(0, _WIDTH, LANES):
                    y = load_f32(sums, r * _WIDTH + c) + load_f32(bias, j + c)
                    to = place(target.first + i + r, target.column + j + c, target.width)
                    if mode == GELU:
                        y = gelu(y)
                    elif mode == ADD:
                        y = load_f32(out, to) + y
                    store_f32(out, to, y)
