"""SIMD registers as numba values: a vector type is declared once, and each operation once, with its meaning in numpy.

With NUMBA_DISABLE_JIT=1 an operation *is* its numpy meaning, and the same kernels run as plain Python. Vectors have 16
lanes on every machine; LLVM lowers them to one, two or four registers. Nothing here may depend on how many. `x + y` and
the like stand for one operation of IEEE 754 a lane, of two vectors or of a vector and a number in all lanes.
"""

import ctypes
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import config, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, register_model
from numpy.typing import NDArray

JIT = not config.DISABLE_JIT  # type: ignore[attr-defined]
LANES = 16
binding.initialize_native_asmparser()  # for instructions that are called by their names
LLVM_VERSION = ".".join(map(str, binding.llvm_version_info))

# Types of the arguments of kernels, for the type checker. A vector is Any: as plain Python it is an array.
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
I8 = NDArray[np.int8]
Lanes = Any
Float = Any  # a float32 value
Integer = Any  # of Python or of numpy

if not JIT:
    np.seterr(over="ignore", invalid="ignore", divide="ignore")  # a register says nothing of infinities or NaN either


class Vector(types.Type):
    """A register of `lanes` values of one numpy type."""

    def __init__(self, name: str, scalar: Any, lanes: int) -> None:
        self.scalar, self.lanes = scalar, lanes
        element = ir.FloatType() if scalar == types.float32 else ir.IntType(scalar.bitwidth)
        self.llvm = ir.VectorType(element, lanes)
        super().__init__(name=name)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, kind.llvm)


f32x16, i32x16 = Vector("f32x16", types.float32, 16), Vector("i32x16", types.int32, 16)
F32X16, I32X16, I16X32, I8X64 = f32x16.llvm, i32x16.llvm, *(ir.VectorType(ir.IntType(n), 512 // n) for n in (16, 8))


def all_f32(value: Any) -> Any:
    """LLVM's vector of one float32."""
    return ir.Constant(F32X16, [float(value)] * LANES)


def all_i32(value: int) -> Any:
    """LLVM's vector of one integer."""
    return ir.Constant(I32X16, [value] * LANES)


def all_i16(value: int) -> Any:
    """LLVM's vector of one integer of 16 bits."""
    return ir.Constant(I16X32, [value] * 2 * LANES)


def chosen(b: Any, x: Any, y: Any, lanes: Any) -> Any:
    """These lanes of x and, after them, y."""
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))


def emit_splat(b: Any, value: Any) -> Any:
    """A number in all lanes."""
    kind = ir.VectorType(value.type, LANES)
    one = b.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return chosen(b, one, one, [0] * LANES)


def emit_call(b: Any, *arguments: Any, name: str, result: Any) -> Any:
    """Call one of LLVM's own functions."""
    kind = ir.FunctionType(result, [each.type for each in arguments])
    return b.call(cgutils.get_or_insert_function(b.module, kind, f"llvm.{name}"), arguments)


def emit_instruction(b: Any, code: str, result: Any, *values: Any, in_order: bool = False) -> Any:
    """An instruction by its name, which writes to the first of its values; with `in_order` it stays where it is
    written."""
    kind = ir.FunctionType(result, [each.type for each in values])
    return b.asm(kind, code, "=v,0" + ",v" * (len(values) - 1), values, in_order)


def operation(kind: Any, emit: Callable[..., Any], meaning: Callable[..., Any]) -> Any:
    """Declare an operation by numba's signature; `emit(builder, *values)` gives its LLVM value."""
    return _intrinsic(kind, emit) if JIT else meaning


def operation_on(emit: Callable[..., None], count: int, vectors: int = 0) -> Any:
    """An operation on `count` addresses and numbers, and then on vectors of int32, that gives nothing back."""
    return _intrinsic(types.void(*[types.intp] * count, *[i32x16] * vectors), emit)


def _intrinsic(kind: Any, emit: Callable[..., Any]) -> Any:
    """An intrinsic with as many arguments as the signature; numba wants to see them in a def."""

    def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        value = emit(builder, *values)
        return context.get_dummy_value() if sig.return_type == types.void else value

    names = ", ".join(f"a{i}" for i in range(len(kind.args)))
    scope: dict[str, Any] = {"signature": kind, "codegen": codegen}
    exec(f"def operation(typing, {names}): return signature, codegen", scope)
    return intrinsic(scope["operation"])


def operation_of(emit: Callable[..., None], count: int = 1) -> Any:
    """An operation on `count` arguments, each an address, a number or a named tuple of them, which are handed to `emit`
    one after another; it gives nothing back."""

    def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        flat = []
        for kind, value in zip(sig.args, values, strict=True):
            is_tuple = isinstance(kind, types.BaseTuple)
            parts = zip(kind, cgutils.unpack_tuple(builder, value), strict=True) if is_tuple else [(kind, value)]
            flat += [context.cast(builder, part, of, types.intp) for of, part in parts]
        emit(builder, *flat)
        return context.get_dummy_value()

    names = ", ".join(f"a{i}" for i in range(count))
    scope: dict[str, Any] = {"void": types.void, "codegen": codegen}
    exec(f"def operation(typing, {names}): return void({names}), codegen", scope)
    return intrinsic(scope["operation"])


def operation_on_array(signature_of: Callable[..., Any], emit: Callable[..., Any], meaning: Callable[..., Any]) -> Any:
    """An operation on array[i], and on a value if it has a third argument: `emit(builder, address, *values)`."""
    if not JIT:
        return meaning

    def typed(array: Any, *more: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            data = context.make_array(sig.args[0])(context, builder, values[0]).data
            value = emit(builder, builder.gep(data, [values[1]]), *values[2:])
            return context.get_dummy_value() if sig.return_type == types.void else value

        return signature_of(array), codegen

    if len(signature_of(types.float32[:]).args) == 2:
        return intrinsic(lambda typing, array, i: typed(array, i))
    return intrinsic(lambda typing, array, i, value: typed(array, i, value))


_OPERATORS = {
    operator.add: ("fadd", "add"), operator.sub: ("fsub", "sub"), operator.mul: ("fmul", "mul"),
    operator.truediv: ("fdiv", None),
}  # fmt: skip
"""An operator of Python -> LLVM's instruction for floats and for integers."""


def _declare_operator(of: Any, names: tuple[str, str | None]) -> None:
    @infer_global(of)
    class _OnVectors(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            """Vectors of one kind, or one of them and a number."""
            kinds = {each for each in args if isinstance(each, Vector)}
            if len(kinds) != 1 or not all(isinstance(each, Vector | types.Number) for each in args):
                return None
            return signature(kinds.pop(), *args)

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        vector = sig.return_type
        both = [
            value
            if isinstance(kind, Vector)
            else emit_splat(builder, context.cast(builder, value, kind, vector.scalar))
            for kind, value in zip(sig.args, values, strict=True)
        ]
        return getattr(builder, names[vector == i32x16])(*both)  # type: ignore[arg-type]

    for kinds in ((Vector, Vector), (Vector, types.Number), (types.Number, Vector)):
        lower_builtin(of, *kinds)(lower)


if JIT:
    for _operator, _names in _OPERATORS.items():
        _declare_operator(_operator, _names)


def const(value: int) -> Any:
    return ir.Constant(ir.IntType(64), value)


def pointer(b: Any, base: Any, offset: Any, kind: Any) -> Any:
    """A pointer to `kind` at byte address base + offset."""
    return b.inttoptr(b.add(base, offset), kind.as_pointer())


def emit_load(b: Any, base: Any, offset: Any = 0, kind: Any = F32X16) -> Any:
    """What lies at byte address base + offset."""
    return b.load(pointer(b, base, _wide(offset), kind), align=1)


def emit_store(b: Any, value: Any, base: Any, offset: Any = 0) -> None:
    """Store a value at byte address base + offset."""
    b.store(value, pointer(b, base, _wide(offset), value.type), align=1)


def _wide(value: Any) -> Any:
    return const(value) if isinstance(value, int) else value


def loop(b: Any, count: Any, starts: list[Any], body: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
    """for i in range(count), count >= 1, with values carried from one iteration to the next."""
    entry, again, done = b.block, b.append_basic_block("loop"), b.append_basic_block("done")
    b.branch(again)
    b.position_at_end(again)
    i = b.phi(ir.IntType(64))
    i.add_incoming(const(0), entry)
    carried = [b.phi(start.type) for start in starts]
    for phi, start in zip(carried, starts, strict=True):
        phi.add_incoming(start, entry)
    results = body(i, list(carried))
    following = b.add(i, const(1))
    i.add_incoming(following, b.block)
    for phi, value in zip(carried, results, strict=True):
        phi.add_incoming(value, b.block)
    b.cbranch(b.icmp_signed("<", following, count), again, done)
    b.position_at_end(done)
    return results


def switched(b: Any, value: Any, cases: Mapping[int, Callable[[], None]]) -> None:
    """Emits what is done for each of the values; the first of them is also for any other."""
    done = b.append_basic_block("done")
    blocks = [b.append_basic_block(f"case{case}") for case in cases]
    switch = b.switch(value, blocks[0])
    for (case, emit), block in zip(cases.items(), blocks, strict=True):
        switch.add_case(const(case), block)
        b.position_at_end(block)
        emit()
        b.branch(done)
    b.position_at_end(done)


def prefetch_line(b: Any, address: Any, offset: int, cache: int = 2, write: bool = False) -> None:
    """Ask for the cache line there to be brought near, into the first cache or the second; to be written."""
    facts = (ir.Constant(ir.IntType(32), v) for v in (int(write), 4 - cache, 1))
    place = pointer(b, address, const(offset), ir.IntType(8))
    emit_call(b, place, *facts, name="prefetch.p0", result=ir.VoidType())


def view(address: int, count: int, dtype: Any) -> Any:
    """`count` values at an address: what compiled code reads and writes there."""
    size = int(count) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(int(address)), dtype)
