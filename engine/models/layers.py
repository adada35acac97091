"""What the layers of all architectures are made of, compiled: linear maps, attention, norms, pooling, scratch."""

from typing import Any

import numpy as np

from engine.codegen import start_tiles, stop_tiles
from engine.kernels.attention.attention import attend, work_sizes
from engine.kernels.attention.attention_float import attend_float, float_work_sizes
from engine.kernels.compiled import kernel
from engine.kernels.matmul.arguments import Target
from engine.kernels.matmul.linear import (
    ADD,
    GELU,
    ISA,
    PLAIN,
    ROWS,
    SUMS,
    TOTALS,
    WIDTH,
    FloatLayer,
    Layer,
    Operand,
    Work,
    linear,
    linear_float,
)
from engine.kernels.places import place
from engine.kernels.rows import bound, gelu_rows, layer_norm, line_up, quantize
from engine.simd import F32, I8, I64, LANES, Float, load_f32, store_f32

Matrices = tuple[I8, F32, F32, F32, F32, int]  # the arrays of a Stack
Norm = tuple[F32, F32]  # gain, shift
FIRST = np.int64(0)
"""The first row or column, as numba wants it: see matmul.PLAIN."""
_LINE = 64  # bytes of a cache line: a vector that crosses none is read at once


def aligned(count: int, dtype: Any) -> Any:
    """Zeros that begin on a cache line."""
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(dtype)


def linear_scratch(tokens: int, values: int, rows: int, inner: int, *, floats: bool) -> tuple[Any, ...]:
    """What `project` needs for so many tokens of up to so many values, and for so many rows of inner values; `floats`:
    if any matrix is float32."""
    tokens, rows = (-(-count // ROWS) * ROWS + LANES for count in (tokens, rows))
    most = max(tokens * values, rows * inner)
    return (
        aligned(2 * most, np.int8), aligned(tokens + rows, np.float32), aligned(2 * SUMS, np.int32),
        aligned(most if floats else 0, np.float32), aligned(max(TOTALS, WIDTH * (tokens + rows)), np.float32),
        aligned(2 * rows * inner, np.int8), aligned(rows, np.float32), aligned(rows, np.float32),
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
        start_tiles()


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
    (matmul.PLAIN, ADD). Both are multiples of 16."""
    _take(x, from_, count, k, stack, scratch)
    _multiply(count, k, stack, layer, n, mode, out, to, FIRST, n, scratch)


@kernel
def project_qkv(
    x: F32, count: int, k: int, queries_keys: Matrices, values: Matrices, layer: int, n: int, out: F32,
    scratch: tuple[Any, ...],
) -> None:  # fmt: skip
    """out[count, 3 * n]: queries, keys and values of x[count, k], n of each."""
    _take(x, FIRST, count, k, values, scratch)
    _multiply(count, k, queries_keys, layer, 2 * n, PLAIN, out, FIRST, FIRST, 3 * n, scratch)
    _multiply(count, k, values, layer, n, PLAIN, out, FIRST, 2 * n, 3 * n, scratch)


@kernel
def expand(
    x: F32, t: int, count: int, width: int, up: Matrices, down: Matrices, layer: int, inner: int, hidden: F32,
    scratch: tuple[Any, ...],
) -> None:  # fmt: skip
    """GELU(rows t.. of x[tokens, width] @ up + bias), for `contract`: as an operand in `scratch`, or, where one of both
    matrices is float32, as hidden[count, inner]."""
    if up[1].size or down[1].size:
        project(x, t, count, width, up, layer, inner, PLAIN, hidden, FIRST, scratch)
        gelu_rows(hidden, count, inner)
    else:
        numbers, scales, sums, _, totals, operand, inner_scales, inverses = scratch
        quantize(x, t, count, width, numbers, scales)
        bound(x, t, count, width, up[4][2 * layer], up[4][2 * layer + 1], inner_scales, inverses)
        matrix = Layer(up[0], up[2], up[3], up[5], layer, inner)
        linear(Operand(numbers, scales, count, width), matrix, Target(x, inner, FIRST, GELU), FIRST,
               Work(inverses, operand, sums, totals))  # fmt: skip


@kernel
def contract(
    hidden: F32, count: int, inner: int, up: Matrices, down: Matrices, layer: int, width: int, x: F32, t: int,
    scratch: tuple[Any, ...],
) -> None:  # fmt: skip
    """Rows t.. of x[tokens, width] += what `expand` made @ down + bias."""
    if up[1].size or down[1].size:
        project(hidden, FIRST, count, inner, down, layer, width, ADD, x, t, scratch)
    else:
        _, _, sums, _, totals, operand, inner_scales, inverses = scratch
        matrix = Layer(down[0], down[2], down[3], down[5], layer, width)
        linear(Operand(operand, inner_scales, count, inner), matrix, Target(x, width, FIRST, ADD), t,
               Work(inverses, operand, sums, totals))  # fmt: skip


@kernel
def _take(x: F32, from_: int, count: int, k: int, stack: Matrices, scratch: tuple[Any, ...]) -> None:
    """Rows from_.. of x[tokens, k] as the left operand of this kind of matrices."""
    if stack[1].size:
        line_up(x, from_, count, k, scratch[3])
    else:
        quantize(x, from_, count, k, scratch[0], scratch[1])


@kernel
def _multiply(
    count: int, k: int, stack: Matrices, layer: int, n: int, mode: int, out: F32, to: int, column: int, width: int,
    scratch: tuple[Any, ...],
) -> None:  # fmt: skip
    """Rows to.. and n columns from `column` on of out[tokens, width] = what was taken @ weights + bias."""
    weights, floats, factors, bias, _, group = stack
    numbers, scales, sums, lined, totals, operand, _, inverses = scratch
    target = Target(out, width, column, mode)
    if floats.size:
        linear_float(lined, count, k, FloatLayer(floats, bias, layer, n), target, to, totals)
    else:
        matrix = Layer(weights, factors, bias, group, layer, n)
        linear(Operand(numbers, scales, count, k), matrix, target, to, Work(inverses, operand, sums, totals))


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
