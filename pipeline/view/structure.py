"""The structure of a parsed text: pages, headings, tables, lists and paragraphs, and in them what is marked.

The layout of the text says it (parse/README.md): blocks are separated by an empty line, cells of a table by " | ".
Headings and pages are what its parser found, where that is known. Every piece keeps its place in the text, so that what
a person selects on a page is a stretch of the text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from pipeline.document import Section
from pipeline.view.places import Place
from pipeline.view.unseen import Shown

_BLOCK = re.compile(r"[^\n]+(?:\n[^\n]+)*")
_LINE = re.compile(r"[^\n]+")
_CELL = " | "
_ITEM = re.compile(r"(?:[-\u2022*\u2013]|\(?\d{1,3}[.)]|\(?[a-z][.)]) \S")
_FEWEST = 2  # lines that make a table or a list
_DEEPEST = 4  # levels of headings that look different


class Piece(NamedTuple):
    """A stretch of text that is shown in one way: text[start:end], or hidden text that is not in the text (`end` is
    `start` then).

    `places`: the numbers of the evidence that it is part of; `begins` and `ends`: of that which begins with it, and
    ends with it. `hidden`: the way in which no person sees it.
    """

    text: str
    start: int
    end: int
    places: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    hidden: str | None = None


class Line(NamedTuple):
    """A line, or a row of a table; each of its cells is a list of pieces."""

    cells: tuple[tuple[Piece, ...], ...]


@dataclass(frozen=True)
class Block:
    """A block of a text. `kind`: "page" (which has no lines, but is `called` something), "heading", "table", "list" or
    "text"."""

    kind: str
    lines: tuple[Line, ...] = ()
    level: int = 0
    called: str = ""


@dataclass(frozen=True)
class Marked:
    """A text with what is marked in it."""

    text: str
    places: Sequence[Place] = ()
    shown: Sequence[Shown] = ()
    page_starts: Sequence[int] = ()
    sections: Sequence[Section] = ()


def blocks_of(marked: Marked, start: int, end: int) -> Iterator[Block]:
    """The blocks of text[start:end]."""
    cutter = _Cutter(marked, start, end)
    headings = {one.start: one.level for one in marked.sections if one.level > 0 and start <= one.start < end}
    parts = [one for one in _parts(marked) if start <= one[0] < end]
    for match in _BLOCK.finditer(marked.text, start, end):
        while parts and parts[0][0] <= match.start():
            yield Block("page", called=parts.pop(0)[1])
        lines = [line.span() for line in _LINE.finditer(marked.text, *match.span())]
        kinds = ["heading" if first in headings else _kind(marked.text[first:last]) for first, last in lines]
        while lines:
            kind, count = kinds[0], 1
            while count < len(lines) and kinds[count] == kind != "heading":
                count += 1
            some, lines, kinds = lines[:count], lines[count:], kinds[count:]
            if kind == "text" or (kind != "heading" and count < _FEWEST):
                yield Block("text", (Line((cutter.pieces(some[0][0], some[-1][1]),)),))
            else:
                level = min(headings[some[0][0]], _DEEPEST) if kind == "heading" else 0
                yield Block(kind, tuple(Line(cutter.cells(*span, bars=kind == "table")) for span in some), level)
    if rest := cutter.rest(end):
        yield Block("text", (Line((rest,)),))


def _parts(marked: Marked) -> list[tuple[int, str]]:
    """Where the pages, sheets, slides and parts of a mail begin, and what they are called."""
    named = {one.start: one for one in marked.sections if one.level == 0}
    paged = set(marked.page_starts)
    parts = [(start, one.title) for start, one in named.items() if start not in paged]
    for number, start in enumerate(marked.page_starts, 1):
        one = named.get(start)
        parts.append((start, f"{one.kind.capitalize()} {number}: {one.title}" if one else f"Page {number}"))
    return sorted(parts)


def _kind(line: str) -> str:
    if _CELL in line:
        return "table"
    return "list" if _ITEM.match(line) else "text"


class _Cutter:
    """Cuts a text into pieces from front to end: its calls come in the order of the text."""

    def __init__(self, marked: Marked, start: int, end: int) -> None:
        self._text = marked.text
        self._places = [one for one in marked.places if one.start < end and one.end > start]
        self._hidden = [one for one in marked.shown if one.at < end and one.end > start and one.end > one.at]
        extra = [one for one in marked.shown if one.at == one.end and start <= one.at <= end]
        self._extra = sorted(extra, key=lambda one: one.at)  # hidden pieces that are not in the text, still to be given
        self._told = set[int]()  # evidence whose beginning is there already

    def cells(self, start: int, end: int, *, bars: bool) -> tuple[tuple[Piece, ...], ...]:
        """The pieces of each cell of text[start:end], if there are `bars` between cells."""
        found = list[tuple[Piece, ...]]()
        while bars and (bar := self._text.find(_CELL, start, end)) >= 0:
            found.append(self.pieces(start, bar))
            start = bar + len(_CELL)
        return *found, self.pieces(start, end)

    def pieces(self, start: int, end: int) -> tuple[Piece, ...]:
        """The pieces of text[start:end]."""
        places = [one for one in self._places if one.start < end and one.end > start]
        hidden = [one for one in self._hidden if one.at < end and one.end > start]
        extra = self._before(end)
        cuts = {start, end, *(one.start for one in places), *(one.end for one in places)}
        cuts |= {*(one.at for one in hidden), *(one.end for one in hidden), *(one.at for one in extra)}
        found = list[Piece]()
        for first, last in pairwise(sorted(cut for cut in cuts if start <= cut <= end)):
            found += [_extra(one) for one in extra if one.at == first or one.at < start == first]
            numbers = tuple(one.number for one in places if one.start < last and one.end > first)
            begins = tuple(number for number in numbers if number not in self._told)
            self._told.update(begins)
            ends = tuple(one.number for one in places if one.end == last and one.start < last)
            kind = next((one.kind for one in hidden if one.at < last and one.end > first), None)
            found.append(Piece(self._text[first:last], first, last, numbers, begins, ends, kind))
        return tuple(found or map(_extra, extra))

    def rest(self, end: int) -> tuple[Piece, ...]:
        """The hidden pieces behind all that was cut."""
        return tuple(map(_extra, self._before(end + 1)))

    def _before(self, end: int) -> list[Shown]:
        """The hidden pieces that come before `end`, and were not given yet."""
        count = bisect_left(self._extra, end, key=lambda one: one.at)
        found, self._extra = self._extra[:count], self._extra[count:]
        return found


def _extra(one: Shown) -> Piece:
    return Piece(one.text, one.at, one.at, hidden=one.kind)
