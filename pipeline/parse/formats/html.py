"""HTML: the visible text with its blocks, through lxml.

The parser recovers from bad markup as browsers do, but where it gives up (its limit of depth) it would drop the rest in
silence: that is a failure here.
"""

import re

from lxml import etree

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.formats.base import Source, finish
from pipeline.parse.office.package import LXML, whole_number
from pipeline.parse.writer import TextWriter, one_line

PARSER = f"html/1 {LXML}"
_INVISIBLE = {
    "script",
    "style",
    "template",
    "head",
    "noframes",
    "datalist",
    "iframe",
    "object",
    "svg",
    "audio",
    "video",
}
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html",
    "legend", "li", "main", "menu", "nav", "ol", "option", "p", "pre", "section", "summary", "table", "tr", "ul",
    "caption",
}  # fmt: skip
_LISTS = {"ol", "ul", "menu", "dir"}
_CLOSE = {"li", "dt", "dd", "div", "option", "tr", "legend", "summary"}  # blocks with no empty line around them
_HIDDEN = re.compile(r"(display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_FIELDS = {"hidden", "password", "checkbox", "radio", "image", "file"}  # input fields whose value is not shown


def parse(source: Source, media_type: str) -> Parsed:
    """The page; raises DocumentError."""
    writer = source.writer()
    write_html(writer, source.decoded.text)
    return finish(source, writer, media_type, PARSER, decoded=source.decoded)


def write_html(writer: TextWriter, markup: str) -> None:
    """Write the visible text of markup; raises DocumentError(CORRUPT)."""
    # As bytes in an encoding that is said: of a string with an XML declaration lxml refuses to read.
    parser = etree.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True, encoding="utf-8")
    try:
        root = etree.fromstring(markup.replace("\x00", "").encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise DocumentError(Failure.CORRUPT, f"not readable as HTML: {error.msg}") from error
    for entry in parser.error_log:
        if entry.level == etree.ErrorLevels.FATAL:
            raise DocumentError(Failure.CORRUPT, f"it can be read only to line {entry.line}: {entry.message}")
    if root is not None:
        writer.block(one_line(root.findtext(".//title") or ""))
        walk = _Walk(writer)
        walk.element(root)
        walk.flush()


class _Walk:
    """Text gathers in `_line` until a block begins or ends."""

    def __init__(self, writer: TextWriter) -> None:
        self._writer = writer
        self._line: list[str] = []
        self._pre = 0
        self._lists: list[int | None] = []  # the next number of each open list, None for one without numbers

    def element(self, element: etree._Element) -> None:
        """Everything visible of an element, without what follows it."""
        tag = element.tag
        if tag in _INVISIBLE or element.get("hidden") is not None or _HIDDEN.search(element.get("style", "")):
            return
        if tag in {"br", "wbr"}:
            self._line.append("\n" if tag == "br" else "")
        elif tag == "input":
            self._line.append(_field(element))
        elif tag == "tr":
            self._row(element)
        elif tag in _BLOCKS:
            self._block(element, tag)
        else:
            self._inside(element)

    def flush(self) -> None:
        """Write the line that has gathered."""
        text, self._line = "".join(self._line), []
        if not self._pre:
            text = "\n".join(one_line(line) for line in text.split("\n"))
        self._writer.line(text)

    def _inside(self, element: etree._Element) -> None:
        self._text(element.text)
        for child in element:
            self.element(child)
            self._text(child.tail)

    def _text(self, text: str | None) -> None:
        if text:
            self._line.append(text if self._pre else re.sub(r"\s+", " ", text))

    def _block(self, element: etree._Element, tag: str) -> None:
        self.flush()
        if tag not in _CLOSE:
            self._writer.gap()
        self._pre += tag == "pre"
        if tag in _LISTS:
            self._lists.append(_start(element) if tag == "ol" else None)
        elif tag == "li":
            self._line.append(self._label())
        self._inside(element)
        self.flush()
        if tag in _LISTS:
            self._lists.pop()
        self._pre -= tag == "pre"
        if tag not in _CLOSE:
            self._writer.gap()

    def _label(self) -> str:
        """What a browser draws before an item."""
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

    def _row(self, row: etree._Element) -> None:
        self.flush()
        cells = []
        for cell in row:
            inner = self._writer.inner()
            walk = _Walk(inner)
            walk.element(cell)
            walk.flush()
            cells.append(inner.finish()[0])
        self._writer.cells(cells)


def _start(element: etree._Element) -> int:
    return whole_number(element.get("start"), 1)


def _field(element: etree._Element) -> str:
    kind = element.get("type", "text").lower()
    if kind in {"checkbox", "radio"}:
        return "[x] " if element.get("checked") is not None else "[ ] "
    return "" if kind in _FIELDS else f" {element.get('value', '')} "
