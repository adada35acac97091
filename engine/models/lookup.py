"""The first step of every encoder: rows of tables for a token, its position and the text of a pair that it is of."""

from typing import NamedTuple

import numpy as np

from engine.gguf import GgufFile
from engine.kernels.compiled import kernel
from engine.kernels.places import place
from engine.models.stored import Arrays
from engine.models.weights import Axis, expect, read_rows
from engine.simd import F32, I32, I64, LANES, add, fetch, load_f32, store_f32


class Tokens(NamedTuple):
    """The tokens of all sequences, one after another: ids, the text of a pair that each is of, and where sequences
    begin, [sequences + 1]."""

    ids: I32
    kinds: I32
    starts: I64


class Tables(NamedTuple):
    """Vectors of tokens, positions and kinds; the latter two may be empty."""

    tokens: F32
    positions: F32
    kinds: F32


_KINDS = 2  # a pair has no more texts
_AHEAD = 4  # tokens whose rows are fetched before they are read: the table is in no cache, and its order is random


def read_tables(file: GgufFile, axis: Axis, *, positions: int, kinds: bool) -> Arrays:
    """Tables for `look_up`: of all tokens, of so many positions (none: 0), and of kinds if the architecture has them;
    besides `inside`, 1 where a vector has values and 0 in its padding."""
    vocabulary = len(file.require("tokenizer.ggml.tokens", list))
    nothing = np.zeros(0, np.float32)
    tokens = read_rows(file, "token_embd.weight", vocabulary, axis)
    of_positions = read_rows(file, "position_embd.weight", positions, axis) if positions else nothing
    of_kinds = nothing
    if kinds:
        count = expect(file, "token_types.weight", (None, axis.size)).shape[0]
        of_kinds = read_rows(file, "token_types.weight", count, axis)[: _KINDS * axis.padded]
    inside = np.zeros(axis.padded, np.float32)
    inside[axis.at] = 1
    return {"inside": inside, "tokens": tokens, "positions": of_positions, "kinds": of_kinds}


@kernel
def look_up(text: Tokens, tables: Tables, width: int, x: F32) -> None:
    """x[tokens, width] = the row of the token + (the row of its position + the row of its kind), as far as there are
    such tables."""
    tokens, positions, of_kinds = tables
    ids, kinds, starts = text
    for s in range(starts.size - 1):
        for t in range(starts[s], starts[s + 1]):
            if t + _AHEAD < ids.size:
                _fetch_row(tokens, ids[t + _AHEAD] * width, width)
            token, position, kind = ids[t] * width, (t - starts[s]) * width, kinds[t] * width
            for i in range(0, width, LANES):
                v = load_f32(tokens, token + i)
                if positions.size:
                    v = add(v, add(load_f32(positions, position + i), load_f32(of_kinds, kind + i)))
                elif of_kinds.size:
                    v = add(v, load_f32(of_kinds, kind + i))
                store_f32(x, place(t, i, width), v)


@kernel
def _fetch_row(table: F32, at: int, width: int) -> None:
    """Ask for the row that begins at table[at]: nothing changes."""
    address = np.int64(table.ctypes.data) + 4 * at
    for i in range(0, width, LANES):
        fetch(address + 4 * i)
