"""Vectors for the pipeline: dot products and softmax with the same bits on every machine."""

from typing import Any

import numpy as np

from engine.kernels import rows
from engine.kernels.functions import logistic
from engine.simd import F32, LANES, load_f32, store_f32
from engine.simd.compiled import entry


def similarity(a: F32, b: F32) -> F32:
    """float32 [n, m]: the dot product of each row of a [n, d] with each row of b [m, d]; cosines, if the rows are unit
    vectors. ValueError if the lengths differ."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(f"found the shapes {a.shape} and {b.shape}, expected rows of the same length")
    out = np.zeros((a.shape[0], b.shape[0]), np.float32)
    left, right = _padded(a), _padded(b)
    _similarity(left.reshape(-1), right.reshape(-1), left.shape[1], out)
    return out


def softmax(x: F32, scale: float) -> F32:
    """softmax(scale * x) along the last axis of x [n, m]; ValueError unless scale > 0."""
    if x.ndim != 2 or not 0 < scale < np.inf:
        raise ValueError(f"found the shape {x.shape} and the scale {scale}, expected rows and a positive scale")
    padded = _padded(x)
    _softmax(padded.reshape(-1), padded.shape[1], x.shape[1], np.float32(scale))
    out: F32 = padded[:, : x.shape[1]].copy()
    return out


def _padded(x: F32) -> F32:
    """A copy whose rows have a multiple of 16 values, zeros at the end."""
    width = max(LANES, -(-x.shape[1] // LANES) * LANES)
    out = np.zeros((x.shape[0], width), np.float32)
    out[:, : x.shape[1]] = x
    return out


@entry
def _similarity(a: F32, b: F32, width: int, out: F32) -> None:
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = rows.dot(a, i * width, b, j * width, width)


@entry
def _softmax(x: F32, stride: int, count: int, scale: Any) -> None:
    for at in range(0, x.size, stride):
        rows.softmax(x, at, count, scale)


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
