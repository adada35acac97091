"""Text of OpenDocument (ISO/IEC 26300-1, 5 and 6): paragraphs, lists, tables, shapes and what hangs on them.

A text box, chart or comment follows the paragraph that it hangs on. Insertions count, deletions do not.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.odf.document import OpenDocument, attribute, full, name_of, named, repeats
from pipeline.parse.office.odf.fields import FIELDS, contradictions
from pipeline.parse.office.odf.line import (
    Line,
    Lists,
    blank,
    control_text,
    formula_or_source,
    hides_itself,
    is_numbered,
)
from pipeline.parse.office.odf.styles import Looks, Styles, TextProperties, length
from pipeline.parse.office.odf.view import Page, style_of
from pipeline.parse.writer import CELL, TextWriter

_NOT_SHOWN = {"text:tracked-changes", "table:tracked-changes", "office:forms", "presentation:notes",
              "table:content-validations", "table:table-source"}  # fmt: skip
_SILENT = {"text:script", "svg:title", "svg:desc", "text:note-citation"}
_NO_SHAPES = {"draw:g", "draw:text-box", "draw:a", "draw:image"}
_OBJECTS = {"draw:object", "draw:object-ole"}
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
            "draw:object": self._object, "draw:object-ole": self._file, "draw:control": self._control,
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
        self.writer.gap()
        self._within(self._look_in(shape), partial(self.blocks, shape))
        self.writer.gap()

    def _look_in(self, shape: etree._Element) -> TextProperties:
        """The look in a shape: that of all text, on its own ground."""
        if name_of(shape.tag) in _NO_SHAPES or not name_of(shape.tag).startswith("draw:"):
            return self.look
        look = self.looks.of(*style_of(shape), self.looks.first)
        if not self.page.flows:
            look = self.looks.of("paragraph", attribute(shape, "draw:text-style-name"), look)
        ground = self.page.behind(shape)
        if shape.find(full("table:table")) is None:
            ground = self.looks.fill(*style_of(shape), ground, flows=self.page.flows)
        return replace(look, ground=ground, doubt=look.doubt or self.page.doubts(shape))

    def _within(self, look: TextProperties, write: Callable[[], None]) -> None:
        outer, self.look = self.look, look
        write()
        self.look = outer

    def aside(self, styles: Styles) -> "Flow":
        """A flow for what is looked at only: it counts nothing, and follows no objects."""
        return Flow(self.writer.aside(), self._document, styles, inside=True)

    def text_of(self, write: Callable[[], None]) -> str:
        """The text that a method of this flow would write."""
        return self._text_in(self.writer.inner(), write)

    def _text_in(self, writer: TextWriter, write: Callable[[], None]) -> str:
        outer, self.writer = self.writer, writer
        label, self._label = self._label, ""
        write()
        inner, self.writer, self._label = self.writer, outer, label
        return inner.finish()[0]

    def hidden(self, kind: str, write: Callable[[], None]) -> None:
        """Count a stretch that nobody sees as a whole, with the notes in it; only the rule `keep` has it written."""
        before = {name: len(texts) for name, texts in self.notes.items()}
        text = self._text_in(self.writer.unseen(), write)
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
        self._inline(paragraph, line, replace(look, shown=False) if hides_itself(paragraph) else look)
        return line.finish()

    def _paragraph(self, paragraph: etree._Element) -> None:
        hung, self._hung = self._hung, []
        label, self._label = self._label, ""
        text, level = self.inline(paragraph), self._level(paragraph)
        if name_of(paragraph.tag) == "text:h" and not label and text.strip():
            label = self._heading_label(paragraph, level)
        if level and text.strip():
            self.writer.heading(label + text, level)
        elif text.strip():
            self.writer.line(label + text)
        else:
            self.writer.gap()
        for write in self._hung:
            write()
        self._hung = hung

    def _level(self, paragraph: etree._Element) -> int:
        """The rank of a heading or title; 0 for other paragraphs."""
        if name_of(paragraph.tag) == "text:h":
            return max(1, whole_number(attribute(paragraph, "text:outline-level"), 1))
        names = self.styles.names("paragraph", attribute(paragraph, "text:style-name"))
        return next((_TITLES[name] for name in names if name in _TITLES), 0)

    def _heading_label(self, heading: etree._Element, level: int) -> str:
        name = attribute(heading, "text:style-name")
        without = self.styles.value("paragraph", name, "", "style:list-style-name") == ""
        return "" if without or attribute(heading, "text:is-list-header") == "true" else self._lists.heading(level)

    def _list(self, element: etree._Element) -> None:
        self._lists.begin(element)
        for item in element:
            if is_numbered(item):
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
        look, columns = self._look_of("table", table), list(named(table, "table:table-column"))
        if any(self._is_thin(one) for one in columns):
            look = replace(look, doubt=look.doubt or "a narrow column")
        self._within(look, partial(self._rows, table))
        self.writer.gap()

    def _rows(self, holder: etree._Element) -> None:
        for child in holder:
            name = name_of(child.tag)
            if name == "table:table-row":
                if attribute(child, "table:visibility") in {"collapse", "filter"}:
                    self.hidden("hidden_row", partial(self._row, child))
                else:
                    self._within(self._look_of("table-row", child), partial(self._row, child))
            elif name in {"table:table-header-rows", "table:table-rows", "table:table-row-group"}:
                self._rows(child)

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

    def _look_of(self, family: str, part: etree._Element) -> TextProperties:
        """The look in a region of a table; a row of a fixed height cuts what is in it."""
        name = attribute(part, "table:style-name")
        look = self.looks.of(family, name, self.look)
        height = self.styles.value(family, name, "style:table-row-properties", "style:row-height")
        return replace(look, line=length(height)) if family == "table-row" else look

    def _is_thin(self, column: etree._Element) -> bool:
        """Whether a column of a table of a text is hidden, or has no room for letters."""
        name = attribute(column, "table:style-name")
        width = self.styles.value("table-column", name, "style:table-column-properties", "style:column-width")
        return attribute(column, "table:visibility") not in {"", "visible"} or (length(width) or _THIN) < _THIN

    def _cell(self, cell: etree._Element) -> str:
        outer, self.look = self.look, self._look_of("table-cell", cell)
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
        first = frame is None or next(frame.iterchildren(full("draw:image")), None) is image
        if first and _OBJECTS.isdisjoint(before) and not self._inside:
            self.writer.block(self._document.picture_text(image))
        self.blocks(image)

    def _control(self, shape: etree._Element) -> None:
        control = self._document.controls.get(attribute(shape, "draw:control"))
        if control is not None:
            self.writer.block(control_text(control))

    def _file(self, element: etree._Element) -> None:
        if self._inside:
            self._document.unread += 1
        else:
            self._document.give(element)

    def _object(self, element: etree._Element) -> None:
        if self._inside:
            self._document.unread += 1
            return
        root = self._document.object(element)
        if root is not None:
            self._show(root)

    def _show(self, root: etree._Element) -> None:
        """Write a chart or formula; other documents are not read."""
        if name_of(root.tag) == "math:math":
            self.writer.block(formula_or_source(root))
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
        if name in {"text:s", "text:tab", "text:line-break"}:
            line.exact(blank(element))
        elif name == "text:note":
            line.exact(self._note(element, look.hides))
        elif name == "text:hidden-text":
            self._hidden_text(element, line, look)
        elif name == "office:annotation":
            self._hung.append(partial(self._comment, element))
        elif name.startswith("draw:") and name != "draw:a":
            self._hang(element, line)
        elif name == "text:ruby-text":
            line.exact("(")
            self._inline(element, line, look)
            line.exact(")")
        elif name not in _SILENT:
            for reason in contradictions(element, self._document) if name in FIELDS else ():
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

    def _hidden_text(self, element: etree._Element, line: Line, look: TextProperties) -> None:
        """Add the text of a field that is shown only on a condition."""
        look = replace(look, shown=False) if attribute(element, "text:is-hidden") == "true" else look
        self._literal(element.text or attribute(element, "text:string-value"), line, look)

    def _hang(self, element: etree._Element, line: Line) -> None:
        """A shape waits for the end of the paragraph, but a formula is part of its line."""
        objects = [child for child in element if name_of(child.tag) in _OBJECTS]
        if not self._inside and objects and name_of(objects[0].tag) == "draw:object":
            root = self._document.object(objects[0])
            if root is not None and name_of(root.tag) == "math:math":
                line.exact(formula_or_source(root))
            elif root is not None:
                self._hung.append(partial(self._show, root))
        else:
            self._hung.append(partial(self.block, element))
