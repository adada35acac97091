"""Attention of one sequence inside a block against softmax(q k.T / sqrt(depth)) v in float64."""

import math
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from engine.kernels import attention
from engine.kernels.attention import floats as attention_float
from engine.models.layers import attention_scratch, start, stop
from engine.tiles.operands import CHUNK
from tests.engine.kernels.tiles import from_tiles, near, to_tiles, untouched

Floats = NDArray[np.float32]
COUNTS = [*range(1, 20), 31, 32, 33, *(n * CHUNK + d for n in (1, 2, 3) for d in (-1, 0, 1)), 2 * CHUNK + 16 + 3]
SHAPES = [(32, 1), (64, 2), (64, 1), (96, 6), (128, 1), (80, 1), (160, 2), (48, 1)]
WHOLE, FLOAT = False, True


def truth(qkv: Floats, heads: int, window: int = 0) -> NDArray[np.float64]:
    """qkv [tokens, 3 * width] -> [tokens, width]."""
    tokens, width = qkv.shape[0], qkv.shape[1] // 3
    q, k, v = (part.reshape(tokens, heads, -1).swapaxes(0, 1) for part in np.split(qkv.astype(np.float64), 3, axis=1))
    scores = q @ k.swapaxes(1, 2) / math.sqrt(width // heads)
    if window:
        away = np.abs(np.arange(tokens)[:, None] - np.arange(tokens))
        scores = np.where(away <= window, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(tokens, width)


@njit
def _whole(qkv: Floats, first: int, count: int, heads: attention.Heads, work: Any, out: Floats) -> None:
    start()
    attention.attend(qkv, first, count, heads, work, out)
    stop()


@njit
def _float(qkv: Floats, count: int, heads: attention.Heads, work: Any, out: Floats) -> None:
    attention_float.attend_float(qkv, count, heads, work, out)


def scratch(tokens: int, depth: int, width: int, *, exact: bool) -> tuple[Any, list[NDArray[np.uint8]]]:
    """Scratch full of what must not matter, and the memory right after each part of it."""
    whole, floats = attention_scratch(tokens, depth, width, exact=exact)
    arrays = floats[:2] if exact else whole
    both = near(*arrays)
    found, guards = both[::2], both[1::2]
    for i, array in enumerate(arrays):
        found[i].view(np.uint8)[:] = 0xFF  # a NaN as float32
        for j, before in enumerate(arrays[:i]):
            if np.shares_memory(before, array):  # the later one's memory is the longer
                found[j] = found[i].view(before.dtype)
    return (floats._replace(keys=found[0], scores=found[1]) if exact else attention.Work(*found)), guards


def attend(
    qkv: Floats, first: int, count: int, heads: int, *, exact: bool, window: int = 0, context: int | None = None
) -> Floats:
    """[count, width], of the tokens from `first` on; nothing else is written."""
    tokens, width = qkv.shape[0], qkv.shape[1] // 3
    depth = width // heads
    scale = np.float32(1) / np.sqrt(np.float32(depth))
    sizes = attention.Heads(heads, depth, width, window, 0, scale, np.float32(0))
    work, guards = scratch(context or count, depth, width, exact=exact)
    if exact:
        lined = np.full((count + 16, 3 * width), np.nan, np.float32)
        lined[:count] = qkv[first : first + count]
        flat = np.full((count + 16) * width, -1, np.float32)
        _float(lined.reshape(-1), count, sizes, work, flat)
        found = flat.reshape(-1, width)[:count]
    else:
        out, guard = near(to_tiles(np.full((tokens, width), 7), fill=7))
        _whole(to_tiles(qkv), first, count, sizes, work, out)
        everything = from_tiles(out, width)
        found = everything[first : first + count]
        assert (np.delete(everything, np.arange(first, first + count), axis=0) == 7).all()
        assert untouched(guard)
    assert all(map(untouched, guards))
    return found


def made_up(tokens: int, width: int, seed: int = 0, spread: float = 1.5) -> Floats:
    return (np.random.default_rng(seed).standard_normal((tokens, 3 * width)) * spread).astype(np.float32)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("width", "heads"), SHAPES)
def test_whole_numbers(count: int, width: int, heads: int) -> None:
    first = 5
    qkv = made_up(first + count + 4, width, seed=count)
    part = qkv[first : first + count]
    error = np.abs(attend(qkv, first, count, heads, exact=WHOLE) - truth(part, heads))
    greatest = np.abs(part[:, 2 * width :]).max()
    assert error.max() < 0.04 * greatest
    assert error.mean() < 0.004 * greatest


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("width", "heads"), SHAPES)
def test_floats(count: int, width: int, heads: int) -> None:
    qkv = made_up(count, width, seed=count)
    assert np.abs(attend(qkv, 0, count, heads, exact=FLOAT) - truth(qkv, heads)).max() < 1e-5


@pytest.mark.parametrize("window", [1, 2, 15, 16, 17, 40, 64, 200])
@pytest.mark.parametrize("count", [1, 2, 17, 64, 130])
@pytest.mark.parametrize(("exact", "limit"), [(WHOLE, 0.15), (FLOAT, 1e-5)])
def test_windows(window: int, count: int, exact: bool, limit: float) -> None:
    qkv = made_up(count, 64, seed=window)
    found = attend(qkv, 0, count, 2, exact=exact, window=window)
    assert np.abs(found - truth(qkv, 2, window)).max() < limit
    if window >= count:
        assert np.array_equal(found, attend(qkv, 0, count, 2, exact=exact))


@pytest.mark.parametrize("exact", [WHOLE, FLOAT])
def test_what_lies_outside_the_window_changes_no_weight(exact: bool) -> None:
    qkv = made_up(100, 32)
    other = qkv.copy()
    other[60:, 32:64] = np.roll(other[60:, 32:64], 1, axis=0)  # the same greatest key, and with it the same numbers
    found, changed = (attend(x, 0, 100, 1, exact=exact, window=20) for x in (qkv, other))
    assert np.array_equal(found[:40], changed[:40])
    assert not np.array_equal(found[40:], changed[40:])


@pytest.mark.parametrize("exact", [WHOLE, FLOAT])
def test_neighbours_in_a_block_do_not_change_a_bit(exact: bool) -> None:
    random = np.random.default_rng(9)
    alone, outs = made_up(7, 32), []
    for first, context in ((0, 7), (3, 40), (11, 512), (16, 8)):
        qkv = random.standard_normal((first + 7 + 9, 96)).astype(np.float32) * 100
        qkv[first : first + 7] = alone
        outs.append(attend(qkv, first, 7, 1, exact=exact, context=context).tobytes())
    assert len(set(outs)) == 1


@pytest.mark.parametrize(("exact", "limit"), [(WHOLE, 0.03), (FLOAT, 1e-5)])
def test_equal_keys_give_the_mean_of_the_values(exact: bool, limit: float) -> None:
    qkv = made_up(90, 32)
    qkv[:, 32:64] = qkv[0, 32:64]
    found = attend(qkv, 0, 90, 1, exact=exact)
    assert np.abs(found - qkv[:, 64:].mean(0, dtype=np.float64)).max() < limit


@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("exact", [WHOLE, FLOAT])
def test_zeros_are_no_trouble(exact: bool, part: int) -> None:
    qkv = made_up(20, 32)
    qkv[:, 32 * part : 32 * part + 32] = 0
    assert np.abs(attend(qkv, 0, 20, 1, exact=exact) - truth(qkv, 1)).max() < 0.03


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [3, 32 + 3, 64 + 3])
@pytest.mark.parametrize("exact", [WHOLE, FLOAT])
def test_what_is_not_finite_is_never_an_answer(exact: bool, column: int, value: float) -> None:
    qkv = made_up(20, 32)
    qkv[4, column] = value
    found = attend(qkv, 0, 20, 1, exact=exact)
    assert not np.isfinite(found if exact else found[4]).all()  # in float32 a score of minus infinity is a weight of 0


@pytest.mark.parametrize("size", [1e4, 1e20, 1e37])
def test_enormous_scores_choose_one_key(size: float) -> None:
    qkv = made_up(20, 32)
    qkv[:, :32] *= np.float32(size)
    found, scores = (
        attend(qkv, 0, 20, 1, exact=WHOLE),
        qkv[:, :32].astype(np.float64) @ qkv[:, 32:64].T.astype(np.float64),
    )
    ordered = np.sort(scores, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 0.1 * np.abs(scores).max(1)  # else 8 bits may choose another
    assert clear.sum() > 5
    assert np.abs(found - qkv[scores.argmax(1), 64:])[clear].max() < 0.02


@pytest.mark.parametrize("count", [500, 513, 600])
def test_long_texts(count: int) -> None:
    qkv = made_up(count, 64, seed=count)
    assert np.abs(attend(qkv, 0, count, 2, exact=WHOLE) - truth(qkv, 2)).max() < 0.2
    assert np.abs(attend(qkv, 0, count, 2, exact=FLOAT) - truth(qkv, 2)).max() < 1e-5


def test_a_very_long_text() -> None:
    """Values have fewer bits there, and weights too."""
    qkv = made_up(5000, 16)
    assert np.abs(attend(qkv, 0, 5000, 1, exact=WHOLE, window=64) - truth(qkv, 1, window=64)).max() < 0.3
