"""Loads and stores of vectors: `load_f32(array, i)` is array[i : i + 16] of a contiguous one-dimensional array."""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from engine.simd.vector import JIT, Vector, f32x16, i32x16


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, vector: Vector) -> Any:
    """The address of array[index] as a pointer to a vector."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), vector.llvm.as_pointer())


def _load(vector: Vector) -> Callable[..., Any]:
    if not JIT:
        return lambda array, i: array[i : i + vector.lanes].copy()

    @intrinsic
    def load(typing: Any, array: Any, i: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            return builder.load(_pointer(context, builder, sig.args[0], values[0], values[1], vector), align=1)

        return vector(array, types.intp), codegen

    return load


def _store(vector: Vector) -> Callable[..., Any]:
    if not JIT:

        def store_lanes(array: Any, i: int, value: Any) -> None:
            array[i : i + vector.lanes] = value

        return store_lanes

    @intrinsic
    def store(typing: Any, array: Any, i: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            pointer = _pointer(context, builder, sig.args[0], values[0], values[1], vector)
            builder.store(values[2], pointer, align=1)
            return context.get_dummy_value()

        return types.void(array, types.intp, vector), codegen

    return store


load_f32, store_f32 = _load(f32x16), _store(f32x16)
load_i32, store_i32 = _load(i32x16), _store(i32x16)
