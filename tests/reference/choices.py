"""What is chosen of logits, in plain numpy, in the order of operations that the engine states."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
BLOCK, LANES = 1024, 16


def exponential(x: F32) -> F32:
    """e**x for x <= 0 as engine/kernels/functions.py has it."""
    f = np.float32
    coefficients = (
        1.9875691500e-4,
        1.3981999507e-3,
        8.3334519073e-3,
        4.1665795894e-2,
        1.6666665459e-1,
        5.0000001201e-1,
    )
    x = np.maximum(f(-87), x)
    n = np.rint(x * f(1.4426950408889634))
    r = (x - n * f(0.693359375)) - n * f(-2.12194440e-4)
    p = f(coefficients[0])
    for c in coefficients[1:]:
        p = p * r + f(c)
    p = (p * r) * r + r + f(1)
    result: F32 = p * np.exp2(n).astype(np.float32)
    return result


def choose(logits: F32, allowed: NDArray[np.bool_]) -> tuple[int, Any, float]:
    """The token, its logit, and ln of the sum of e**(logit - top); -1 if none is allowed, -2 if one is not finite."""
    if not allowed.any():
        return -1, np.float32(0), 0.0
    top = logits[allowed].max()
    if not np.isfinite(logits[allowed]).all():
        return -2, top, 0.0
    weight = 0.0
    for begin in range(0, logits.size, BLOCK):
        lanes = np.zeros(LANES, np.float32)
        for at in range(begin, min(begin + BLOCK, logits.size), LANES):
            here = slice(at, min(at + LANES, logits.size))
            e = np.where(allowed[here], exponential(np.where(allowed[here], logits[here] - top, 0)), np.float32(0))
            lanes[: e.size] += e
        while lanes.size > 1:
            lanes = lanes[: lanes.size // 2] + lanes[lanes.size // 2 :]
        weight += float(lanes[0])
    return int(np.flatnonzero(allowed & (logits == top))[0]), top, math.log(weight)
