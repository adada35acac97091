"""Probabilities from the outputs of a classifier, with the same bits on every machine."""

import numpy as np

from engine.kernels.activations import logistic
from engine.kernels.compiled import entry
from engine.kernels.vectors import softmax
from engine.simd import F32, LANES, load_f32, store_f32


def probabilities(outputs: F32, scores: str) -> F32:
    """float32 [n, labels] of outputs [n, labels]: each row's `softmax`, the `sigmoid` of each output, or, for `none`,
    the outputs."""
    if scores == "softmax":
        return softmax(outputs, 1.0)
    return sigmoid(outputs) if scores == "sigmoid" else outputs


def sigmoid(x: F32) -> F32:
    """1 / (1 + e**-x) of each value, float32."""
    padded = np.zeros(-(-x.size // LANES) * LANES, np.float32)
    padded[: x.size] = x.reshape(-1)
    _sigmoid(padded)
    out: F32 = padded[: x.size].reshape(x.shape)
    return out


@entry
def _sigmoid(x: F32) -> None:
    for i in range(0, x.size, LANES):
        store_f32(x, i, logistic(load_f32(x, i)))
