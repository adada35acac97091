"""Matrix products in float32, for models whose file has float32 weights."""

from typing import NamedTuple

from engine.codegen import float_tile
from engine.kernels.compiled import kernel
from engine.kernels.functions import gelu
from engine.kernels.matmul.arguments import Target
from engine.kernels.matmul.linear import ADD, GELU
from engine.kernels.places import place
from engine.simd import F32, LANES, Integer, add, load_f32, store_f32

FLOAT_ROWS, FLOAT_COLUMNS = 4, 2
_float_tile = float_tile(FLOAT_ROWS, FLOAT_COLUMNS)


class FloatLayer(NamedTuple):
    """One of the equal float32 matrices of a stack, and its bias."""

    weights: F32
    bias: F32
    number: Integer
    n: Integer


@kernel
def linear_float(x: F32, m: int, k: int, layer: FloatLayer, target: Target, first: int, sums: F32) -> None:
    """Rows first.. of the target = x @ weights + bias in float32, summed in order of k, then as the mode says; x [m, k]
    row after row, m up to the next multiple of FLOAT_ROWS readable."""
    step, n, mode, out = FLOAT_COLUMNS * LANES, layer.n, target.mode, target.out
    for j in range(0, n, step):
        w_at = layer.weights.ctypes.data + 4 * (layer.number * n * k + j * k)
        for i in range(0, m, FLOAT_ROWS):
            _float_tile(x.ctypes.data + 4 * i * k, 4 * k, w_at, 4 * step, k, sums.ctypes.data, 4 * step)
            for r in range(min(FLOAT_ROWS, m - i)):
                for c in range(0, step, LANES):
                    y = add(load_f32(sums, r * step + c), load_f32(layer.bias, layer.number * n + j + c))
                    to = place(first + i + r, target.column + j + c, target.width)
                    if mode == GELU:
                        y = gelu(y)
                    elif mode == ADD:
                        y = add(load_f32(out, to), y)
                    store_f32(out, to, y)
