"""Gated linear units (Shazeer 2020): one half of a product goes through a function and scales the other half."""

from collections.abc import Callable
from typing import Any

from engine.kernels.activations import gelu_tanh, silu
from engine.kernels.compiled import kernel
from engine.kernels.functions import gelu
from engine.kernels.places import place, tile_end
from engine.simd import F32, LANES, Lanes, gelu_near, load_f32, mul, store_f32


def gated(function: Callable[[Lanes], Lanes]) -> Any:
    """A kernel glu(gate, up, column, width, first, end, n, out): the rows first..end of out [tokens, n] =
    function(gate) * up, n a multiple of 16. gate and up are [tokens, width]; gate's columns are the first n, up's those
    from `column` on. gate may be out."""

    @kernel
    def glu(gate: F32, up: F32, column: int, width: int, first: int, end: int, n: int, out: F32) -> None:
        while first < end:
            last = tile_end(first, end)
            for i in range(0, n, LANES):
                for t in range(first, last):
                    v = function(load_f32(gate, place(t, i, width)))
                    store_f32(out, place(t, i, n), mul(v, load_f32(up, place(t, column + i, width))))
            first = last

    return glu


swiglu, geglu, geglu_near, geglu_tanh = gated(silu), gated(gelu), gated(gelu_near), gated(gelu_tanh)
