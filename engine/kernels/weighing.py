"""From a row of scores to the weights of a softmax, as whole numbers."""

import numpy as np

from engine.kernels.compiled import kernel
from engine.kernels.functions import exp2_near
from engine.kernels.matmul import ISA, OPERANDS, SCORES
from engine.simd import (
    CHUNK,
    I32,
    LANES,
    Float,
    Lanes,
    add_i32,
    larger_i32,
    largest_i32,
    load_i32,
    mul,
    no_i32,
    splat,
    splat_i32,
    sub,
    to_f32,
    to_i32,
    total_i32,
    within,
)  # fmt: skip

_STORE_ROW = OPERANDS.store_row
_IN_PLACE = ISA == "amx"
"""A row of weights takes the place of its scores: 64 bytes of two planes, where the tiles of scores are four. What is
read from the first cache must fit there, and rows a kilobyte apart share few of its sets."""
_LEAST = np.int32(-(2**31) + 1)


@kernel
def weigh(
    scores: I32, base: int, r: int, steps: int, low: int, high: int, scale: Float, power: Float, weights: int
) -> Float:
    """Row r of `weights`, a left operand (on AMX the same memory as `scores`), from row r of scores int32
    [padded / 16][16][16]: round(2**(power + (score -
    greatest) * scale)) for the keys low..high, else 0. Returns the sum of the row, NaN if the scale is not finite."""
    at, top = base + LANES * r, _greatest(scores, base + LANES * r, low, high)
    end_of_scale = np.float32(top) * scale
    spread, shift = splat(scale), splat(end_of_scale - power)
    step, chunk = (64, SCORES) if _IN_PLACE else (128 * steps, 128)
    to = weights + r * step
    share = no_i32()
    for q in range(steps):
        j = q * CHUNK
        if low <= j and j + CHUNK <= high:
            a = _powers(scores, at + LANES * j, spread, shift)
            b = _powers(scores, at + LANES * (j + 16), spread, shift)
            c = _powers(scores, at + LANES * (j + 32), spread, shift)
            d = _powers(scores, at + LANES * (j + 48), spread, shift)
        else:
            a, b = _some(scores, at, j, low, high, spread, shift), _some(scores, at, j + 16, low, high, spread, shift)
            c = _some(scores, at, j + 32, low, high, spread, shift)
            d = _some(scores, at, j + 48, low, high, spread, shift)
        share = add_i32(add_i32(share, add_i32(a, b)), add_i32(c, d))
        _STORE_ROW(to + q * chunk, a, b, c, d)
    return np.float32(total_i32(share)) + (end_of_scale - end_of_scale)


@kernel
def _greatest(scores: I32, at: int, low: int, high: int) -> int:
    """The greatest of the scores low..high of a row."""
    peak = splat_i32(_LEAST)
    for j in range(low // LANES * LANES, high, LANES):
        v = load_i32(scores, at + LANES * j)
        if j < low or j + LANES > high:
            v = within(v, np.int32(low - j), np.int32(high - j), _LEAST)
        peak = larger_i32(v, peak)
    top: int = largest_i32(peak)
    return top


@kernel
def _powers(scores: I32, at: int, spread: Lanes, shift: Lanes) -> Lanes:
    """Sixteen weights."""
    return to_i32(exp2_near(sub(mul(to_f32(load_i32(scores, at)), spread), shift)))


@kernel
def _some(scores: I32, at: int, j: int, low: int, high: int, spread: Lanes, shift: Lanes) -> Lanes:
    """Sixteen weights, 0 for keys before low and from high on."""
    if j >= high or j + LANES <= low:
        return no_i32()
    return within(_powers(scores, at + LANES * j, spread, shift), np.int32(low - j), np.int32(high - j), np.int32(0))
