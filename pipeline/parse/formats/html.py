"""HTML: the visible text with its blocks, through lxml.

The parser recovers from bad markup as browsers do, but where it gives up (its limit of depth) it would drop the rest in
silence: that is a failure here.
"""

import re
from dataclasses import replace
from importlib.metadata import version

from lxml import etree

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.css.page import NO_TEXT, PageStyles, all_text, draws_own_text
from pipeline.parse.css.style import UNKNOWN, Style
from pipeline.parse.markup.choices import chosen, field_text, is_drop_down, option_text
from pipeline.parse.markup.formula import formula_text
from pipeline.parse.markup.reading import LXML, well_formed, whole_number
from pipeline.parse.office.numerals import format_number
from pipeline.parse.sight.symbols import is_in_question, shown_in
from pipeline.parse.writer import CELL, TextWriter, one_line

PARSER = f"html/7 {LXML}, tinycss2 {version('tinycss2')}"
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "legend", "li", "main", "menu",
    "nav", "ol", "optgroup", "option", "p", "pre", "section", "summary", "svg", "table", "text", "textarea", "ul",
    "caption", "hgroup", "search",
}  # fmt: skip
_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_FORMS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}  # of numbers, by `type`
_LISTS = {"ol", "ul", "menu", "dir"}
_VOID = (
    "area", "base", "basefont", "bgsound", "br", "col", "command", "embed", "frame", "hr", "image", "img", "input",
    "keygen", "link", "meta", "nextid", "param", "source", "track", "wbr",
)  # fmt: skip
"""Elements without content (HTML, 13.1.2), also those of former times."""
_AS_TYPED = {"pre", "textarea", "listing", "xmp"}
_SPACED = (_BLOCKS | _AS_TYPED) - {"li", "dt", "dd", "div", "optgroup", "option", "legend", "summary", "text"}
"""Blocks with an empty line around them."""
_KEPT = {"ol", "ul", "menu", "dir", "pre", "textarea", "listing", "xmp", "svg", "text", "body", "html", "table"}
"""Blocks that stay some even where a style sheet runs them on in a line."""
_BOXES = {"button", "marquee", "input", "select", "li", "dt", "dd"}  # where they stand in a line
_THIN = "\ufdd8"
"""No character at all: a gap in a line."""
_NO_GAP = re.compile(f"{_THIN}(?=[.,;:!?)\\]\u2019])")
_APART = "\ufdd7"
"""No character at all: the edge of a box that stands beside others in its line."""
_EDGES = re.compile(rf"[ {_APART}]*{_APART}[ {_APART}]*")
_COLUMNS = re.compile(rf"(?<=[\d\ufdd1\ufdd3\ufdd5]){_EDGES.pattern}(?=[-+(\u2212]?[\d\ufdd0\ufdd2\ufdd4])")
_GROUPS = {"table", "thead", "tbody", "tfoot"}
_STANDARD = re.compile(r"<!doctype\s+html(?!\s+public[^>]*(?:3\.2|transitional//en\"\s*>))", re.IGNORECASE)
_PROLOGUE = 2000  # characters in which a page says of which kind it is
_LONG = 1000  # characters from which on a heading is one by mistake
_WIDEST = 100  # columns that a cell is believed to span


def parse(source: Source, media_type: str) -> Parsed:
    """The page; raises DocumentError."""
    writer = source.writer()
    frames = write_html(writer, source.decoded.text)
    notes = [f"the pages in its frames are other files: {', '.join(frames[:20])}"] if frames else []
    return finish(source, writer, media_type, PARSER, notes=notes, decoded=source.decoded)


def write_html(writer: TextWriter, markup: str, *, titled: bool = True) -> list[str]:
    """Write the visible text of markup, with the page's title if it is `titled`, as a mail is not; the addresses of its
    frames. Raises DocumentError(CORRUPT)."""
    # As bytes in an encoding that is said: of a string with an XML declaration lxml refuses to read.
    parser = etree.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True, encoding="utf-8")
    with well_formed("not readable as HTML"):
        root = etree.fromstring(markup.replace("\x00", "").encode("utf-8", "replace"), parser)
    for entry in parser.error_log:
        if entry.level == etree.ErrorLevels.FATAL:
            raise DocumentError(Failure.CORRUPT, f"it can be read only to line {entry.line}: {entry.message}")
    if root is None:
        return []
    _empty(root)
    if titled:
        titles = (one for one in root.iter("title") if next(one.iterancestors("svg"), None) is None)
        writer.block(one_line(next((one.text or "" for one in titles), "")))
    styles = PageStyles(root, quirks=not _STANDARD.search(markup[:_PROLOGUE]))
    walk = _Walk(writer, styles, styles.first)
    walk.element(root)
    walk.flush()
    for shut in root.xpath("//details[not(@open)][not(ancestor::details[not(@open)])]"):
        title = shut.find("summary")
        writer.folded(*shut.itertext(), but="" if title is None else "".join(title.itertext()))
    if styles.counted:
        writer.review("numbers that its style sheets count are not read")
    for why in styles.doubts:
        writer.doubt(why)
    return [frame.get("src", "") for frame in root.iter("frame")]


def _empty(root: etree._Element) -> None:
    """Put behind each void element what the parser, which does not know all of them, took for its content."""
    for element in list(root.iter(*_VOID)):
        parent = element.getparent()
        if parent is None or not (element.text or len(element)):
            continue
        text, children, tail, element.text = element.text, list(element), element.tail, None
        for place, child in enumerate(children, parent.index(element) + 1):
            parent.insert(place, child)
        element.tail = text
        last = children[-1] if children else element
        last.tail = (last.tail or "") + (tail or "") or None


class _Walk:
    """A walk through the elements of a page; text gathers in `_line` until a block begins or ends."""

    def __init__(self, writer: TextWriter, styles: PageStyles, style: Style) -> None:
        self._writer = writer
        self._styles = styles
        self._style = style
        self._line: list[str] = []
        self._pre = 0
        self._chosen = False  # whether the options of the list we are in say which of them are
        self._lists: list[tuple[int, int] | None] = []  # of each open list the next number and the step, if it has some
        self._row_number = 0
        self._reaching: dict[int, int] = {}  # column -> the row at which a cell from above ends

    def element(self, element: etree._Element) -> None:
        """Write everything visible of an element, without what follows it."""
        outer = self._style
        if not self._enter(element):
            return
        tag, flow = element.tag, self._style.flow
        block = flow == "lines" or tag in _KEPT or (tag in _BLOCKS and not flow)
        boxed = flow == "apart" or (tag in _BOXES and not block)
        if boxed or "left" in flow:
            self._line.append(_APART if boxed else _THIN)
        if tag == "br":
            self._line.append("\n")
        elif tag in {"input", "img", "area"}:
            self._text(field_text(element) if tag == "input" else f" {element.get('alt', '')} ")
        elif tag == "tr" or flow == "row":
            self._row(element)
        elif tag == "select":
            self._select(element)
        elif tag == "math":
            self._formula(element)
        elif tag == "rt":
            self._line.append("(")
            self._inside(element)
            self._line.append(")")
        elif tag in _HEADINGS:
            self._heading(element, _HEADINGS[tag])
        elif tag in _GROUPS:
            self._group(element, tag)
        elif block:
            self._block(element, tag)
        else:
            self._inside(element)
        if boxed or "right" in flow:
            self._line.append(_APART if boxed else _THIN)
        self._style = outer

    def flush(self) -> None:
        """Write the line that has gathered."""
        text, self._line = "".join(self._line), []
        if _APART in text or _THIN in text:
            text = _NO_GAP.sub("", text).replace(_THIN, " ")
            text = _EDGES.sub(" ", _COLUMNS.sub(CELL, text.strip(_APART)))
        if not self._pre:
            text = "\n".join(one_line(line) for line in text.split("\n"))
        self._writer.line(text)

    def _enter(self, element: etree._Element) -> bool:
        """Begin an element: whether it is shown; then `_style` is its own."""
        if element.tag in NO_TEXT:
            if element.tag == "iframe" and "srcdoc" in element.attrib:
                self.flush()
                self._frame(element)
            elif element.attrib:
                self._styles.style_of(element, self._style)
            return False
        style, kind = self._styles.style_of(element, self._style)
        if kind and self._writer.hide(kind, all_text(element)):
            return False
        if style.turned and not self._style.turned:
            self._writer.turned(all_text(element))
        self._style = style
        return True

    def _frame(self, frame: etree._Element) -> None:
        """Write the page in a frame, which has colours of its own."""
        style, kind = self._styles.style_of(frame, self._style)
        seen, doubt = replace(style, colour=UNKNOWN, fill=None).verdict
        kind = kind or seen
        if {"0", "1"} & {frame.get("width"), frame.get("height")}:
            kind = kind or "clipped"
        if kind:
            self._writer.hidden(kind, lambda unseen: write_html(unseen, frame.get("srcdoc", "")))
            return
        before = self._writer.length
        write_html(self._writer, frame.get("srcdoc", ""))
        if doubt or "scrolling" in frame.attrib:
            self._writer.doubtful(doubt or "a frame that does not scroll", self._writer.since(before))

    def _inside(self, element: etree._Element) -> None:
        drawn = draws_own_text(element, self._style)
        self._drawn(element, "before")
        self._text(element.text, drawn=drawn)
        for child in _in_order(element) if element.tag == "table" else element:
            self.element(child)
            self._text(child.tail, drawn=drawn)
        self._drawn(element, "after")

    def _drawn(self, element: etree._Element, where: str) -> None:
        outer = self._style
        text, style = self._styles.drawn(element, where, outer)
        if text:
            self._style = style
            edge = _APART if style.flow in {"apart", "lines"} else ""
            self._line.append(edge)
            self._text(text)
            self._line.append(edge)
            self._style = outer

    def _text(self, text: str | None, *, drawn: bool = True) -> None:
        if text and (text := self._seen(text, drawn=drawn)):
            if self._style.font or not text.isascii():
                font = self._style.font
                if is_in_question(font, text):
                    self._writer.review("letters stand for signs of a symbol font, which not all systems have")
                text = shown_in(font, text)
            self._line.append(self._style.signed(text if self._pre else re.sub(r"\s+", " ", text)))

    def _formula(self, element: etree._Element) -> None:
        text = self._seen(formula_text(element))
        if any(
            (one.tag == "mpadded" or not {"style", "class", "mathcolor", "mathsize"}.isdisjoint(one.attrib))
            for one in element.iterdescendants()
        ):
            self._writer.doubtful("the looks of a part of a formula", text)
        beside = self._line[-1][-1:].isalnum() if self._line else False
        self._text(f" {text}" if beside and text[:1].isalnum() else text)

    def _seen(self, text: str, *, drawn: bool = True) -> str:
        """The text, or nothing of it where nobody sees it and the rule is to leave that out."""
        if text.isspace():
            return text
        kind, doubt = self._style.verdict
        if not drawn and not self._style.counted:
            kind = kind or "marked_hidden"
        if doubt and not kind:
            self._writer.doubtful(doubt, text)
        return "" if kind and self._writer.hide(kind, text) else text

    def _block(self, element: etree._Element, tag: str) -> None:
        self.flush()
        if tag in _SPACED:
            self._writer.gap()
        self._pre += tag in _AS_TYPED
        if tag in _LISTS:
            self._lists.append(_numbering(element) if tag == "ol" else None)
        if not self._style.verdict[0]:
            self._line.append(self._label(element))
        if tag == "option":
            self._text(option_text(element, self._writer.hide))
        else:
            self._inside(element)
        self.flush()
        if tag in _LISTS:
            self._lists.pop()
        self._pre -= tag in _AS_TYPED
        if tag in _SPACED:
            self._writer.gap()

    def _label(self, element: etree._Element) -> str:
        """The text that a browser draws before an item of a list, or before an option among chosen ones; "" if none."""
        if element.tag == "li":
            numbering = self._lists[-1] if self._lists else None
            if numbering is None:
                return "- "
            number = whole_number(element.get("value"), numbering[0])
            self._lists[-1] = number + numbering[1], numbering[1]
            return f"{format_number(number, _FORMS.get(element.getparent().get('type', '')))}. "
        if element.tag == "optgroup":
            return str(element.get("label", ""))
        if element.tag == "option" and self._chosen:
            return "[x] " if "selected" in element.attrib else "[ ] "
        return ""

    def _select(self, element: etree._Element) -> None:
        """Write a list of options; where some are chosen, these are marked; of a drop-down list only what it shows."""
        if is_drop_down(element):
            option = chosen(element)
            self._text(f" {option_text(option, self._writer.hide)} " if option is not None else None)
            return
        outer = self._chosen
        self._chosen = any("selected" in option.attrib for option in element.iter("option"))
        for child in element.iterchildren("option", "optgroup"):  # nothing else in it is drawn
            self.element(child)
        self._chosen = outer

    def _heading(self, element: etree._Element, level: int) -> None:
        self.flush()
        text = self._apart(element)
        if len(text) > _LONG:
            self._writer.block(text)
        else:
            self._writer.heading(text, level)

    def _apart(self, element: etree._Element) -> str:
        inner = self._writer.inner()
        walk = _Walk(inner, self._styles, self._style)
        walk._inside(element)
        walk.flush()
        return inner.finish()[0]

    def _group(self, element: etree._Element, tag: str) -> None:
        """Write a table, or rows of one, out of which no cell reaches."""
        outer = self._row_number, self._reaching
        self._row_number, self._reaching = 0, {}
        if tag == "table":
            self._block(element, tag)
        else:
            self._inside(element)
        self._row_number, self._reaching = outer

    def _row(self, row: etree._Element) -> None:
        """Write cells in their columns: an empty one where a cell from the left or from above reaches."""
        self.flush()
        self._row_number += 1
        cells: list[str] = [text] if (text := one_line(self._seen(row.text or ""))) else []
        for cell in row:
            style = self._style
            if self._enter(cell):
                self._cell(cells, cell)
            self._style = style
            if text := one_line(self._seen(cell.tail or "")):
                cells.append(text)
        self._writer.cells(cells)

    def _cell(self, cells: list[str], cell: etree._Element) -> None:
        while self._reaching.get(len(cells), 0) >= self._row_number:
            cells.append("")
        text, place = self._apart(cell), len(cells)
        if cell.tag not in {"td", "th"} and not text:
            return
        cells += [text, *[""] * (min(whole_number(cell.get("colspan"), 1), _WIDEST) - 1)]
        rows = whole_number(cell.get("rowspan"), 1)
        if rows > 1:
            self._reaching |= dict.fromkeys(range(place, len(cells)), self._row_number + rows - 1)


def _numbering(element: etree._Element) -> tuple[int, int]:
    reverse = "reversed" in element.attrib
    first = len(element.findall("li")) if reverse else 1
    return whole_number(element.get("start"), first), -1 if reverse else 1


def _in_order(table: etree._Element) -> list[etree._Element]:
    """What is in a table as it is shown: its head before all other rows, its foot after them."""
    places = {table.find("thead"): 1, table.find("tfoot"): 3}
    return sorted(table, key=lambda child: places.get(child, 0 if child.tag in {"caption", "colgroup", "col"} else 2))
