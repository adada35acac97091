"""The structure of a parsed text: pages, headings, tables, lists and paragraphs, and in them what is marked.

The layout of the text says it (parse/README.md): blocks are separated by an empty line, cells of a table by " | ".
Headings and pages are what its parser found, where that is known. Every piece keeps its place in the text, so that what
a person selects on a page is a stretch of the text.
"""

import re
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
        yield from _in_block(cutter, lines, headings)
    if rest := cutter.rest(end):
        yield Block("text", (Line((rest,)),))


def _parts(marked: Marked) -> list[tuple[int, str]]:
    """Where the pages, sheets, slides and parts of a mail begin, and what they are called."""
    named = {one.start: one for one in marked.sections if one.level == 0}
    parts = [(start, _called(number, named.get(start))) for number, start in enumerate(marked.page_starts, 1)]
    paged = set(marked.page_starts)
    return sorted([*parts, *((start, one.title) for start, one in named.items() if start not in paged)])


def _called(number: int, section: Section | None) -> str:
    return f"Page {number}" if section is None else f"{section.kind.capitalize()} {number}: {section.title}"


def _in_block(cutter: "_Cutter", lines: Sequence[tuple[int, int]], headings: dict[int, int]) -> Iterator[Block]:
    """Divide the lines of a block into headings, tables, lists and text."""
    for kind, some in _runs(cutter.text, lines, headings):
        if kind == "heading":
            level = min(headings[some[0][0]], _DEEPEST)
            yield Block(kind, tuple(Line((cutter.pieces(*span),)) for span in some), level)
        elif kind == "table":
            yield Block(kind, tuple(Line(tuple(_cells(cutter, *span))) for span in some))
        elif kind == "list":
            yield Block(kind, tuple(Line((cutter.pieces(*span),)) for span in some))
        else:
            yield Block("text", (Line((cutter.pieces(some[0][0], some[-1][1]),)),))


def _runs(
    text: str, lines: Sequence[tuple[int, int]], headings: dict[int, int]
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Runs of lines of one kind; too few of one are text."""
    kinds = ["heading" if start in headings else _kind(text[start:end]) for start, end in lines]
    at = 0
    while at < len(lines):
        end = at + 1
        while end < len(lines) and kinds[end] == kinds[at] != "heading":
            end += 1
        few = end - at < _FEWEST and kinds[at] != "heading"
        yield "text" if few else kinds[at], list(lines[at:end])
        at = end


def _kind(line: str) -> str:
    if _CELL in line:
        return "table"
    return "list" if _ITEM.match(line) else "text"


def _cells(cutter: "_Cutter", start: int, end: int) -> Iterator[tuple[Piece, ...]]:
    while (bar := cutter.text.find(_CELL, start, end)) >= 0:
        yield cutter.pieces(start, bar)
        start = bar + len(_CELL)
    yield cutter.pieces(start, end)


class _Cutter:
    """Cuts a text into pieces from front to end: its calls come in the order of the text."""

    def __init__(self, marked: Marked, start: int, end: int) -> None:
        self.text = marked.text
        self._places = [one for one in marked.places if one.start < end and one.end > start]
        self._hidden = [one for one in marked.shown if one.at < end and one.end > start and one.end > one.at]
        extra = [one for one in marked.shown if one.at == one.end and start <= one.at <= end]
        self._extra = sorted(extra, key=lambda one: one.at)
        self._told = set[int]()  # evidence whose beginning is there already
        self._next = 0

    def pieces(self, start: int, end: int) -> tuple[Piece, ...]:
        """The pieces of text[start:end]."""
        places = [one for one in self._places if one.start < end and one.end > start]
        hidden = [one for one in self._hidden if one.at < end and one.end > start]
        cuts = {start, end}.union(*((one.start, one.end) for one in places), *((one.at, one.end) for one in hidden))
        extra = self._before(end)
        cuts.update(one.at for one in extra)
        edges = sorted(cut for cut in cuts if start <= cut <= end)
        found = list[Piece]()
        for first, last in pairwise(edges):
            found += [_extra(one) for one in extra if one.at == first or one.at < start == first]
            found.append(self._piece(first, last, places, hidden))
        return tuple(found or map(_extra, extra))

    def rest(self, end: int) -> tuple[Piece, ...]:
        """The hidden pieces behind all that was cut."""
        return tuple(_extra(one) for one in self._before(end + 1))

    def _before(self, end: int) -> list[Shown]:
        """The hidden pieces that come before `end`, and were not given yet."""
        first = self._next
        while self._next < len(self._extra) and self._extra[self._next].at < end:
            self._next += 1
        return self._extra[first : self._next]

    def _piece(self, start: int, end: int, places: Sequence[Place], hidden: Sequence[Shown]) -> Piece:
        numbers = tuple(one.number for one in places if one.start < end and one.end > start)
        begins = tuple(number for number in numbers if number not in self._told)
        self._told.update(begins)
        kind = next((one.kind for one in hidden if one.at < end and one.end > start), None)
        ends = tuple(one.number for one in places if one.end == end and one.start < end)
        return Piece(self.text[start:end], start, end, numbers, begins, ends, kind)


def _extra(one: Shown) -> Piece:
    return Piece(one.text, one.at, one.at, hidden=one.kind)
