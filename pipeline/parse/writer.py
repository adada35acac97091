"""How parsed text is laid out, the same for every format.

Lines end in "\\n"; blocks (headings, runs of paragraphs, tables) are separated by an empty line; a table row is one
line with " | " between its cells; a page, slide or sheet begins a block.
"""

import re
from collections.abc import Iterable

from pipeline.errors import DocumentError, Failure

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Invisible and no part of the text: other controls, the soft hyphen, byte order marks, what is no character at all.
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\ufeff\ufff9-\ufffb\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_WHITE = re.compile(r"\s+")
CELL = " | "
_LAYOUT = 1000  # characters of a cell from which on a table is taken for a means of layout


def clean(text: str) -> str:
    """The text with "\\n" at line ends, without invisible characters, and valid Unicode."""
    return _INVISIBLE.sub("", _SURROGATES.sub("\ufffd", _LINE_ENDS.sub("\n", text)))


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    return _WHITE.sub(" ", text).strip()


class TextWriter:
    """The growing text of a document, of at most `limit` characters; beyond that, DocumentError(TOO_LARGE)."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[str] = []
        self.length = 0
        self._separator = ""
        self._starts: list[int] = []
        self._opened = 0  # pages begun that have no text yet

    def page(self) -> None:
        """Begin a page."""
        self.gap()
        self._opened += 1

    def gap(self) -> None:
        """An empty line before what comes next."""
        if self._parts:
            self._separator = "\n\n"

    def line(self, text: str) -> None:
        """A line, or several; nothing but white space is no line."""
        text = clean(text)
        if not text or text.isspace():
            return
        text = text.strip("\n")
        self._put(self._separator)
        self._starts += [self.length] * self._opened
        self._opened = 0
        self._put(text)
        self._separator = "\n"

    def block(self, text: str) -> None:
        """Lines with an empty line before and after them."""
        self.gap()
        self.line(text)
        self.gap()

    def row(self, cells: Iterable[str]) -> None:
        """A row of a table; cells at its end that are empty are left out."""
        line = [one_line(clean(cell)) for cell in cells]
        while line and not line[-1]:
            line.pop()
        self.line(CELL.join(line))

    def cells(self, cells: list[str]) -> None:
        """A row whose cells may hold blocks; where one is a page of text or an inner table, they follow one another."""
        if any(CELL in cell or len(cell) > _LAYOUT for cell in cells):
            for cell in cells:
                self.block(cell)
        else:
            self.row(cells)

    def inner(self) -> "TextWriter":
        """A writer of its own for a part that this one will take up, with the limit that is left."""
        return TextWriter(self._limit - self.length)

    def finish(self) -> tuple[str, tuple[int, ...]]:
        """The text and the offset of each page; pages without text at the end begin where the text ends."""
        self._starts += [self.length] * self._opened
        self._opened = 0
        return "".join(self._parts), tuple(self._starts)

    def _put(self, text: str) -> None:
        self.length += len(text)
        if self.length > self._limit:
            raise DocumentError(Failure.TOO_LARGE, f"its text is longer than {self._limit:,} characters")
        self._parts.append(text)
