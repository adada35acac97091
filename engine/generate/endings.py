"""Stopping criteria beside the end token: a text of `Request.stop`, or a passage that is repeated too often.

Both are functions of the answer's tokens alone, so that nothing that runs beside it, no guess and no chunk can move the
place."""

from codecs import getincrementaldecoder
from collections.abc import Sequence
from typing import Final

import numpy as np

from engine.generate.constraint.spec import AnyObject, Schema
from engine.generate.request import Finish, Ids, Request

EVERY: Final = 8
"""Tokens from one look for a repetition to the next."""
LEAST: Final = 16
"""Tokens for which a shorter passage counts: a few words may stand in a row more often than a sentence."""
LONGEST: Final = 256
"""Tokens of a passage, at most."""
NUMBERS: Final = 4
"""How many times as often a passage of numbers alone may stand in a row: a list or a table may have many equal ones."""

_Decoder = getincrementaldecoder("utf-8")


class Endings:
    """The stopping criteria of one answer. `token_bytes`: the bytes that each id stands for."""

    def __init__(self, request: Request, token_bytes: Sequence[bytes]) -> None:
        self._bytes, self._times = token_bytes, request.repeats
        self._in_json = isinstance(request.constraint, Schema | AnyObject)
        self._stops = _Stops(request.stop) if request.stop else None

    def after(self, ids: Sequence[int]) -> Finish | None:
        """How the answer ends with the last of these tokens, if it does. To be asked after each token."""
        if self._stops and self._stops.found(self._bytes[ids[-1]]):
            return "stopped"
        if self._times and len(ids) % EVERY == 0 and (period := repeated(ids, self._times)):
            text = b"".join(self._bytes[number] for number in ids[-period:])
            too_often = not _is_numbers(text) or repeated(ids, NUMBERS * self._times)
            if too_often and (not self._in_json or _in_string(text)):
                return "repeated"
        return None


def repeated(ids: Sequence[int], times: int) -> int:
    """The tokens of the shortest passage that stands `times` times in a row at the end of ids, one of fewer than LEAST
    tokens as often as it takes to be as long as one of LEAST; 0 if there is none."""
    last, size = ids[-1], len(ids)
    for period in range(1, min(LONGEST, size // times) + 1):
        if ids[-1 - period] == last:
            tokens = times * max(period, LEAST)
            if tokens <= size and ids[size - tokens : size - period] == ids[size - tokens + period :]:
                return period
    return 0


def _is_numbers(text: bytes) -> bool:
    """Whether it has digits, and no letter."""
    characters = text.decode(errors="replace")
    return any(map(str.isdigit, characters)) and not any(map(str.isalpha, characters))


def _in_string(text: bytes) -> bool:
    """Whether this part of compact JSON is part of one string, and not of values that may well be equal: outside of
    strings there is neither white space nor anything beyond ASCII."""
    return b'"' not in text and (b" " in text or not text.isascii())


class _Stops:
    """Looks for texts in one that grows."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops, self._longest = stops, max(map(len, stops))
        self._decoder = _Decoder("replace")
        self._text, self._end = "", -1  # what may matter of the text, and where in it the answer ends, if it does

    def found(self, more: bytes) -> bool:
        """Whether the first of all places of the texts is known: none that may yet be completed begins before it."""
        self._text += self._decoder.decode(more)
        if self._end < 0:
            self._end = self._first()
            if self._end < 0:
                self._text = self._text[max(0, len(self._text) - self._longest + 1) :]
                return False
        self._end = min(self._end, self._first())
        return not any(self._may_be(at) for at in range(self._end))

    def _first(self) -> int:
        return min((at for at in map(self._text.find, self._stops) if at >= 0), default=-1)

    def _may_be(self, at: int) -> bool:
        return any(stop.startswith(self._text[at:]) for stop in self._stops)


def detokenize(ids: Sequence[int], token_bytes: Sequence[bytes]) -> tuple[str, Ids]:
    """Returns the text, and int32 [n, 2], the code points from and to which a token goes; a token that holds a part of
    a character's bytes goes to that character's end."""
    decoder, parts, offsets, at = _Decoder("replace"), [], [], 0
    for number in ids:
        part = decoder.decode(token_bytes[number])
        parts.append(part)
        unfinished = bool(decoder.getstate()[0])
        offsets.append((at, at + len(part) + unfinished))
        at += len(part)
    parts.append(decoder.decode(b"", True))
    return "".join(parts), np.array(offsets, np.int32).reshape(-1, 2)
