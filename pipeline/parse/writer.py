"""How parsed text is laid out, the same for every format.

Lines end in "\\n"; blocks (headings, runs of paragraphs, tables) are separated by an empty line; a table row is one
line with " | " between its cells; a page, slide or sheet begins a block.
"""

import re
from collections.abc import Callable, Iterable

from pipeline.document import Section
from pipeline.errors import DocumentError, Failure
from pipeline.parse.sight.characters import unusual
from pipeline.parse.sight.hidden import HiddenText
from pipeline.parse.sight.raised import marked
from pipeline.parse.sight.symbols import UNKNOWN_SIGN

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Invisible and no part of the text: other controls, the soft hyphen, byte order marks, what is no character at all.
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\ufeff\ufff9-\ufffb\ufffe\uffff]")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\x00-\x08\x0e-\x1f\x7f]+(?=\d)")  # where two numbers would become one
_SURROGATES = re.compile("[\ud800-\udfff]")
_WHITE = re.compile(r"\s+")
CELL = " | "
_TITLE = 200
_LAYOUT = 1000  # characters of a cell from which on a table is taken for a means of layout


def clean(text: str) -> str:
    """The text with "\\n" at line ends, without invisible characters, and valid Unicode."""
    if text.isprintable() or unusual(text).replace("\xa0", "").isprintable():
        return text  # as nearly all are
    return _INVISIBLE.sub("", _BETWEEN_DIGITS.sub("\ufffd", _SURROGATES.sub("\ufffd", _LINE_ENDS.sub("\n", text))))


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    if text.isprintable() and "  " not in text:
        return text.strip()  # as nearly all are
    return _WHITE.sub(" ", text).strip()


def title(text: str) -> str:
    """The name of a section: one line, not too long."""
    line = one_line(marked(clean(text))[0]).replace(UNKNOWN_SIGN, "\ufffd")
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


class TextWriter:
    """The growing text of a document, of at most `limit` characters; beyond that, DocumentError(TOO_LARGE)."""

    def __init__(self, limit: int, hidden: HiddenText, *, inner: bool = False, most: int | None = None) -> None:
        self._limit = limit
        self._most = limit if most is None else most  # of the whole document
        self._hidden = hidden
        self._is_inner = inner  # then invisible characters are counted when the outer one takes the text up
        self.sections: list[Section] = []
        self._parts: list[str] = []
        self.length = 0
        self._separator = ""
        self._starts: list[int] = []
        self._opened = 0  # pages begun that have no text yet
        self._titles: list[tuple[int, str, str]] = []  # level, kind and title of sections that have no text yet

    def page(self, title: str = "", kind: str = "page") -> None:
        """Begin a page; with a title it is a section, too ("sheet", "slide", "chapter")."""
        self.gap()
        self._opened += 1
        if title.strip():
            self._titles.append((0, kind, title))

    def heading(self, text: str, level: int, kind: str = "heading") -> None:
        """Write a block that names the text up to the next heading of this or a higher rank; level 1 is the highest."""
        self.gap()
        if text.strip():
            self._titles.append((max(1, level), kind, text))
        self.line(text)
        self.gap()

    def section(self, title: str, kind: str, level: int = 0) -> None:
        """Begin a section with a name that is not part of the text."""
        self.gap()
        self._titles.append((level, kind, title))

    def hide(self, kind: str, text: str) -> bool:
        """Count text that no person sees (a kind of hidden.KINDS); whether it is to be left out."""
        return not self._hidden.keeps(kind, marked(text)[0])

    @property
    def drops_hidden(self) -> bool:
        """Whether the job's rule leaves out what no person sees."""
        return self._hidden.drops

    def doubt(self, why: str) -> None:
        """Say why it cannot be told whether some text is hidden; the document's state is then `review`."""
        self._hidden.doubt(why)

    def doubtful(self, what: str, text: str) -> None:
        """Count text that `what` touches, whose effect is not computed; the document's state is then `review`."""
        self._hidden.doubtful(what, marked(text)[0])

    def review(self, why: str) -> None:
        """Say what of the text cannot be trusted as it stands; the document's state is then `review`."""
        self._hidden.review(why)

    def turned(self, text: str) -> None:
        """Say that text is forced from right to left: a person must look if it has letters of the other direction."""
        self._hidden.turned(marked(text)[0])

    def folded(self, *texts: str, but: str) -> None:
        """Count text that a click shows, without what is shown in its place."""
        self._hidden.folded += sum(not one.isspace() for one in "".join(texts)) - sum(not one.isspace() for one in but)

    def gap(self) -> None:
        """Write an empty line before what comes next."""
        if self._parts:
            self._separator = "\n\n"

    def line(self, text: str) -> None:
        """Write a line, or several; nothing but white space is no line."""
        text, struck = marked(clean(text))
        self._hidden.struck += struck
        if UNKNOWN_SIGN in text:
            self._hidden.unknown += text.count(UNKNOWN_SIGN)
            text = text.replace(UNKNOWN_SIGN, "\ufffd")
        if not self._is_inner:
            text = self._hidden.visible(text)
        if not text or text.isspace():
            return
        text = text.strip("\n")
        self._put(self._separator)
        self._open()
        self._put(text)
        self._separator = "\n"

    def block(self, text: str) -> None:
        """Write lines with an empty line before and after them."""
        self.gap()
        self.line(text)
        self.gap()

    def row(self, cells: Iterable[str]) -> None:
        """Write a row of a table; cells at its end that are empty are left out."""
        line = [one_line(clean(cell)) for cell in cells]
        while line and not line[-1]:
            line.pop()
        self.line(CELL.join(line))

    def cells(self, cells: list[str]) -> None:
        """Write a row whose cells may hold blocks; if one is very long or holds a table, they follow one another."""
        if any(CELL in cell or len(cell) > _LAYOUT for cell in cells):
            for cell in cells:
                self.block(cell)
        else:
            self.row(cells)

    def reserve(self, characters: int) -> None:
        """Make sure that so much more text may be written; else DocumentError(TOO_LARGE)."""
        if self.length + characters > self._limit:
            least = self._most - self._limit + self.length + characters
            reason = f"its text is longer than limits.text_characters ({self._most:,}) allows: it has {least:,} or more"
            raise DocumentError(Failure.TOO_LARGE, reason)

    def inner(self) -> "TextWriter":
        """A writer of its own for a stretch that this one will take up, with the limit that is left."""
        return TextWriter(self._limit - self.length, self._hidden, inner=True, most=self._most)

    def unseen(self) -> "TextWriter":
        """An inner writer for what is hidden as a whole: what is hidden within is counted with it, not again."""
        return TextWriter(self._limit - self.length, HiddenText(drop=False), inner=True, most=self._most)

    def hidden(self, kind: str, write: Callable[["TextWriter"], object]) -> None:
        """Count a stretch that nobody sees as a whole, which `write` writes; what is kept is a block."""
        unseen = self.unseen()
        write(unseen)
        text, _ = unseen.finish()
        if not self.hide(kind, text):
            self.block(text)

    def aside(self) -> "TextWriter":
        """A writer for what is looked at only: what is hidden is left out of it and counted nowhere."""
        return TextWriter(self._limit, HiddenText(drop=True))

    def since(self, length: int) -> str:
        """The text written since the writer had this length."""
        at, parts = self.length, list[str]()
        for part in reversed(self._parts):
            if at <= length:
                break
            at -= len(part)
            parts.append(part)
        return "".join(reversed(parts))

    def finish(self) -> tuple[str, tuple[int, ...]]:
        """The text and the offset of each page; pages without text at the end begin where the text ends."""
        self._open()
        return "".join(self._parts), tuple(self._starts)

    def _open(self) -> None:
        """Let the pages and sections that wait for a text begin here."""
        self._starts += [self.length] * self._opened
        self._opened = 0
        if self._titles:
            self.sections += [Section(self.length, level, kind, title(text)) for level, kind, text in self._titles]
            self._titles.clear()

    def _put(self, text: str) -> None:
        self.reserve(len(text))
        self.length += len(text)
        self._parts.append(text)
