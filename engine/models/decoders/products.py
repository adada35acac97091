"""Products by a team of threads with the matrices of an arena, which take their rows in several forms."""

from typing import Any

import numpy as np

from engine.kernels.compiled import kernel
from engine.kernels.matmul.arena import KIND, K
from engine.kernels.matmul.arguments import Matrices, Target
from engine.kernels.matmul.arguments import Team as Member
from engine.kernels.matmul.decoder import form, product, take
from engine.simd import F32, I8, I64

Model = tuple[I8, F32, I64, F32]  # codes, floats and table of an arena; gains of norms
Scratch = tuple[Any, ...]
FIRST, SECOND, THIRD = np.int64(0), np.int64(1), np.int64(2)
"""Slots, and the first column: for Python's numbers numba would compile everything once more (see matmul.PLAIN)."""
Team = tuple[I64, int, int]  # counters, this thread, how many there are


@kernel
def bring(team: Team, x: F32, count: int, model: Model, first: int, end: int, scratch: Scratch) -> None:
    """This thread's share of x[count, k] as the left operand of the matrices first..end; a barrier
    makes it whole."""
    counters, thread, threads = team
    table = model[2]
    done = 0
    for row in range(first, end):
        which = 1 << form(table[row, KIND])
        if not done & which:
            take(Member(counters, thread, threads), x, count, table[row, K], table[row, KIND], scratch)
        done |= which


@kernel
def times(
    team: Team, slot: int, count: int, model: Model, row: int, mode: int, out: F32, width: int, column: int,
    scratch: Scratch,
) -> None:  # fmt: skip
    """What was brought times a matrix: `count` rows of out [tokens, width] from `column` on; a barrier makes it whole,
    and between two of them each product has a slot of its own."""
    counters, thread, threads = team
    codes, floats, table, _ = model
    target = Target(out, width, column, mode)
    product(Member(counters, thread, threads), slot, count, Matrices(codes, floats, table), row, target, scratch)
