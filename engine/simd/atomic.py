"""Counters that several threads share: integers in an int64 array, read and changed by one thread at a time."""

import os
import threading
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.simd.vector import JIT

_I64, _LOCK = types.int64, threading.Lock()


def _place(context: Any, b: Any, kind: Any, array: Any, i: Any) -> Any:
    return b.gep(context.make_array(kind)(context, b, array).data, [i])


def _atomic_add() -> Any:
    if not JIT:

        def meaning(array: Any, i: int, value: int) -> int:
            with _LOCK:
                before = int(array[i])
                array[i] = before + value
                return before

        return meaning

    @intrinsic
    def add(typing: Any, array: Any, i: Any, value: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            return b.atomic_rmw("add", _place(context, b, sig.args[0], args[0], args[1]), args[2], "seq_cst")

        return _I64(array, types.intp, _I64), codegen

    return add


def _atomic_load() -> Any:
    if not JIT:
        return lambda array, i: int(array[i])

    @intrinsic
    def load(typing: Any, array: Any, i: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            return b.load_atomic(_place(context, b, sig.args[0], args[0], args[1]), "acquire", 8)

        return _I64(array, types.intp), codegen

    return load


def _atomic_store() -> Any:
    if not JIT:

        def meaning(array: Any, i: int, value: int) -> None:
            with _LOCK:
                array[i] = value

        return meaning

    @intrinsic
    def store(typing: Any, array: Any, i: Any, value: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            b.store_atomic(args[2], _place(context, b, sig.args[0], args[0], args[1]), "release", 8)
            return context.get_dummy_value()

        return types.void(array, types.intp, _I64), codegen

    return store


def _pause() -> Any:
    if not JIT:
        return lambda: None

    @intrinsic
    def pause(typing: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [])
            b.call(cgutils.get_or_insert_function(b.module, kind, "llvm.x86.sse2.pause"), [])
            return context.get_dummy_value()

        return types.void(), codegen

    return pause


def _give_way() -> Any:
    if not JIT:
        return os.sched_yield

    @intrinsic
    def give_way(typing: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            kind = ir.FunctionType(ir.IntType(32), [])
            b.call(cgutils.get_or_insert_function(b.module, kind, "sched_yield"), [])
            return context.get_dummy_value()

        return types.void(), codegen

    return give_way


atomic_add = _atomic_add()
"""atomic_add(array, i, value): array[i] += value; what was there before."""
atomic_load, atomic_store = _atomic_load(), _atomic_store()
"""atomic_load(array, i), atomic_store(array, i, value): what was written before a store is seen after a load of it."""
pause, give_way = _pause(), _give_way()
"""A moment within a loop that waits; and the rest of the thread's time slice, for other threads (sched_yield)."""
