"""Arguments of matrix products that travel together, as named tuples of arrays and numbers."""

from typing import NamedTuple

from engine.simd import F32, I8, I32, I64, Integer


class Team(NamedTuple):
    """A thread of a team: the counters of all, its number, and how many threads there are."""

    counters: I64
    thread: Integer
    threads: Integer


class Matrices(NamedTuple):
    """The arrays of an `arena.Arena`: all quants, all scales and biases, and a row of facts for each matrix."""

    quants: I8
    floats: F32
    table: I64


class Target(NamedTuple):
    """The place of a product: the columns from `column` on of out[tokens, width], in tiles (`places.py`), and the mode,
    which says what becomes of sums there (`codegen/group_tile.py`)."""

    out: F32
    width: Integer
    column: Integer
    mode: Integer


class Scratch(NamedTuple):
    """Memory that a decoder's products need, for all threads of a team together (`decoder.coded_scratch`)."""

    quants: I8  # rows as integers of 16 bits
    scales: F32  # one for each of these rows
    lined: F32  # rows as float32, one after another
    totals: F32  # [threads, totals]
    panel: I8  # [threads, bytes]: columns as tiles of AMX
    sums: I32  # [threads, sums]
    quantized: I8  # [2, bytes]: rows of quantized activations, with scales for halves, and with scales for super-blocks
