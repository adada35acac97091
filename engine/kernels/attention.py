"""Attention of one sequence: every head by itself, in float32, queries in blocks so that scores stay in the cache."""

import numpy as np
from numba import njit

from engine.kernels.matmul import FLOAT_ROWS, mix, scores
from engine.kernels.rows import softmax
from engine.simd import F32

QUERIES = 64  # rows of scores at a time
_KEYS = 32  # keys are padded to a multiple of what `scores` computes at once


@njit(nogil=True)
def padded_keys(count: int) -> int:
    """The room that `count` keys take."""
    return (count + _KEYS - 1) // _KEYS * _KEYS


@njit(nogil=True)
def attend(
    qkv: F32, first: int, count: int, width: int, heads: int, true_depth: int, keys: F32, work: F32, out: F32
) -> None:
    """out[first:first + count, width] = softmax(q k.T / sqrt(true_depth)) v for each head.

    qkv float32 [tokens, 3 * width]: queries, keys, values side by side, each head's padded
    from true_depth to width / heads with zeros. FLOAT_ROWS - 1 rows after the sequence are read
    and, in `out`, overwritten: they belong to the sequence that comes next, or to nobody.
    """
    depth, stride = width // heads, 3 * width
    padded = padded_keys(count)
    scale = np.float32(1.0) / np.sqrt(np.float32(true_depth))
    for head in range(heads):
        at = first * stride + head * depth
        _transpose_keys(qkv, at + width, stride, count, padded, depth, keys)
        for block in range(0, count, QUERIES):
            rows = min(QUERIES, count - block)
            scores(qkv, at + block * stride, stride, keys, padded, rows, depth, work)
            for r in range(rows):
                softmax(work, r * padded, count, scale)
            to = (first + block) * width + head * depth
            mix(work, padded, rows, count, qkv, at + 2 * width, stride, depth, out, to, width)


@njit(nogil=True)
def _transpose_keys(qkv: F32, at: int, stride: int, count: int, padded: int, depth: int, keys: F32) -> None:
    """keys[depth, padded] = the head's keys, columns beyond `count` zero."""
    for j in range(count):
        for d in range(depth):
            keys[d * padded + j] = qkv[at + j * stride + d]
    for d in range(depth):
        for j in range(count, padded):
            keys[d * padded + j] = np.float32(0)


def work_sizes(context: int, width: int, heads: int) -> tuple[int, int]:
    """Values that `keys` and `work` need for sequences of up to `context` tokens."""
    padded = padded_keys(context)
    return (width // heads) * padded, (QUERIES + FLOAT_ROWS) * padded
