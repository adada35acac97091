"""What the layers of all architectures are made of, compiled: linear maps, attention, norms, pooling, scratch."""

from typing import Any

import numpy as np

from engine.kernels.attention import attend, work_sizes
from engine.kernels.attention_float import attend_float, float_work_sizes
from engine.kernels.compiled import kernel
from engine.kernels.matmul import ISA, PLAIN, ROWS, SUMS, TOTALS, WIDTH, linear, linear_float
from engine.kernels.places import place
from engine.kernels.rows import layer_norm, line_up, quantize
from engine.simd import F32, I8, I64, LANES, Float, load_f32, start_tiles, stop_tiles, store_f32

Matrices = tuple[I8, F32, F32, F32, int]  # the arrays of a Stack
Norm = tuple[F32, F32]  # gain, shift
_LINE = 64  # bytes of a cache line: a vector that crosses none is read at once


def aligned(count: int, dtype: Any) -> Any:
    """Zeros that begin on a cache line."""
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(dtype)


def linear_scratch(*sizes: tuple[int, int], floats: bool) -> tuple[Any, ...]:
    """What `project` needs for so many rows of up to so many values, each; `floats`: if any matrix is float32."""
    whole = [(-(-rows // ROWS) * ROWS + LANES, values) for rows, values in sizes]
    most = max(rows * values for rows, values in whole)
    return (
        aligned(2 * most, np.int8), aligned(max(whole)[0], np.float32), aligned(2 * SUMS, np.int32),
        aligned(most if floats else 0, np.float32), aligned(max(TOTALS, WIDTH * max(whole)[0]), np.float32),
    )  # fmt: skip


def attention_scratch(tokens: int, depth: int, width: int, *, exact: bool) -> tuple[Any, ...]:
    """What `attend_all` needs for sequences of up to so many tokens."""
    sizes = work_sizes(tokens, depth)
    names = ("queries", "keys", "values", "weights")
    queries, keys, values, weights = (aligned(sizes[name], np.int8) for name in names)
    scores, scales = aligned(sizes["scores"], np.int32), aligned(sizes["scales"], np.float32)
    whole = (
        queries, keys, values, weights if weights.size else scores.view(np.int8), scores, scales,
        aligned(sizes["sums"], np.int32), aligned(sizes["rows"], np.int32),
    )  # fmt: skip
    floats = (*float_work_sizes(tokens, depth), (tokens + LANES) * 3 * width, (tokens + LANES) * width)
    return whole, tuple(aligned(size if exact else 0, np.float32) for size in floats)


@kernel
def start() -> None:
    """Before the first product of a compiled function."""
    if ISA == "amx":
        start_tiles()  # type: ignore[call-arg]


@kernel
def stop() -> None:
    """After the last one."""
    if ISA == "amx":
        stop_tiles()  # type: ignore[call-arg]


@kernel
def project(
    x: F32, from_: int, count: int, k: int, stack: Matrices, layer: int, n: int, mode: int, out: F32, to: int,
    scratch: tuple[Any, ...],
) -> None:  # fmt: skip
    """Rows to.. of out[tokens, n] = rows from_.. of x[tokens, k] @ weights of the layer + bias, then as `mode` says
    (matmul.PLAIN, GELU, ADD). Both are multiples of 16."""
    _take(x, from_, count, k, stack, scratch)
    _multiply(count, k, stack, layer, n, mode, out, to, 0, n, scratch)


@kernel
def project_qkv(
    x: F32, count: int, k: int, queries_keys: Matrices, values: Matrices, layer: int, n: int, out: F32,
    scratch: tuple[Any, ...],
) -> None:  # fmt: skip
    """out[count, 3 * n]: queries, keys and values of x[count, k], n of each."""
    _take(x, 0, count, k, values, scratch)
    _multiply(count, k, queries_keys, layer, 2 * n, PLAIN, out, 0, 0, 3 * n, scratch)
    _multiply(count, k, values, layer, n, PLAIN, out, 0, 2 * n, 3 * n, scratch)


@kernel
def _take(x: F32, from_: int, count: int, k: int, stack: Matrices, scratch: tuple[Any, ...]) -> None:
    """Rows from_.. of x[tokens, k] as the left operand of this kind of matrices."""
    numbers, scales, _, lined, _ = scratch
    if stack[1].size:
        line_up(x, from_, count, k, lined)
    else:
        quantize(x, from_, count, k, numbers, scales)


@kernel
def _multiply(
    count: int, k: int, stack: Matrices, layer: int, n: int, mode: int, out: F32, to: int, column: int, width: int,
    scratch: tuple[Any, ...],
) -> None:  # fmt: skip
    """Rows to.. and n columns from `column` on of out[tokens, width] = what was taken @ weights + bias."""
    weights, floats, factors, bias, group = stack
    numbers, scales, sums, lined, totals = scratch
    if floats.size:
        linear_float(lined, count, k, floats, bias, layer, n, mode, out, to, column, width, totals)
    else:
        linear(numbers, scales, count, k, weights, factors, bias, group, layer, n, mode, out, to, column, width, sums,
               totals)  # fmt: skip


@kernel
def attend_all(
    qkv: F32, starts: I64, width: int, heads: int, depth: int, scale: Float, window: int, exact: bool,
    scratch: tuple[Any, ...], out: F32,
) -> None:  # fmt: skip
    """Attention of every sequence: out[tokens, width] of qkv [tokens, 3 * width]; in float32 if `exact`."""
    whole, (keys, work, lined, mixed) = scratch
    for s in range(starts.size - 1):
        first, count = starts[s], starts[s + 1] - starts[s]
        if exact:
            line_up(qkv, first, count, 3 * width, lined)
            attend_float(lined, count, width, heads, depth, scale, window, keys, work, mixed)
            for t in range(count):
                for i in range(0, width, LANES):
                    store_f32(out, place(first + t, i, width), load_f32(mixed, t * width + i))
        else:
            attend(qkv, first, count, width, heads, depth, scale, window, whole, out)


@kernel
def norm_rows(
    x: F32, count: int, norm: Norm, layer: int, inside: F32, size: int, width: int, epsilon: Float, out: F32
) -> None:
    """out[count, width] = layer norm of x[count, width], with the gain and shift of the layer."""
    for t in range(count):
        layer_norm(x, out, place(t, 0, width), norm[0], norm[1], layer * width, inside, size, width, epsilon)
