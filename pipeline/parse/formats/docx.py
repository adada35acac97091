"""Word documents (WordprocessingML, ISO/IEC 29500-1, 17): everything a reader sees, by walking the XML.

Order: headers, body, footnotes and endnotes, comments, footers. A text box, chart or diagram follows the paragraph that
it hangs on. Insertions count, deletions do not.
"""

from lxml import etree

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.formats.base import Source, finish
from pipeline.parse.office.drawing import GRAPHICS, A, math_text, paragraph_text, write_graphic
from pipeline.parse.office.numbering import Numbering
from pipeline.parse.office.package import LXML, Package, children
from pipeline.parse.writer import TextWriter

PARSER = f"docx/1 {LXML}"
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"

_GONE = {"del", "moveFrom", "pPr", "rPr", "tblPr", "tblGrid", "trPr", "tcPr", "sdtPr", "sdtEndPr", "rt", "numPr"}
_BREAKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_MARKS = {"footnotes": "[{}]", "endnotes": "[e{}]"}
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}


def parse(source: Source, media_type: str) -> Parsed:
    """The document; raises DocumentError."""
    package, writer = Package(source.data), source.writer()
    root = package.xml(package.main)
    numbering = Numbering(package)
    _write_parts(writer, package, root, "headerReference")
    body = _Part(writer, package, package.main, numbering)
    body.blocks(root)
    for kind in ("footnotes", "endnotes"):
        _write_notes(writer, package, kind, body.referred[kind])
    _write_comments(writer, package)
    _write_parts(writer, package, root, "footerReference")
    if not writer.length and package.count("media"):
        raise DocumentError(Failure.NEEDS_OCR, "it holds pictures and no text")
    notes = package.notes() + [
        f"part of the document not read: {part}" for part in package.related(package.main, "aFChunk")
    ]
    return finish(source, writer, media_type, PARSER, notes=notes)


class _Part:
    """One part being written: the document, a header, the footnotes."""

    def __init__(self, writer: TextWriter, package: Package, part: str, numbering: Numbering | None = None) -> None:
        self.writer = writer
        self.referred: dict[str, list[str]] = {"footnotes": [], "endnotes": []}
        self._package = package
        self._part = part
        self._numbering = numbering
        self._boxes: list[etree._Element] = []

    def blocks(self, element: etree._Element) -> None:
        """The paragraphs and tables under an element."""
        for name, child in children(element):
            if name == "p":
                self._paragraph(child)
            elif name == "tbl":
                self._table(child)
            elif name not in _GONE:
                self.blocks(child)

    def _paragraph(self, paragraph: etree._Element) -> None:
        boxes, self._boxes = self._boxes, []
        text = self._inline(paragraph)
        label = self._numbering.label(paragraph) if self._numbering and text.strip() else ""
        if not text.strip() or _is_heading(paragraph):
            self.writer.gap()
        self.writer.line(label + text)
        if _is_heading(paragraph):
            self.writer.gap()
        for box in self._boxes:
            self._box(box)
        self._boxes = boxes

    def _box(self, box: etree._Element) -> None:
        self.writer.gap()
        if box.tag == W + "txbxContent":
            self.blocks(box)
        elif box.tag == A + "p":
            self.writer.line(paragraph_text(box))
        elif box.tag in GRAPHICS:
            write_graphic(self.writer, self._package, self._part, box)
        else:
            self.writer.line(box.get("string", ""))
        self.writer.gap()

    def _table(self, table: etree._Element) -> None:
        self.writer.gap()
        for row in _found(table, "tr"):
            self.writer.cells([self._cell(cell) for cell in _found(row, "tc")])
        self.writer.gap()

    def _cell(self, cell: etree._Element) -> str:
        outer, self.writer = self.writer, self.writer.inner()
        self.blocks(cell)
        inner, self.writer = self.writer, outer
        return inner.finish()[0]

    def _inline(self, element: etree._Element) -> str:
        return "".join(self._piece(name, child) for name, child in children(element))

    def _piece(self, name: str, element: etree._Element) -> str:
        if name == "t":
            return element.text or ""
        if name in _BREAKS:
            return _BREAKS[name]
        if name in _GONE:
            return ""
        if name in _NOTES:
            return self._mark(_NOTES[name], element)
        if name in {"drawing", "pict", "object"}:
            self._boxes += _boxes_in(element)
            return ""
        if name in {"oMath", "oMathPara"}:
            return math_text(element)
        if name == "sym":
            return _symbol(element)
        return _check_box(element) if name == "fldChar" else self._inline(element)

    def _mark(self, kind: str, reference: etree._Element) -> str:
        self.referred[kind].append(reference.get(W + "id", ""))
        return _MARKS[kind].format(len(self.referred[kind]))


def _found(element: etree._Element, wanted: str) -> list[etree._Element]:
    """Rows of a table or cells of a row, also inside content controls, but not those of an inner table."""
    found: list[etree._Element] = []
    for name, child in children(element):
        if name == wanted:
            found.append(child)
        elif name in {"sdt", "sdtContent", "customXml", "ins", "moveTo"}:
            found += _found(child, wanted)
    return found


def _boxes_in(element: etree._Element) -> list[etree._Element]:
    """What holds text in a drawing: text boxes, DrawingML paragraphs, charts, diagrams, word art."""
    found: list[etree._Element] = []
    for name, child in children(element):
        if child.tag in {W + "txbxContent", A + "p"} | GRAPHICS or name == "textpath":
            found.append(child)
        else:
            found += _boxes_in(child)
    return found


def _is_heading(paragraph: etree._Element) -> bool:
    style = paragraph.find(f"{W}pPr/{W}pStyle")
    name = "" if style is None else style.get(W + "val", "").lower()
    return name.startswith(("heading", "title", "überschrift", "berschrift", "titre"))


def _symbol(element: etree._Element) -> str:
    """A character by number; symbol fonts put theirs at F000 and above, where ASCII is what the font shows best."""
    try:
        number = int(element.get(W + "char", ""), 16)
        return chr(number - 0xF000 if 0xF020 <= number <= 0xF07E else number)  # a surrogate is replaced by the writer
    except (ValueError, OverflowError):
        return "\ufffd"


def _check_box(field: etree._Element) -> str:
    box = field.find(f"{W}ffData/{W}checkBox")
    if box is None:
        return ""
    state = box.find(W + "checked")
    state = box.find(W + "default") if state is None else state
    ticked = state is not None and state.get(W + "val", "1") in {"1", "true", "on"}
    return "[x]" if ticked else "[ ]"


def _write_parts(writer: TextWriter, package: Package, root: etree._Element, reference: str) -> None:
    """Headers or footers, each text once."""
    relations, seen = package.relations(package.main), set[str]()
    for element in root.iter(W + reference):
        relation = relations.get(element.get(R_ID, ""))
        if relation is None or not package.has(relation.target):
            continue
        inner = writer.inner()
        _Part(inner, package, relation.target).blocks(package.xml(relation.target))
        text, _ = inner.finish()
        if text not in seen:
            writer.block(text)
        seen.add(text)


def _write_notes(writer: TextWriter, package: Package, kind: str, referred: list[str]) -> None:
    for part in package.related(package.main, kind):
        notes = {note.get(W + "id"): note for note in package.xml(part) if note.get(W + "type") in {None, "normal"}}
        writer.gap()
        for place, number in enumerate(referred, start=1):
            if number in notes:
                inner = writer.inner()
                _Part(inner, package, part).blocks(notes[number])
                writer.line(f"{_MARKS[kind].format(place)} {inner.finish()[0].lstrip()}")
        writer.gap()


def _write_comments(writer: TextWriter, package: Package) -> None:
    for part in package.related(package.main, "comments"):
        writer.gap()
        for comment in package.xml(part):
            inner = writer.inner()
            _Part(inner, package, part).blocks(comment)
            author = comment.get(W + "author", "")
            writer.line(f"Comment{f' ({author})' if author else ''}: {inner.finish()[0].lstrip()}")
        writer.gap()
