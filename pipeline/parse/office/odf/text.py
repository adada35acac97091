"""Text of OpenDocument (ISO/IEC 26300-1, 5 and 6): paragraphs, lists, tables, shapes and what hangs on them.

A text box, chart or comment follows the paragraph that it hangs on. Insertions count, deletions do not.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from lxml import etree

from pipeline.parse.markup.formula import formula_text
from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.odf.document import OpenDocument, attribute, full, name_of, named, repeats
from pipeline.parse.office.odf.fields import FIELDS, contradiction, control_text
from pipeline.parse.office.odf.line import BLANKS, Line, Lists
from pipeline.parse.office.odf.styles import Looks, Styles, TextProperties, length
from pipeline.parse.office.odf.view import Page, style_of
from pipeline.parse.writer import CELL, TextWriter

_NOT_SHOWN = {"text:tracked-changes", "table:tracked-changes", "office:forms", "presentation:notes",
              "table:content-validations", "table:table-source"}  # fmt: skip
_SILENT = {"text:script", "svg:title", "svg:desc", "text:note-citation"}
_NO_SHAPES = {"draw:g", "draw:text-box", "draw:a", "draw:image"}
_OBJECTS = {"draw:object", "draw:object-ole"}
_ROWS = {"table:table-header-rows", "table:table-rows", "table:table-row-group"}
_MARKS = {"footnote": "[{}]", "endnote": "[e{}]"}
_THIN = 5.0  # points
_TITLES = {"Title": 1, "Subtitle": 2}


class Flow:
    """One stretch on its way to a writer: the body, a header, a slide, a cell, a chart.

    `inside` is True in an object, whose own objects are not followed. `notes` gathers the texts of notes, by class.
    """

    def __init__(self, writer: TextWriter, document: OpenDocument, styles: Styles, *, inside: bool = False) -> None:
        self.writer = writer
        self.styles = styles
        self.notes: dict[str, list[str]] = {kind: [] for kind in _MARKS}
        self.looks = Looks(styles)
        self.look = self.looks.first  # of what is around the paragraphs
        self.page = Page()
        self._document = document
        self._inside = inside
        self._lists = Lists(styles)
        self._label = ""  # of the item that has begun and has no paragraph yet
        self._hung: list[Callable[[], None]] = []
        self._blocks: dict[str, Callable[[etree._Element], None]] = {
            "text:p": self._paragraph, "text:h": self._paragraph, "text:list": self._list,
            "text:section": self._section, "table:table": self._table, "office:annotation": self._comment,
            "draw:object": self._object, "draw:object-ole": self._object, "draw:control": self._control,
            "draw:image": self._image,
        }  # fmt: skip

    def blocks(self, element: etree._Element) -> None:
        """Write everything that is shown below an element."""
        for child in element:
            self.block(child)

    def block(self, element: etree._Element) -> None:
        """Write an element with everything in it that is shown."""
        name = name_of(element.tag)
        if name in self._blocks:
            self._blocks[name](element)
        elif name.startswith("draw:"):
            self.shape(element)
        elif name not in _NOT_SHOWN:
            self.blocks(element)

    def on(self, page: Page) -> None:
        """Go on with the shapes and text that stand on a page."""
        self.page = page
        self.look = replace(self.looks.first, ground=page.ground)

    def shape(self, shape: etree._Element) -> None:
        """Write a shape as a block of its own."""
        kind = self.page.hides(shape)
        if kind:
            self.hidden(kind, partial(self._shape, shape))
        else:
            self._shape(shape)

    def _shape(self, shape: etree._Element) -> None:
        look = self.look
        if name_of(shape.tag) not in _NO_SHAPES and name_of(shape.tag).startswith("draw:"):
            look = self.looks.of(*style_of(shape), self.looks.first)
            if not self.page.flows:
                look = self.looks.of("paragraph", attribute(shape, "draw:text-style-name"), look)
            ground = self.page.behind(shape)
            if shape.find(full("table:table")) is None:
                ground = self.looks.fill(*style_of(shape), ground, flows=self.page.flows)
            look = replace(look, ground=ground, doubt=look.doubt or self.page.doubts(shape))
        self.writer.gap()
        self._within(look, partial(self.blocks, shape))
        self.writer.gap()

    def _within(self, look: TextProperties, write: Callable[[], None]) -> None:
        outer, self.look = self.look, look
        write()
        self.look = outer

    def aside(self, styles: Styles) -> "Flow":
        """A flow for what is looked at only: it counts nothing, and follows no objects."""
        return Flow(self.writer.aside(), self._document, styles, inside=True)

    def text_of(self, write: Callable[[], None], writer: TextWriter | None = None) -> str:
        """The text that a method of this flow would write."""
        outer, self.writer = self.writer, writer or self.writer.inner()
        label, self._label = self._label, ""
        write()
        inner, self.writer, self._label = self.writer, outer, label
        return inner.finish()[0]

    def hidden(self, kind: str, write: Callable[[], None]) -> None:
        """Count a stretch that nobody sees as a whole, with the notes in it; only the rule `keep` has it written."""
        before = {name: len(texts) for name, texts in self.notes.items()}
        text = self.text_of(write, self.writer.unseen())
        notes = [note for name, texts in self.notes.items() for note in texts[before[name] :]]
        if not self.writer.hide(kind, "".join([text, *notes])):
            self.writer.block(text)
            return
        for name, texts in self.notes.items():
            del texts[before[name] :]

    def write_notes(self) -> None:
        """Write the footnotes, then the endnotes, each behind its mark."""
        for kind, texts in self.notes.items():
            self.writer.gap()
            for place, text in enumerate(texts, start=1):
                self.writer.line(f"{_MARKS[kind].format(place)} {text.lstrip()}")
            self.writer.gap()
            texts.clear()

    def take_hung(self) -> list[Callable[[], None]]:
        """The calls that write the shapes and comments hanging on lines read by `inline`; each is given out once."""
        hung, self._hung = self._hung, []
        return hung

    def inline(self, paragraph: etree._Element) -> str:
        """The text of one paragraph; what hangs on it waits."""
        line = Line()
        look = self.looks.of("paragraph", attribute(paragraph, "text:style-name"), self.look)
        hiding = [mark for mark in named(paragraph, "text:hidden-paragraph")
                  if attribute(mark, "text:is-hidden") == "true"
                  and next(mark.iterancestors(full("text:p"), full("text:h")), None) is paragraph]  # fmt: skip
        self._inline(paragraph, line, replace(look, shown=False) if hiding else look)
        return line.finish()

    def _paragraph(self, paragraph: etree._Element) -> None:
        hung, self._hung = self._hung, []
        label, self._label = self._label, ""
        text, style = self.inline(paragraph), attribute(paragraph, "text:style-name")
        if name_of(paragraph.tag) == "text:h":
            level = max(1, whole_number(attribute(paragraph, "text:outline-level"), 1))
            is_listed = self.styles.value("paragraph", style, "", "style:list-style-name") != ""
            if not label and text.strip() and is_listed and attribute(paragraph, "text:is-list-header") != "true":
                label = self._lists.heading(level)
        else:
            names = (attribute(one, "style:name") for one in self.styles.chain("paragraph", style))
            level = next((_TITLES[name] for name in names if name in _TITLES), 0)
        if not text.strip():
            self.writer.gap()
        elif level:
            self.writer.heading(label + text, level)
        else:
            self.writer.line(label + text)
        for write in self._hung:
            write()
        self._hung = hung

    def _list(self, element: etree._Element) -> None:
        self._lists.begin(element)
        for item in element:
            # One without a text of its own, only with an inner list, has no number.
            texts = any(name_of(child.tag) in {"text:p", "text:h"} for child in item)
            if texts and name_of(item.tag) == "text:list-item":
                self._label = self._lists.label(item)
            self.blocks(item)
            self._label = ""
        self._lists.end()

    def _section(self, section: etree._Element) -> None:
        display = attribute(section, "text:display")
        if display == "none" or (display == "condition" and attribute(section, "text:is-hidden") == "true"):
            self.hidden("marked_hidden", lambda: self.blocks(section))
        else:
            self.blocks(section)

    def _table(self, table: etree._Element) -> None:
        self.writer.gap()
        look = self.looks.of("table", attribute(table, "table:style-name"), self.look)
        for column in named(table, "table:table-column"):  # hidden, or without room for letters
            name = attribute(column, "table:style-name")
            width = self.styles.value("table-column", name, "style:table-column-properties", "style:column-width")
            if attribute(column, "table:visibility") not in {"", "visible"} or (length(width) or _THIN) < _THIN:
                look = replace(look, doubt=look.doubt or "a narrow column")
        self._within(look, partial(self._rows, table))
        self.writer.gap()

    def _rows(self, holder: etree._Element) -> None:
        for child in holder:
            name, style = name_of(child.tag), attribute(child, "table:style-name")
            if name in _ROWS:
                self._rows(child)
            elif name == "table:table-row" and attribute(child, "table:visibility") in {"collapse", "filter"}:
                self.hidden("hidden_row", partial(self._row, child))
            elif name == "table:table-row":  # one of a fixed height cuts what is in it
                height = self.styles.value("table-row", style, "style:table-row-properties", "style:row-height")
                look = replace(self.looks.of("table-row", style, self.look), line=length(height))
                self._within(look, partial(self._row, child))

    def _row(self, row: etree._Element) -> None:
        cells: list[str] = []
        empty = 0
        for cell in row:
            count, text = repeats(cell, "table:number-columns-repeated"), self._cell(cell)
            if text:
                self.writer.reserve(empty * len(CELL) + count * len(text))
                cells += [""] * empty + [text] * count
            empty = 0 if text else empty + count
        count = repeats(row, "table:number-rows-repeated") if cells else 0
        self.writer.reserve(count * sum(map(len, cells)))
        for _ in range(count):
            self.writer.cells(cells)

    def _cell(self, cell: etree._Element) -> str:
        outer, self.look = self.look, self.looks.of("table-cell", attribute(cell, "table:style-name"), self.look)
        write = partial(self.blocks, cell)
        covered = name_of(cell.tag) == "table:covered-table-cell"
        text = self.text_of(partial(self.hidden, "covered", write) if covered else write)
        self.look = outer
        return text if attribute(cell, "office:value") != "NaN" else ""  # charts mark cells without a number so

    def _comment(self, comment: etree._Element) -> None:
        text = self.text_of(lambda: self.blocks(comment)).strip()
        author = comment.findtext(full("dc:creator")) or ""
        if text:
            self.writer.block(f"Comment{f' ({author})' if author else ''}: {text}")

    def _image(self, image: etree._Element) -> None:
        """Write a picture, but not one that stands in for an object, nor the second form of one."""
        frame = image.getparent()
        before = [] if frame is None else [name_of(one.tag) for one in frame if one is not image]
        first = frame is None or frame.find(full("draw:image")) is image
        if first and _OBJECTS.isdisjoint(before) and not self._inside:
            self.writer.block(self._document.picture_text(image))
        self.blocks(image)

    def _control(self, shape: etree._Element) -> None:
        control = self._document.controls.get(attribute(shape, "draw:control"))
        if control is not None:
            self.writer.block(control_text(control))

    def _object(self, element: etree._Element) -> None:
        if self._inside:
            self._document.unread += 1
        elif name_of(element.tag) == "draw:object-ole":
            self._document.give(element)
        elif (root := self._document.object(element)) is not None:
            self._show(root)

    def _show(self, root: etree._Element) -> None:
        """Write a chart or formula; other documents are not read."""
        if name_of(root.tag) == "math:math":
            self.writer.block(_formula_or_source(root))
            return
        charts = list(named(root, "office:chart"))
        for chart in charts:
            Flow(self.writer, self._document, Styles(root, root), inside=True).shape(chart)
        if not charts:
            self._document.unread += 1

    def _inline(self, element: etree._Element, line: Line, look: TextProperties) -> None:
        self._literal(element.text, line, look)
        for child in element:
            self._piece(child, line, look)
            self._literal(child.tail, line, look)

    def _literal(self, text: str | None, line: Line, look: TextProperties) -> None:
        if not text or ((kind := look.hides) and not text.isspace() and self.writer.hide(kind, text)):
            return
        if doubts := look.appearance.doubts:
            self.writer.doubtful(doubts, text)
        line.literal(text, look.drawn)

    def _piece(self, element: etree._Element, line: Line, look: TextProperties) -> None:
        name = name_of(element.tag)
        if name in BLANKS:
            line.blank(element)
        elif name == "text:note":
            line.exact(self._note(element, look.hides))
        elif name == "text:hidden-text":  # of a field that is shown only on a condition
            look = replace(look, shown=False) if attribute(element, "text:is-hidden") == "true" else look
            self._literal(element.text or attribute(element, "text:string-value"), line, look)
        elif name == "office:annotation":
            self._hung.append(partial(self._comment, element))
        elif name.startswith("draw:") and name != "draw:a":
            self._hang(element, line)
        elif name == "text:ruby-text":
            line.exact("(")
            self._inline(element, line, look)
            line.exact(")")
        elif name not in _SILENT:
            if name in FIELDS and (reason := contradiction(element, self._document)):
                self.writer.review(reason)
            self._inline(element, line, self.looks.of("text", attribute(element, "text:style-name"), look))

    def _note(self, note: etree._Element, kind_hidden: str | None) -> str:
        kind = attribute(note, "text:note-class")
        kind = kind if kind in _MARKS else "footnote"
        hung, self._hung = self._hung, []
        text = self.text_of(lambda: self.blocks(note))
        self._hung = hung
        if kind_hidden and self.writer.hide(kind_hidden, text):
            return ""
        self.notes[kind].append(text)
        return _MARKS[kind].format(len(self.notes[kind]))

    def _hang(self, element: etree._Element, line: Line) -> None:
        """A shape waits for the end of the paragraph, but a formula is part of its line."""
        first = next((child for child in element if name_of(child.tag) in _OBJECTS), None)
        if self._inside or first is None or name_of(first.tag) != "draw:object":
            self._hung.append(partial(self.block, element))
        elif (root := self._document.object(first)) is not None:
            if name_of(root.tag) == "math:math":
                line.exact(_formula_or_source(root))
            else:
                self._hung.append(partial(self._show, root))


def _formula_or_source(element: etree._Element) -> str:
    """A formula (MathML) in one line; where it shows nothing, the source that its annotation gives."""
    return formula_text(element) or " ".join(one.text or "" for one in element.iter(full("math:annotation")))
