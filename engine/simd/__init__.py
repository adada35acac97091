"""The SIMD vocabulary: kernels read as the formula, and run as plain Python with NUMBA_DISABLE_JIT=1."""

from engine.simd.arithmetic import (
    add,
    div,
    larger,
    largest,
    magnitude,
    mul,
    nearest,
    power_of_two,
    splat,
    sub,
    to_i16,
    total,
    with_sign,
)  # fmt: skip
from engine.simd.memory import load_f32, store_f32, store_i16
from engine.simd.names import F32, I8, I16, I32, I64, Float, Lanes
from engine.simd.tiles import GROUP, float_tile, int_tile
from engine.simd.vector import LANES, LLVM_VERSION

__all__ = [
    "F32",
    "GROUP",
    "I8",
    "I16",
    "I32",
    "I64",
    "LANES",
    "LLVM_VERSION",
    "Float",
    "Lanes",
    "add",
    "div",
    "float_tile",
    "int_tile",
    "larger",
    "largest",
    "load_f32",
    "magnitude",
    "mul",
    "nearest",
    "power_of_two",
    "splat",
    "store_f32",
    "store_i16",
    "sub",
    "to_i16",
    "total",
    "with_sign",
]  # fmt: skip
