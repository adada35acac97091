"""Word documents (WordprocessingML, ISO/IEC 29500-1, 17): everything a reader sees, by walking the XML.

Order: headers, body, footnotes and endnotes, comments, footers. A text box, chart or diagram follows the paragraph that
it hangs on. Insertions count, deletions do not.
"""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field

from lxml import etree

from pipeline.document import Parsed
from pipeline.parse.contract import Source, finish
from pipeline.parse.markup.formula import formula_text
from pipeline.parse.markup.reading import LXML, stream_children, whole_number
from pipeline.parse.members import Members
from pipeline.parse.office.drawing.shapes import GRAPHICS, A, paragraph_text, relation_of, write_graphic
from pipeline.parse.office.embedded import add_embedded, add_part, refuse_pictures_alone
from pipeline.parse.office.package import ALTERNATIVES, Package, children, contradiction
from pipeline.parse.office.word.boxes import PICTURES, Drawn
from pipeline.parse.office.word.controls import Controls
from pipeline.parse.office.word.fields import Fields
from pipeline.parse.office.word.looks import OFF, W, value
from pipeline.parse.office.word.sections import read_sections
from pipeline.parse.office.word.sight import Around, Run, Sight, TableLooks, is_covered
from pipeline.parse.office.word.styles import BODY, Numbering, Style, WordStyles
from pipeline.parse.pictures.shown import Shown
from pipeline.parse.sight.symbols import UNKNOWN_SIGN, shown_in
from pipeline.parse.writer import TextWriter

PARSER = f"docx/7 {LXML}"

_GONE = {"del", "moveFrom", "pPr", "rPr", "tblPr", "tblGrid", "trPr", "tcPr", "sdtPr", "sdtEndPr", "numPr"}
_BREAKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_WIDEST = 63  # columns that a table may have
_MARKS = {"footnotes": "[{}]", "endnotes": "[e{}]"}
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}


def parse(source: Source, media_type: str) -> Parsed:
    """The document; raises DocumentError."""
    package, writer = Package(source.data, Shown(source.pictures)), source.writer()
    data = package.bytes(package.main)
    sections, styles = read_sections(package, data), WordStyles(package)
    controls = Controls(package)
    sight = Sight(styles, sections, controls)
    _write_parts(writer, package, sight, sections.headers)
    body = _Part(writer, package, package.main, sight, Numbering(package, styles))
    body.write(stream_children(data, package.main, W + "body", W + "p", W + "tbl", W + "sdt"))
    for kind in ("footnotes", "endnotes"):
        _write_notes(writer, package, sight, kind, body)
    for part in package.related(package.main, "comments"):
        writer.gap()
        for comment in package.xml(part):
            inner = writer.inner()
            _Part(inner, package, part, sight).write(comment)
            author = comment.get(W + "author", "")
            writer.line(f"Comment{f' ({author})' if author else ''}: {inner.finish()[0].lstrip()}")
        writer.gap()
    _write_parts(writer, package, sight, sections.footers)
    if sections.covers:
        writer.doubt("drawings may lie over text")
    notes = [*controls.notes(), *_add_chunks(source.members, package), *add_embedded(source.members, package)]
    refuse_pictures_alone(source, writer, package, "it holds")
    return finish(source, writer, media_type, PARSER, notes=notes)


@dataclass
class _Begun:
    """A line to which paragraphs add as long as their ends are not shown: its texts, its style, what hangs on it."""

    style: Style
    keeps_style: bool = False
    texts: list[str] = field(default_factory=list)
    boxes: list[Drawn] = field(default_factory=list)


class _Part:
    def __init__(
        self, writer: TextWriter, package: Package, part: str, sight: Sight, numbering: Numbering | None = None
    ) -> None:
        self.writer = writer
        self.referred: dict[str, list[str]] = {"footnotes": [], "endnotes": []}
        self.unseen: dict[str, list[str]] = {"footnotes": [], "endnotes": []}  # referred to by hidden text alone
        self._package = package
        self._part = part
        self._sight = sight
        self._numbering = numbering
        self._boxes: list[Drawn] = []
        self._begun: _Begun | None = None
        self._style = Style()  # of the paragraph that is written
        self._look = Run()  # of the run that is written
        self._around = sight.first
        self._fields = Fields(lambda: sight.controls.renews_fields)

    def write(self, elements: Iterable[etree._Element]) -> None:
        """Write what is in a part, each element when it is known what its controls show."""
        for element in elements:
            for one in list(element.iter(W + "sdt", ALTERNATIVES)):
                is_control = one.tag == W + "sdt"
                for reason in self._sight.controls.settle(one, self._part) if is_control else contradiction(one):
                    self.writer.review(reason)
            self.blocks([element])
        self._end_line()

    def blocks(self, elements: Iterable[etree._Element]) -> None:
        """Write the paragraphs and tables under an element, or in a row of elements."""
        for name, child in children(elements):
            if name == "p":
                boxes, self._boxes = self._boxes, []
                properties = child.find(W + "pPr")
                style = self._style = self._sight.styles.paragraph(properties)
                text = self._inline(child)
                self._fields.end_paragraph()
                while self._fields.reasons:
                    self.writer.review(self._fields.reasons.pop())
                begun, joined = self._begun or _Begun(style), self._joined(properties, style)
                begun.style = begun.style if begun.keeps_style else style
                begun.keeps_style |= joined == "vanish"
                begun.texts.append(text)
                begun.boxes += self._boxes
                self._begun, self._boxes = begun, boxes
                if not joined:
                    self._end_line()
            elif name == "tbl":
                self._table(child)
            elif name not in _GONE:
                self.blocks(child)

    def _joined(self, properties: etree._Element | None, style: Style) -> str:
        """Why the next paragraph goes on in the line of one with these properties; "" where it does not."""
        if properties is None:
            return ""
        if any(properties.find(f"{W}rPr/{W}{name}") is not None for name in ("del", "moveFrom")):
            return "del"
        frame, mark = properties.find(W + "framePr"), properties.find(W + "rPr")
        if frame is not None and frame.get(W + "dropCap") in {"drop", "margin"}:
            return "dropCap"
        hidden = mark is not None and self._sight.run(properties, style, self._around).hides == "marked_hidden"
        return "vanish" if hidden and self.writer.drops_hidden else ""

    def _end_line(self) -> None:
        """Write the line that has begun, if one has, and what hangs on it."""
        begun, self._begun = self._begun, None
        if begun is None:
            return
        text, style = "".join(begun.texts), begun.style
        label = self._label(style) if text.strip() else ""
        if not text.strip():
            self.writer.gap()
        elif style.outline is None or style.outline >= BODY:
            self.writer.line(label + text)
        else:
            self.writer.heading(label + text, style.outline + 1)
        for box in begun.boxes:
            if not box.hides:
                self._write_box(box)
            elif not self.writer.hide(box.hides, _text_in(box.element)):
                outer, self.writer = self.writer, self.writer.unseen()
                self._write_box(box)
                inner, self.writer = self.writer, outer
                self.writer.block(inner.finish()[0])

    def _label(self, style: Style) -> str:
        """The number that Word draws before a paragraph with text, as far as it is seen."""
        level = self._numbering.level(style) if self._numbering else None
        if self._numbering is None or level is None:
            return ""
        label = self._numbering.label(style)
        return self._shown(label, self._sight.run(level, style, self._around))

    def _write_box(self, box: Drawn) -> None:
        self.writer.gap()
        if box.element.tag == W + "txbxContent":
            around, self._around = self._around, Around(box.behind, doubt=box.doubt)
            self.blocks(box.element)
            self._end_line()
            self._around = around
        elif box.element.tag == A + "p":
            self.writer.doubtful(box.doubt or "DrawingML in a text", paragraph_text(box.element))
            self.writer.line(paragraph_text(box.element))
        elif box.element.tag in GRAPHICS:
            write_graphic(self.writer, self._package, self._part, box.element)
        elif box.element.tag in PICTURES:
            self.writer.line(self._package.picture_text(self._part, relation_of(box.element)))
        else:
            self.writer.line(box.element.get("string", ""))
        self.writer.gap()

    def _table(self, table: etree._Element) -> None:
        outer, looks = self._around, TableLooks(table, self._sight.styles, self._around, self._sight.page)
        self._end_line()
        rows = [(row, _found(row, "tc")) for row in _found(table, "tr")]
        self.writer.gap()
        for number, (row, cells) in enumerate(rows):
            texts = [""] * min(whole_number(value(row, "trPr", "gridBefore"), 0), _WIDEST)
            for place, cell in enumerate(cells):
                self._around = looks.around(row, cell, (number, len(rows)), (place, len(cells)))
                width = whole_number(value(cell, "tcPr", "gridSpan"), 1)
                texts += [self._cell(cell, is_covered(cell, number)), *[""] * (min(width, _WIDEST) - 1)]
            self.writer.cells(texts)
        self.writer.gap()
        self._around = outer

    def _cell(self, cell: etree._Element, covered: bool) -> str:
        outer = self.writer
        self.writer = outer.unseen() if covered else outer.inner()
        self.blocks(cell)
        self._end_line()
        inner, self.writer = self.writer, outer
        text = inner.finish()[0]
        return "" if covered and outer.hide("covered", text) else text

    def _inline(self, element: etree._Element) -> str:
        text, before = "", ""
        for name, child in children(element):
            piece = self._piece(name, child)
            if (name == "oMath" or before == "oMath") and text[-1:].isdigit() and piece[:1].isdigit():
                text += " "  # one and a half is no 11/2
            text, before = text + piece, name
        return text

    def _piece(self, name: str, element: etree._Element) -> str:
        if name == "t":
            text = self._look.text(element.text or "")
            if self._fields.hides:
                return "" if self.writer.hide("marked_hidden", text) else text
            return self._fields.shown(text)
        if name in _BREAKS:
            return _BREAKS[name]
        if name in _GONE:
            return ""
        if name == "r":
            outer, self._look = self._look, self._sight.run(element, self._style, self._around)
            text, self._look = self._seen(element, self._look), outer
            return text
        if name in _NOTES:
            referred = self.referred[_NOTES[name]]
            referred.append(element.get(W + "id", ""))
            return _MARKS[_NOTES[name]].format(len(referred))
        if name in {"drawing", "pict", "object"}:
            found = self._sight.boxes.found(element, self._around.behind)
            self._boxes += [box for box in found if name != "object" or box.element.tag not in PICTURES]
            return ""
        if name in {"oMath", "oMathPara"}:
            return self._formula(element)
        if name == "sym":
            return self._look.marked(_symbol(element))
        if name == "instrText":
            self._fields.read_code(element.text or "")
            return ""
        if name == "fldChar":
            return self._look.marked(self._fields.read(element))
        if name == "bdo" and element.get(W + "val") == "rtl":
            text = self._inline(element)
            self.writer.turned(text)
            return text
        if name == "ruby":  # its reading comes first
            parts = {local: self._inline(one) for local, one in children(element) if local in {"rt", "rubyBase"}}
            return parts.get("rubyBase", "") + (f"({parts['rt']})" if parts.get("rt", "").strip() else "")
        if name == "fldSimple":
            self._fields.begin(code=element.get(W + "instr", " "), dirty=element.get(W + "dirty", "0") not in OFF)
            return self._inline(element) + self._fields.end()
        return self._inline(element)

    def _formula(self, element: etree._Element) -> str:
        text = formula_text(element)
        runs = [run for run in element.iter("{*}r") if "".join(run.itertext()).strip()]
        looks = [self._sight.run(run, self._style, self._around) for run in runs]
        hidden = [look for look in looks if look.hides]
        if looks and (len(hidden) == len(looks) or not hidden):
            return self._shown(text, next((look for look in looks if look.doubts), looks[0]))
        return text

    def _shown(self, text: str, look: Run) -> str:
        """Text that looks so, by the job's rule none if it is hidden."""
        if look.hides:
            return "" if self.writer.hide(look.hides, text) else text
        if look.doubts:
            self.writer.doubtful(look.doubts, text)
        return text

    def _seen(self, run: etree._Element, look: Run) -> str:
        kind = look.hides
        if kind is None:
            return self._shown(self._inline(run), look)
        boxes, marks = len(self._boxes), {name: len(found) for name, found in self.referred.items()}
        text = self._inline(run)
        if kind != "marked_hidden":  # a colour or a size is one of letters alone, and their place stays empty
            return text if not text.strip() or not self.writer.hide(kind, text) else " "
        if not self.writer.hide(kind, text + "".join(_text_in(box.element) for box in self._boxes[boxes:])):
            return text
        del self._boxes[boxes:]
        for name, found in self.referred.items():
            self.unseen[name] += found[marks[name] :]
            del found[marks[name] :]
        return ""


def _found(element: etree._Element, wanted: str) -> list[etree._Element]:
    """Rows of a table or cells of a row, also inside content controls, but not those of an inner table."""
    found: list[etree._Element] = []
    for name, child in children(element):
        if name == wanted:
            found += [] if _is_deleted(child) else [child]
        elif name in {"sdt", "sdtContent", "customXml", "ins", "moveTo"}:
            found += _found(child, wanted)
    return found


def _is_deleted(element: etree._Element) -> bool:
    return element.find(f"{W}trPr/{W}del") is not None or element.find(f"{W}tcPr/{W}cellDel") is not None


def _text_in(box: etree._Element) -> str:
    return "".join(text.text or "" for text in box.iter(W + "t", A + "t")) or box.get("string", "")


def _symbol(element: etree._Element) -> str:
    try:
        return shown_in(element.get(W + "font", ""), chr(int(element.get(W + "char", ""), 16)))
    except (ValueError, OverflowError):
        return UNKNOWN_SIGN


def _write_parts(writer: TextWriter, package: Package, sight: Sight, shown: dict[str, bool]) -> None:
    """Write headers or footers, each text once; those that are not shown are hidden."""
    seen = set[str]()
    for part in sorted(shown, key=lambda one: not shown[one]):
        inner = writer.inner() if shown[part] else writer.unseen()
        _Part(inner, package, part, sight).write(package.xml(part))
        text, _ = inner.finish()
        if text not in seen and (shown[part] or not writer.hide("marked_hidden", text)):
            writer.block(text)
        seen.add(text)


def _write_notes(writer: TextWriter, package: Package, sight: Sight, kind: str, body: _Part) -> None:
    for part in package.related(package.main, kind):
        notes = {note.get(W + "id"): note for note in package.xml(part) if note.get(W + "type") in {None, "normal"}}
        writer.gap()
        for place, number in enumerate(body.referred[kind], start=1):
            if number in notes:
                inner = writer.inner()
                _Part(inner, package, part, sight).write(notes[number])
                writer.line(f"{_MARKS[kind].format(place)} {inner.finish()[0].lstrip()}")
        for number in body.unseen[kind]:
            if number in notes:
                writer.hide("marked_hidden", _text_in(notes[number]))
        writer.gap()


def _add_chunks(members: Members, package: Package) -> list[str]:
    """Give away whole documents that Word shows in their place: each is a document of its own here."""
    others = sum(one.kind == "subDocument" for one in package.relations(package.main).values())
    chunks = package.related(package.main, "aFChunk")
    for part in chunks:
        add_part(members, package, part)
    notes = [f"parts of the document in files of their own, not read: {others}"] if others else []
    return notes + [
        f"part of the document, read as a document of its own: {posixpath.basename(part)}" for part in chunks
    ]
