"""Gated linear units (Shazeer 2020): one half of a product goes through a function and scales the other half."""

from collections.abc import Callable
from typing import Any

from engine.kernels.activations import silu
from engine.kernels.compiled import kernel
from engine.kernels.functions import gelu
from engine.kernels.places import TILE, place
from engine.simd import F32, LANES, Lanes, gelu_near, load_f32, mul, store_f32


def gated(function: Callable[[Lanes], Lanes]) -> Any:
    """A kernel glu(x, count, n, out): out[count, n] = function(x[:, :n]) * x[:, n:] of x [count, 2 * n], n a multiple
    of 16. Whole tiles are computed: rows up to the next multiple of 16 are read and overwritten."""

    @kernel
    def glu(x: F32, count: int, n: int, out: F32) -> None:
        for t in range(0, count, LANES):
            for i in range(0, n, LANES):
                left, right, to = place(t, i, 2 * n), place(t, n + i, 2 * n), place(t, i, n)
                for at in range(0, TILE, LANES):
                    store_f32(out, to + at, mul(function(load_f32(x, left + at)), load_f32(x, right + at)))

    return glu


swiglu, geglu, geglu_near = gated(silu), gated(gelu), gated(gelu_near)
