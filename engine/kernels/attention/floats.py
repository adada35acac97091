"""Attention in float32, for models whose file is: slower, and as exact as float32 is."""

from typing import Any, NamedTuple

import numpy as np

from engine.kernels.attention import Heads
from engine.kernels.matmul import aligned
from engine.kernels.matmul.floats import FLOAT_ROWS
from engine.kernels.rows import softmax
from engine.simd import F32, LANES
from engine.simd.compiled import kernel
from engine.tiles.dots import FloatTile, float_tile

_score_tile, _mix_tile = float_tile(FLOAT_ROWS, 2), float_tile(FLOAT_ROWS, 1)
QUERIES = 64  # rows of scores at a time
_KEYS = 32  # keys are padded to a multiple of what `_scores` computes at once


class Strided(NamedTuple):
    """Rows of x that lie `stride` values apart, the first one at x[at]."""

    x: F32
    at: int
    stride: int


class FloatWork(NamedTuple):
    """Scratch: keys and scores of one head, and rows one after another, [tokens, 3 * width] and [tokens, width]."""

    keys: F32
    scores: F32
    lined: F32
    mixed: F32


def new_float_work(tokens: int, head_dim: int, width: int, *, exact: bool) -> FloatWork:
    """Scratch for sequences of up to `tokens` tokens; none unless `exact`."""
    padded = -(-tokens // _KEYS) * _KEYS
    rows = tokens + LANES
    sizes = head_dim * padded, (QUERIES + FLOAT_ROWS) * padded, rows * 3 * width, rows * width
    return FloatWork(*(aligned(size if exact else 0, np.float32) for size in sizes))


@kernel
def attend_float(qkv: F32, count: int, heads: Heads, work: FloatWork, out: F32) -> None:
    """Attention as `attend`, of rows that lie one after another. FLOAT_ROWS - 1 rows after the last are read
    and, in `out`, overwritten."""
    width, head_dim, stride, padded = heads.width, heads.head_dim, 3 * heads.width, (count + _KEYS - 1) // _KEYS * _KEYS
    scores = work.scores
    for head in range(heads.number):
        at = head * head_dim
        _transpose_keys(Strided(qkv, at + width, stride), count, padded, head_dim, work.keys)
        for block in range(0, count, QUERIES):
            rows = min(QUERIES, count - block)
            _scores(Strided(qkv, at + block * stride, stride), work.keys, padded, rows, head_dim, scores)
            for r in range(rows):
                if heads.window:
                    _look_near(scores, r * padded, block + r, count, heads.window)
                softmax(scores, r * padded, count, heads.scale)
            to = Strided(out, block * width + head * head_dim, width)
            _mix(Strided(scores, 0, padded), rows, count, Strided(qkv, at + 2 * width, stride), head_dim, to)


@kernel
def _look_near(scores: F32, at: int, t: int, count: int, window: int) -> None:
    """Lower the scores of keys that are more than `window` away from t, as if there were no such keys."""
    for j in range(count):
        if abs(j - t) > window:
            scores[at + j] = np.float32(-3e38)


@kernel
def _transpose_keys(key_rows: Strided, count: int, padded: int, head_dim: int, keys: F32) -> None:
    """keys[head_dim, padded] = the head's keys, columns beyond `count` zero."""
    for j in range(count):
        for d in range(head_dim):
            keys[d * padded + j] = key_rows.x[key_rows.at + j * key_rows.stride + d]
    for d in range(head_dim):
        for j in range(count, padded):
            keys[d * padded + j] = np.float32(0)


@kernel
def _scores(q: Strided, keys: F32, padded: int, count: int, head_dim: int, out: F32) -> None:
    """out[count, padded] = q[count, head_dim] @ keys[head_dim, padded]."""
    for i in range(0, count, FLOAT_ROWS):
        for j in range(0, padded, 2 * LANES):
            to, k = out.ctypes.data + 4 * (i * padded + j), keys.ctypes.data + 4 * j
            _score_tile(FloatTile(_address(q, i, 0), 4 * q.stride, k, 4 * padded, head_dim, to, 4 * padded))


@kernel
def _mix(weights: Strided, rows: int, count: int, v: Strided, width: int, out: Strided) -> None:
    """out[rows, width] = weights[rows, count] @ v[count, width]."""
    for i in range(0, rows, FLOAT_ROWS):
        for j in range(0, width, LANES):
            left, right, to = _address(weights, i, 0), _address(v, 0, j), _address(out, i, j)
            _mix_tile(FloatTile(left, 4 * weights.stride, right, 4 * v.stride, count, to, 4 * out.stride))


@kernel
def _address(rows: Strided, i: int, j: int) -> Any:
    """The address of value j of row i."""
    return np.int64(rows.x.ctypes.data) + 4 * (rows.at + i * rows.stride + j)
