"""Text that knows which of its characters a template wrote itself; all others are content.

A plain string is content. What is not followed here (any method that is not below) gives a plain string, so a mark can
be lost and never gained: no content is ever taken for a template's text.
"""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import SupportsIndex

from engine.tokenizer.prompts import Piece


class Marked(str):
    """A string with the pieces it is made of; by itself it is content."""

    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        return self

    def __add__(self, other: str) -> str:
        return glue([self, other])

    def __radd__(self, other: str) -> str:
        return glue([other, self])

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        if not isinstance(key, slice):
            at = range(len(self))[key]
            return _part(self, at, at + 1)
        start, stop, step = key.indices(len(self))
        return _part(self, start, stop) if step == 1 else str.__getitem__(self, key)

    def strip(self, chars: str | None = None) -> str:
        left = len(self) - len(str.lstrip(self, chars))
        return _part(self, left, left + len(str.strip(self, chars)))

    def lstrip(self, chars: str | None = None) -> str:
        return _part(self, len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self, chars: str | None = None) -> str:
        return _part(self, 0, len(str.rstrip(self, chars)))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        found, at = [], 0
        for text in str.split(self, sep, maxsplit):
            at = str.find(self, text, at) if sep is None else at
            found.append(_part(self, at, at + len(text)))
            at += len(text) + len(sep or "")
        return found

    def replace(self, old: str, new: str, count: SupportsIndex = -1) -> str:
        return glue(between(self.split(old, count), new)) if old else str.replace(self, old, new, count)

    def join(self, values: Iterable[str], /) -> str:
        return glue(between(list(values), self))

    def lower(self) -> str:
        return self._with(str.lower(self))

    def upper(self) -> str:
        return self._with(str.upper(self))

    def capitalize(self) -> str:
        return self._with(str.capitalize(self))

    def title(self) -> str:
        return self._with(str.title(self))

    def _with(self, text: str) -> str:
        """Other characters of the same kinds, one for one, else a plain string."""
        if len(text) != len(self):
            return text
        at, made = 0, []
        for piece in pieces_of(self):
            end = at + len(piece.text)
            made.append(text[at:end] if piece.is_content else written(text[at:end]))
            at = end
        return glue(made)


def written(text: str) -> str:
    """Text that a template wrote itself."""
    return _marked(text, (Piece(text, False),))


def pieces_of(text: str) -> tuple[Piece, ...]:
    return getattr(text, "pieces", (Piece(text, True),))


def glue(texts: Iterable[str]) -> str:
    """The texts, one after another, each with its marks; plain where none has one."""
    parts = [piece for text in texts for piece in pieces_of(text) if piece.text]
    joined = [
        Piece("".join([piece.text for piece in run]), is_content)
        for is_content, run in groupby(parts, key=attrgetter("is_content"))
    ]
    whole = "".join([piece.text for piece in joined])
    return _marked(whole, tuple(joined)) if any(not piece.is_content for piece in joined) else whole


def between(texts: list[str], separator: str) -> list[str]:
    """The texts with the separator between them."""
    return [item for text in texts for item in (separator, text)][1:]


def _marked(text: str, pieces: tuple[Piece, ...]) -> Marked:
    made = Marked(text)
    made.pieces = pieces
    return made


def _part(text: Marked, start: int, stop: int) -> str:
    at, found = 0, []
    for piece in pieces_of(text):
        kept = piece.text[max(start - at, 0) : max(stop - at, 0)]
        found.append(kept if piece.is_content else written(kept))
        at += len(piece.text)
    return glue(found)
