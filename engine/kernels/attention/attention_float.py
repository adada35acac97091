"""The same attention in float32, for models whose file is: slower, and as exact as float32 is."""

import numpy as np

from engine.codegen import float_tile
from engine.kernels.compiled import kernel
from engine.kernels.matmul.linear import FLOAT_ROWS
from engine.kernels.rows import softmax
from engine.simd import F32, LANES, Float

_score_tile, _mix_tile = float_tile(FLOAT_ROWS, 2), float_tile(FLOAT_ROWS, 1)
QUERIES = 64  # rows of scores at a time
_KEYS = 32  # keys are padded to a multiple of what `scores` computes at once


def _padded(count: int) -> int:
    """The room that `count` keys take."""
    return (count + _KEYS - 1) // _KEYS * _KEYS


_padded_keys = kernel(_padded)


@kernel
def attend_float(
    qkv: F32, count: int, width: int, heads: int, depth: int, scale: Float, window: int, keys: F32,
    work: F32, out: F32,
) -> None:  # fmt: skip
    """As `attention.attend`, of rows that lie one after another. FLOAT_ROWS - 1 rows after the last are read and, in
    `out`, overwritten."""
    stride, padded = 3 * width, _padded_keys(count)
    for head in range(heads):
        at = head * depth
        _transpose_keys(qkv, at + width, stride, count, padded, depth, keys)
        for block in range(0, count, QUERIES):
            rows = min(QUERIES, count - block)
            _scores(qkv, at + block * stride, stride, keys, padded, rows, depth, work)
            for r in range(rows):
                if window:
                    _look_near(work, r * padded, block + r, count, window)
                softmax(work, r * padded, count, scale)
            to = block * width + head * depth
            _mix(work, padded, rows, count, qkv, at + 2 * width, stride, depth, out, to, width)


@kernel
def _look_near(scores: F32, at: int, t: int, count: int, window: int) -> None:
    """Scores of keys that are more than `window` away from t, as if there were no such keys."""
    for j in range(count):
        if abs(j - t) > window:
            scores[at + j] = np.float32(-3e38)


@kernel
def _transpose_keys(qkv: F32, at: int, stride: int, count: int, padded: int, depth: int, keys: F32) -> None:
    """keys[depth, padded] = the head's keys, columns beyond `count` zero."""
    for j in range(count):
        for d in range(depth):
            keys[d * padded + j] = qkv[at + j * stride + d]
    for d in range(depth):
        for j in range(count, padded):
            keys[d * padded + j] = np.float32(0)


def float_work_sizes(tokens: int, depth: int) -> tuple[int, int]:
    """Values that `keys` and `work` need for sequences of up to `tokens` tokens."""
    padded = _padded(tokens)
    return depth * padded, (QUERIES + FLOAT_ROWS) * padded


@kernel
def _scores(q: F32, at: int, stride: int, keys: F32, padded: int, count: int, depth: int, out: F32) -> None:
    """out[count, padded] = q[count, depth] @ keys[depth, padded]; q's rows lie `stride` values apart."""
    for i in range(0, count, FLOAT_ROWS):
        for j in range(0, padded, 2 * LANES):
            _score_tile(
                q.ctypes.data + 4 * (at + i * stride), 4 * stride, keys.ctypes.data + 4 * j, 4 * padded, depth,
                out.ctypes.data + 4 * (i * padded + j), 4 * padded,
            )  # fmt: skip


@kernel
def _mix(
    weights: F32, padded: int, rows: int, count: int, v: F32, at: int, stride: int, width: int, out: F32, to: int,
    out_stride: int,
) -> None:  # fmt: skip
    """out[rows, width] = weights[rows, count] @ v[count, width]; rows of v and out lie apart by their strides."""
    for i in range(0, rows, FLOAT_ROWS):
        for j in range(0, width, LANES):
            _mix_tile(
                weights.ctypes.data + 4 * i * padded, 4 * padded, v.ctypes.data + 4 * (at + j), 4 * stride, count,
                out.ctypes.data + 4 * (to + i * out_stride + j), 4 * out_stride,
            )  # fmt: skip
