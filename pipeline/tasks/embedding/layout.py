"""The lines of a text, and what stands beside a value in them: words before and after, the line above, the column."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from pipeline.document import Parsed, Span

_WORD = re.compile(r"[^\W_]+")
_CELL = " | "
_WAY = re.compile(  # the way to a value of JSON, before it: a.b[3]:
    r"^(?:\[\d+\]|[^\s.:\[\]][^\n.:\[\]]*)(?:\.[^\n.:\[\]]+|\[\d+\])*:(?= )", re.MULTILINE
)
_WITH_WAYS = frozenset(("application/json", "application/x-ndjson"))
REACH: Final = 80  # characters that are looked at on either side of a value
HEADING: Final = 60  # characters: a longer line is no label of the line below it


@dataclass(frozen=True)
class Surroundings:
    """Words around a value, in lower case: `before` and `after` it in its passage, the nearest first; `above` it.

    `cues` are those of the value itself, as if they stood beside it."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    above: tuple[str, ...]
    cues: tuple[str, ...] = ()


def words(text: str) -> tuple[str, ...]:
    """The words and numbers of a text in lower case."""
    return tuple(word.lower() for word in _WORD.findall(text))


def written_labels(document: Parsed) -> list[Span]:
    """The labels that the parser wrote and the document does not have: in JSON the way to each value."""
    if document.media_type not in _WITH_WAYS:
        return []
    return [Span(*match.span()) for match in _WAY.finditer(document.text)]


class Layout:
    """The lines of one text; rows of a table are lines with cells separated by " | " that follow one another."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._heads: list[int] = []  # for each line, the first row of its table, or -1
        for index in range(len(self._starts)):
            row = _CELL in self._line(index)
            self._heads.append((self._heads[-1] if index and self._heads[-1] >= 0 else index) if row else -1)

    def around(self, start: int, end: int, passage: Span) -> Surroundings:
        """Give the words around text[start:end] in its passage, and above it.

        Above is the head of its column in a table, or a short line above where the value begins its line; of the first
        and last of several values in a line below words alone, the first and last two of these.
        """
        index = bisect_right(self._starts, start) - 1
        floor = self._starts[index] if self._heads_above(index) else passage.start
        before = words(self._text[max(floor, start - REACH) : start])[::-1]
        after = words(self._text[end : min(passage.end, end + REACH)])
        return Surroundings(before, after, self._above(start, end))

    def _above(self, start: int, end: int) -> tuple[str, ...]:
        index = bisect_right(self._starts, start) - 1
        head = self._heads[index]
        if head >= 0:
            cells = self._line(head).split(_CELL)
            column = self._text.count(_CELL, self._starts[index], start)
            return words(cells[column]) if head < index and column < len(cells) else ()
        begins = not words(self._text[max(self._starts[index], start - REACH) : start])
        if heads := self._heads_above(index):
            ends = not self._text[end : self._starts[index] + len(self._line(index))].strip()
            return heads[:2] if begins else heads[-2:] if ends else ()
        return self._line_above(index) if begins else ()

    def _heads_above(self, index: int) -> tuple[str, ...]:
        """The words of the line above, if it has words alone, and this line several values alone: heads of columns."""
        line, above = self._line(index).split(), self._line(index - 1) if index else ""
        values = len(line) > 1 and all(any(map(str.isdigit, token)) for token in line)
        named = values and len(above) <= HEADING and not any(map(str.isdigit, above)) and ":" not in above
        return words(above) if named else ()

    def _line_above(self, index: int) -> tuple[str, ...]:
        """The words of the nearest line above, over at most one blank line, unless it is long."""
        for above in range(index - 1, max(-1, index - 3), -1):
            line = self._line(above)
            if found := words(line[: HEADING + 1]):
                return found if len(line) <= HEADING else ()
        return ()

    def _line(self, index: int) -> str:
        end = self._starts[index + 1] - 1 if index + 1 < len(self._starts) else len(self._text)
        return self._text[self._starts[index] : end]
