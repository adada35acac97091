"""Attention of one sequence inside a block against softmax(q k.T / sqrt(depth)) v in float64."""

import math

import numpy as np
import pytest

from engine.kernels.attention import QUERIES, attend, work_sizes
from engine.kernels.matmul import FLOAT_ROWS


def truth(qkv: np.ndarray, heads: int) -> np.ndarray:
    """qkv [tokens, 3 * width] -> [tokens, width]."""
    tokens, width = qkv.shape[0], qkv.shape[1] // 3
    q, k, v = (part.reshape(tokens, heads, -1).swapaxes(0, 1) for part in np.split(qkv.astype(np.float64), 3, axis=1))
    scores = q @ k.swapaxes(1, 2) / math.sqrt(width // heads)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(tokens, width)


@pytest.mark.parametrize("count", [*range(1, 36), QUERIES - 1, QUERIES, QUERIES + 1, 2 * QUERIES + 3])
@pytest.mark.parametrize(("width", "heads"), [(32, 1), (64, 2), (64, 1)])
def test_attend(count: int, width: int, heads: int) -> None:
    random = np.random.default_rng(count)
    first, context = 5, 160
    tokens = first + count + FLOAT_ROWS
    qkv = random.standard_normal((tokens, 3 * width)).astype(np.float32) * 2
    keys, work = (random.standard_normal(size).astype(np.float32) for size in work_sizes(context, width, heads))
    out = np.zeros((tokens, width), np.float32)
    attend(qkv.reshape(-1), first, count, width, heads, width // heads, keys, work, out.reshape(-1))
    part = slice(first, first + count)
    assert np.abs(out[part] - truth(qkv[part], heads)).max() < 3e-5  # of values up to 8
    assert not out[:first].any()


def test_neighbours_in_a_block_do_not_change_a_bit() -> None:
    random = np.random.default_rng(9)
    alone = random.standard_normal((7, 96)).astype(np.float32)
    outs = []
    for first in (0, 3, 11):
        qkv = random.standard_normal((first + 7 + 9, 96)).astype(np.float32) * 100
        qkv[first : first + 7] = alone
        keys, work = (np.full(size, np.nan, np.float32) for size in work_sizes(32, 32, 1))
        out = np.zeros((qkv.shape[0], 32), np.float32)
        attend(qkv.reshape(-1), first, 7, 32, 1, 32, keys, work, out.reshape(-1))
        outs.append(out[first : first + 7].tobytes())
    assert len(set(outs)) == 1
