"""Texts to ids by compiled code: the tables that engine/kernels/text/pairs.py asks for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from engine.kernels.text.pairs import NONE, Ids, Pairs, Pieces, Rules, encode, find_pairs, insert_pairs, insert_pieces
from engine.kernels.text.splits import HEAD, KEPT, LETTER, NUMBER, PUNCTUATION, SPACE, TAIL
from engine.simd import I8, I32
from engine.tokenizer.unicode import classes as unicode
from engine.tokenizer.unicode import tables
from engine.tokenizer.unicode.codepoints import Ranges

CODE_POINTS = 0x110000

_NO_IDS: I32 = np.empty(0, np.int32)


@dataclass(frozen=True)
class Split:
    """How texts are cut (kernels/text/splits.py)."""

    family: int
    digits: int = 0
    endings: bool = False


class PairEncoder:
    """Texts to ids. One instance may be used by several threads at once."""

    def __init__(
        self, split: Split, classes: I8, pairs: Sequence[I32], *, bytes_ids: Sequence[int], symbols: I32 = _NO_IDS,
        extra: Sequence[int] = (), whole: Pieces | None = None, unknown: int = NONE, size: int = 0,
    ) -> None:  # fmt: skip
        """pairs: left, right, rank and merged, int32 [n] each; the rest as in kernels/text/pairs.py."""
        places = 1 << max(4, (2 * len(pairs[0])).bit_length())
        table = Pairs(np.full(places, NONE, np.int64), np.zeros(places, np.int64))
        insert_pairs(*pairs, table)
        rules = Rules(split.family, split.digits, split.endings, unknown, size)
        known = Ids(symbols, np.array(extra, np.int32), np.array(bytes_ids, np.int32))
        self._tables = (classes, *map(tuple, (rules, known, table, whole or piece_table(_NO_IDS, {}))))

    def encode(self, text: str) -> bytes:
        """The ids of a text without lone surrogates, int32 each."""
        raw = text.encode("utf-32-le")
        codes = np.frombuffer(bytearray(raw), np.int32)
        n = len(raw)  # of at most four bytes a character
        room = np.empty(n, np.int32), np.empty(3 * n, np.int32), np.empty(3 * n + 1, np.int64)
        out = np.empty(n, np.int32)
        count = encode(codes, *self._tables, room, out)
        return out[:count].tobytes()


@cache
def classes() -> I8:
    """The class of each code point, a byte."""
    found: I8 = np.zeros(CODE_POINTS, np.int8)
    sets = {
        LETTER: unicode.LETTERS, NUMBER: unicode.NUMBERS, SPACE: unicode.WHITE_SPACE,
        HEAD: unicode.HEADS, TAIL: unicode.TAILS, PUNCTUATION: tables.PUNCTUATION,
    }  # fmt: skip
    for bit, table in sets.items():
        for first, last in Ranges(table).spans:
            found[first : last + 1] |= bit
    return found


def classes_of_words(kept: Iterable[str]) -> I8:
    """int8 [code points] for SentencePiece: KEPT for characters after which a space does not end a word."""
    found: I8 = np.zeros(CODE_POINTS, np.int8)
    found[[ord(c) for c in kept]] = KEPT
    return found


def piece_table(values: I32, ids: Mapping[str, int]) -> Pieces:
    """The table of pieces, of which `values` are the characters one after another."""
    starts = np.cumsum([0, *map(len, ids)], dtype=np.int32)
    slots = np.full(1 << (2 * len(ids)).bit_length() if ids else 0, NONE, np.int32)
    pieces = Pieces(values, starts, slots, np.array(list(ids.values()), np.int32))
    if ids:
        insert_pieces(pieces)
    return pieces


def pairs_of_pieces(ids: Mapping[str, int], ranks: I32, symbols: I32) -> tuple[I32, I32, I32, I32]:
    """The left, right, rank and merged of all pairs that are a piece together; `ranks` follow the pieces' order."""
    pieces = piece_table(code_points(ids), ids)
    lefts, rights, merged = (np.empty(pieces.blob.size, np.int32) for _ in range(3))
    count = find_pairs(pieces, symbols, lefts, rights, merged)
    places = merged[:count]
    return lefts[:count], rights[:count], ranks[places], pieces.numbers[places]


def code_points(texts: Iterable[str]) -> I32:
    """int32: the code points of all texts, one after another; lone surrogates stay, as damaged files may have them."""
    return np.frombuffer(bytearray("".join(texts).encode("utf-32-le", "surrogatepass")), np.int32)
