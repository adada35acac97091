"""Sixteen rows of sixteen int32 to columns."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.simd.address import const, pointer, view
from engine.simd.vector import JIT, LANES

_I32 = ir.IntType(32)
_FOUR, _ALL = ir.VectorType(_I32, 4), ir.VectorType(_I32, LANES)


def chosen(b: Any, x: Any, y: Any, lanes: list[int]) -> Any:
    """These lanes of x and, after them, y."""
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(_I32, len(lanes)), lanes))


def interleaved(b: Any, x: Any, y: Any, size: int) -> tuple[Any, Any]:
    """Interleave every four lanes: turns of `size` lanes from the lower halves of x and y, and from the upper ones."""
    turns = [source + i for at in range(0, 2, size) for source in (0, LANES) for i in range(at, at + size)]
    low, high = (chosen(b, x, y, [at + i for at in range(half, LANES, 4) for i in turns]) for half in (0, 2))
    return low, high


def emit_transposed(b: Any, source: Any, step: Any, offset: int) -> list[Any]:
    """Four columns of 16 rows that lie `step` bytes apart, from an offset in the first row on."""
    rows = []
    for r in range(4):  # four columns of the rows r, r + 4, r + 8 and r + 12, which loads put together
        parts = [
            b.load(pointer(b, b.add(source, b.mul(step, const(r + i))), const(offset), _FOUR), align=1)
            for i in range(0, LANES, 4)
        ]
        low, high = (chosen(b, parts[i], parts[i + 1], list(range(8))) for i in (0, 2))
        rows.append(chosen(b, low, high, list(range(LANES))))
    pairs = zip(interleaved(b, rows[0], rows[1], 1), interleaved(b, rows[2], rows[3], 1), strict=True)
    return [value for x, y in pairs for value in interleaved(b, x, y, 2)]


def _emit(b: Any, source: Any, step: Any, target: Any) -> None:
    for column in range(0, LANES, 4):
        for i, value in enumerate(emit_transposed(b, source, step, 4 * column)):
            b.store(value, pointer(b, target, const(64 * (column + i)), _ALL), align=1)


def _transpose() -> Any:
    if not JIT:

        def meaning(source: int, step: int, target: int) -> None:
            rows = np.array([view(source + r * step, LANES, np.int32) for r in range(LANES)])
            view(target, LANES * LANES, np.int32)[:] = rows.T.reshape(-1)

        return meaning

    @intrinsic
    def transpose(typing: Any, source: Any, step: Any, target: Any) -> Any:
        def codegen(context: Any, b: Any, sig: Any, args: Any) -> Any:
            _emit(b, *args)
            return context.get_dummy_value()

        return types.void(types.intp, types.intp, types.intp), codegen

    return transpose


transpose = _transpose()
"""transpose(source, step, target): rows of 64 bytes that lie `step` bytes apart, from address `source` on, become the
columns of 16 rows one after another from `target` on."""
