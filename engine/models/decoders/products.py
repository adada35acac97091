"""Rows as the left operands of a decoder's matrices, which take them in several forms."""

import numpy as np

from engine.kernels.compiled import kernel
from engine.kernels.matmul.arena import KIND, K
from engine.kernels.matmul.arguments import Matrices, Scratch, Team
from engine.kernels.matmul.decoder import form, take
from engine.simd import F32

FIRST, SECOND, THIRD = np.int64(0), np.int64(1), np.int64(2)
"""Slots, and the first column: for Python's numbers numba would compile everything once more (see linear.PLAIN)."""


@kernel
def quantize(team: Team, x: F32, count: int, matrices: Matrices, first: int, end: int, scratch: Scratch) -> None:
    """This thread's share of x[count, k] as the left operand of the matrices first..end; a barrier makes it whole."""
    table, done = matrices.table, 0
    for row in range(first, end):
        which = 1 << form(table[row, KIND])
        if not done & which:
            take(team, x, count, table[row, K], table[row, KIND], scratch)
        done |= which
