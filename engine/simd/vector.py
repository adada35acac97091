"""SIMD registers as numba values: a vector type is declared once, and each operation once, with its meaning in numpy.

With NUMBA_DISABLE_JIT=1 an operation *is* its numpy meaning, and the same kernels run as plain Python. Vectors have 16
lanes on every machine; LLVM lowers them to one, two or four registers. Nothing here may depend on how many.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import config, types
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

JIT = not config.DISABLE_JIT  # type: ignore[attr-defined]
LANES = 16
binding.initialize_native_asmparser()  # for instructions that are called by their names
LLVM_VERSION = ".".join(map(str, binding.llvm_version_info))

if not JIT:
    np.seterr(over="ignore", invalid="ignore", divide="ignore")  # a register says nothing of infinities or NaN either


class Vector(types.Type):
    """A register of `lanes` values of one numpy type."""

    def __init__(self, name: str, dtype: Any, lanes: int) -> None:
        self.dtype, self.lanes = np.dtype(dtype), lanes
        element = ir.FloatType() if self.dtype.kind == "f" else ir.IntType(8 * self.dtype.itemsize)
        self.llvm = ir.VectorType(element, lanes)
        super().__init__(name=name)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, kind.llvm)


f32x16, i32x16 = Vector("f32x16", "f4", 16), Vector("i32x16", "i4", 16)


def all_i32(value: int) -> Any:
    """LLVM's vector of one integer."""
    return ir.Constant(i32x16.llvm, [value] * LANES)


def operation(result: Any, *arguments: Any) -> Callable[..., Any]:
    """Declare an operation: `@operation(result, *arguments)(emit)`; `emit(builder, *values)` gives its LLVM value."""

    def with_emit(emit: Callable[..., Any]) -> Callable[..., Any]:
        def with_meaning(meaning: Callable[..., Any]) -> Any:
            return _intrinsic(meaning.__name__, result(*arguments), emit) if JIT else meaning

        return with_meaning

    return with_emit


def operation_on(emit: Callable[..., None], count: int, vectors: int = 0) -> Any:
    """An operation on `count` addresses and numbers, and then on vectors of int32, that gives nothing back."""
    return _intrinsic("operation", types.void(*[types.intp] * count, *[i32x16] * vectors), emit)


def _intrinsic(name: str, signature: Any, emit: Callable[..., Any]) -> Any:
    """An intrinsic with as many arguments as the signature; numba wants to see them in a def."""

    def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        value = emit(builder, *values)
        return context.get_dummy_value() if value is None else value

    names = ", ".join(f"a{i}" for i in range(len(signature.args)))
    scope: dict[str, Any] = {"signature": signature, "codegen": codegen}
    exec(f"def {name}(typing, {names}): return signature, codegen", scope)
    return intrinsic(scope[name])
