"""A decoder's matrices and left operands, as compiled code takes them."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.kernels.matmul import ADD, Target
from engine.kernels.matmul.arena import BIAS, FLOATS, GROUP, KIND, QUANTS_AT, STEP, K, N
from engine.kernels.rows import place
from engine.simd import F32, I8, I32, I64, Integer, Lanes, load_f32, store_f32
from engine.simd.compiled import kernel


class Matrices(NamedTuple):
    """The arrays of an `arena.Arena`: all quants, all scales and biases, and a row of facts for each matrix."""

    quants: I8
    floats: F32
    table: I64


class Matrix(NamedTuple):
    """One of them, from its first value on: quants; scales, or float32 weights; the bias; the kind of quants; n and k,
    padded; values of k that share a scale; bytes of CHUNK values of a block of columns."""

    quants: I8
    floats: F32
    bias: F32
    kind: Integer
    n: Integer
    k: Integer
    group: Integer
    step: Integer


class Scratch(NamedTuple):
    """Memory that products need, for all threads of a team together (`decoder.new_scratch`)."""

    quants: I8  # rows as integers of 16 bits
    scales: F32  # one for each of these rows
    floats: F32  # rows as float32, one after another
    quantized: I8  # [2, bytes]: rows of quantized activations, with scales for halves, and with scales for super-blocks
    totals: F32  # [threads, totals]
    panel: I8  # [threads, bytes]: columns as tiles of AMX
    sums: I32  # [threads, sums]


class Operand(NamedTuple):
    """Rows as left operands, in the forms that matrices need; and a thread's own totals, panel and sums."""

    quants: I8
    scales: F32
    floats: F32
    quantized: I8
    rows: Integer
    totals: F32
    panel: I8
    sums: I32


@kernel
def matrix_of(matrices: Matrices, number: int) -> Matrix:
    facts, floats = matrices.table[number], matrices.floats
    return Matrix(
        matrices.quants[facts[QUANTS_AT] :], floats[facts[FLOATS] :], floats[facts[BIAS] :], facts[KIND], facts[N],
        facts[K], facts[GROUP], facts[STEP],
    )  # fmt: skip


@kernel
def tile_rows(count: int, most: int, sizes: Sequence[int]) -> int:
    """Rows of the next tile of so many that are left, so that those of all tiles, each of up to `most`, are about as
    many."""
    tiles = (count + most - 1) // most
    for size in sizes:
        if tiles * size >= count:
            return size
    return most


@kernel
def put(y: Lanes, target: Target, row: int, column: int) -> None:
    """Sixteen values of a product, stored in the target or added to it."""
    to = place(row, target.column + column, target.width)
    store_f32(target.out, to, load_f32(target.out, to) + y if target.mode == ADD else y)


@kernel
def put_block(totals: F32, r: int, target: Target, row: int, column: int) -> None:
    """Row r of totals [rows][32], as `row` of the target."""
    put(load_f32(totals, 32 * r), target, row, column)
    put(load_f32(totals, 32 * r + 16), target, row, column + 16)
