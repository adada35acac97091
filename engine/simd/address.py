"""Memory by address, loops and cases, as LLVM code; and what lies at an address, as numpy."""

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

_I8, _I64 = ir.IntType(8), ir.IntType(64)


def const(value: int) -> Any:
    return ir.Constant(_I64, value)


def pointer(b: Any, base: Any, offset: Any, kind: Any) -> Any:
    """A pointer to `kind` at byte address base + offset."""
    return b.inttoptr(b.add(base, offset), kind.as_pointer())


def loop(b: Any, count: Any, starts: list[Any], body: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
    """for i in range(count), count >= 1, with values carried from one iteration to the next."""
    entry, again, done = b.block, b.append_basic_block("loop"), b.append_basic_block("done")
    b.branch(again)
    b.position_at_end(again)
    i = b.phi(_I64)
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
    kinds = [_I8.as_pointer(), *[ir.IntType(32)] * 3]
    fetch = cgutils.get_or_insert_function(b.module, ir.FunctionType(ir.VoidType(), kinds), "llvm.prefetch.p0")
    facts = [ir.Constant(kinds[1], v) for v in (int(write), 4 - cache, 1)]
    b.call(fetch, [pointer(b, address, const(offset), _I8), *facts])


def view(address: int, count: int, dtype: Any) -> Any:
    """`count` values at an address: what compiled code reads and writes there."""
    size = int(count) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(int(address)), dtype)
