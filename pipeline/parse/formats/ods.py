"""OpenDocument spreadsheets (ISO/IEC 26300-1, 3.7 and 9): each sheet a page with its name as heading, then its rows.

Rows and cells are read as they come, so that a million empty ones cost nothing. Columns that are empty on the whole
sheet are left out. Numbers are read as they are shown, dates and times in ISO form; both have to agree with what is
stored, and that with its formula. Shapes and comments follow the rows.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from lxml import etree

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.markup.reading import LXML, decimal
from pipeline.parse.office.cells import column_letters, iso_duration, iso_moment, number_text, reads_as, reads_as_moment
from pipeline.parse.office.odf.cells import defined_names, read_grid, stored_value
from pipeline.parse.office.odf.document import OpenDocument, attribute, full, name_of, named, repeats
from pipeline.parse.office.odf.styles import Styles, TextProperties, length
from pipeline.parse.office.odf.text import Flow
from pipeline.parse.office.odf.view import lies_over
from pipeline.parse.office.sheets.results import Results
from pipeline.parse.sight.colours import WHITE
from pipeline.parse.sight.look import EDGE
from pipeline.parse.writer import CELL

PARSER = f"ods/5 {LXML}"
_HIDDEN = {"collapse", "filter"}
_HOLDERS = {"table:table-header-rows", "table:table-rows", "table:table-row-group", "table:table-header-columns",
            "table:table-columns", "table:table-column-group"}  # fmt: skip
_ROW, _COLUMN = "style:table-row-properties", "style:table-column-properties"


def parse(source: Source, media_type: str) -> Parsed:
    """The workbook; raises DocumentError."""
    document, writer = OpenDocument(source.data, source.members), source.writer()
    flow = Flow(writer, document, Styles(document.common, document.content))
    if ("ShowFormulas", "true") in document.settings:
        writer.review("its sheets show formulas in place of their results, which were read")
    empty, body = True, document.body("office:spreadsheet")
    tables = {attribute(table, "table:name").lower(): table for table in body.iterchildren(full("table:table"))}
    shows_zeros = ("ShowZeroValues", "false") not in document.settings
    results = Results(lambda one: read_grid(tables[one]) if one in tables else None, defined_names(body), stale=False)
    for table in body.iterchildren(full("table:table")):
        name, style = attribute(table, "table:name"), attribute(table, "table:style-name")
        is_hidden = flow.styles.value("table", style, "style:table-properties", "table:display") == "false"
        writer.page("" if is_hidden else name, "sheet")
        before = writer.length
        if is_hidden:
            flow.hidden("hidden_sheet", partial(_write_sheet, flow, results, table, name, shows_zeros, is_hidden=True))
        else:
            writer.block(name)
            before = writer.length
            _write_sheet(flow, results, table, name, shows_zeros)
        empty = empty and writer.length == before
    if any(True for _ in named(body, "table:shapes")) or lies_over(body, flow.styles):
        writer.doubt("drawings may lie over cells")
    notes = [*results.finish(source.hidden), *document.notes()]
    if empty:  # names of sheets are no content
        unseen = [f"; {one.characters} characters of hidden text" for one in source.hidden.found()]
        failure = Failure.NEEDS_OCR if document.pictures else Failure.EMPTY
        raise DocumentError(failure, "its sheets hold no text" + "".join(unseen[:1]))
    return finish(source, writer, media_type, PARSER, notes=notes)


def _write_sheet(
    flow: Flow, results: Results, table: etree._Element, name: str, shows_zeros: bool, *, is_hidden: bool = False
) -> None:
    flow.writer.block(name if is_hidden else "")
    sheet = _Sheet(flow, results, name, shows_zeros)
    sheet.read(table)
    sheet.write()


class _Sheet:
    """The cells of one sheet that hold text, and what hangs on them."""

    def __init__(self, flow: Flow, results: Results, name: str, shows_zeros: bool) -> None:
        self._flow = flow
        self._results = results
        self._name = name
        self._shows_zeros = shows_zeros
        self._looks: dict[tuple[str, str, bool], tuple[TextProperties, str | None]] = {}
        self._row = self._column = 0  # how many have been read
        self._characters = 0  # of all cells, with what stands between them
        self._rows: list[tuple[int, int, dict[int, str]]] = []  # the first of equal rows, how many, text by column
        self._columns: list[tuple[int, bool, str]] = []  # the first of equal ones, whether hidden, the style of cells
        self._comments: list[str] = []
        self._shapes: list[Callable[[], None]] = []

    def read(self, holder: etree._Element) -> None:
        """Read the columns, rows and shapes of a table or of a group in it."""
        for child in holder:
            name = name_of(child.tag)
            if name == "table:table-row":
                self._read_row(child)
            elif name == "table:table-column":
                style = attribute(child, "table:style-name")
                width = length(self._flow.styles.value("table-column", style, _COLUMN, "style:column-width"))
                hidden = attribute(child, "table:visibility") in _HIDDEN or (width is not None and width <= EDGE)
                self._columns.append((self._column, hidden, attribute(child, "table:default-cell-style-name")))
                self._column += repeats(child, "table:number-columns-repeated")
            elif name == "table:shapes":
                self._shapes += [partial(self._flow.block, shape) for shape in child]
            elif name in _HOLDERS:
                self.read(child)

    def write(self) -> None:
        """Write the rows, then the shapes and comments."""
        writer = self._flow.writer
        columns = sorted({column for _, _, cells in self._rows for column in cells})
        end = None
        for row, count, cells in self._rows:
            if end is not None and row > end:
                writer.gap()
            end = row + count
            for _ in range(count):
                writer.row(cells.get(column, "") for column in columns)
        writer.gap()
        for write_shape in self._shapes:
            write_shape()
        for comment in self._comments:
            writer.block(comment)
        self._flow.write_notes()

    def _read_row(self, row: etree._Element) -> None:
        count, column, writer = repeats(row, "table:number-rows-repeated"), 0, self._flow.writer
        row_hidden = attribute(row, "table:visibility") in _HIDDEN
        cells: dict[int, str] = {}
        for cell in row:
            width = repeats(cell, "table:number-columns-repeated")
            if text := self._read_cell(cell, column, row):
                self._characters += (len(text) + len(CELL)) * width * count
                writer.reserve(self._characters)
                for place in range(column, column + width):
                    hidden = row_hidden or (place < self._column and self._column_at(place)[0])
                    if not (hidden and writer.hide("hidden_row", text * count)):
                        cells[place] = text
            column += width
        if cells:
            self._rows.append((self._row, count, cells))
        self._row += count

    def _column_at(self, column: int) -> tuple[bool, str]:
        """Whether a column is hidden, and the style of cells in it that say none."""
        place = bisect_right(self._columns, column, key=lambda one: one[0])
        return self._columns[place - 1][1:] if place else (False, "")

    def _read_cell(self, cell: etree._Element, column: int, row: etree._Element) -> str:
        """The text of a cell as far as it is seen, by its style and the height of its row; what hangs on it is kept."""
        flow = self._flow
        for child in cell:
            name = name_of(child.tag)
            if name == "office:annotation":
                text, author = flow.text_of(partial(flow.blocks, child)), child.findtext(full("dc:creator")) or ""
                self._comments.append(f"Comment ({column_letters(column + 1)}{self._row + 1}, {author}): {text}")
            elif name.startswith("draw:"):
                self._shapes.append(partial(flow.block, child))
        style = attribute(cell, "table:style-name") or attribute(row, "table:default-cell-style-name")
        is_text = attribute(cell, "office:value-type") in {"string", ""}  # which is judged by its parts
        row_style = attribute(row, "table:style-name")
        look, kind = self._look(style or self._column_at(column)[1], row_style, is_text)
        outer, flow.look = flow.look, look
        text = self._text(cell, column)
        flow.look = outer
        if not self._shows_zeros and decimal(attribute(cell, "office:value")) == 0:
            kind = "marked_hidden"
        if kind and text and not is_text and flow.writer.hide(kind, text):
            text = ""
        elif not kind and not is_text and look.appearance.doubts:
            flow.writer.doubtful(look.appearance.doubts, text)
        self._shapes += flow.take_hung()
        covered = name_of(cell.tag) == "table:covered-table-cell"
        return "" if covered and text and flow.writer.hide("covered", text) else text

    def _look(self, style: str, row_style: str, is_text: bool) -> tuple[TextProperties, str | None]:
        """The look of cells of a style in rows of a style, and how it hides them; remembered, for there are few."""
        key = style, row_style, is_text
        if key not in self._looks:
            flow, styles = self._flow, self._flow.styles
            height = styles.value("table-row", row_style, _ROW, "style:row-height")
            look = flow.looks.of("table-cell", style, replace(flow.looks.first, ground=WHITE, line=length(height)))
            if any(one.find(full("style:map")) is not None for one in styles.chain("table-cell", style)):
                look = replace(look, doubt="a condition")
            written = styles.value("table-cell", style, "", "style:data-style-name") or ""
            if styles.shows_nothing(written, of_text=is_text):
                look = replace(look, shown=False)
            if doubt := styles.colours_text(written, look.ground):
                look = replace(look, doubt=look.doubt or doubt)
            self._looks[key] = look, look.hides
        return self._looks[key]

    def _text(self, cell: etree._Element, column: int) -> str:
        """The text of a cell: numbers as they are shown, moments in ISO form."""
        kind, place = attribute(cell, "office:value-type"), (self._name, self._row + 1, column + 1)
        lines = list(cell.iterchildren(full("text:p")))
        shown = " ".join("".join(map(str, line.itertext())) if len(line) else line.text or "" for line in lines).strip()
        if kind in {"date", "time"}:
            said = attribute(cell, f"office:{kind}-value")
            if not reads_as_moment(shown, said):
                self._results.doubt(*place, shown, said)
            if attribute(cell, "table:formula"):
                self._results.settle(*place, stored_value(cell))
            return self._flow.look.drawn(iso_moment(said) if kind == "date" else iso_duration(said))
        stored, value = stored_value(cell)
        if attribute(cell, "table:formula"):
            found = self._results.settle(*place, (stored, value))
            if found != (stored, value):
                return self._flow.look.drawn(number_text(found[1], "", 0) if found[0] == "n" else found[1])
        number = decimal(value) if stored == "n" else None
        if number is not None:
            if shown and not reads_as(shown, number):
                self._results.doubt(*place, shown, value)
            return self._flow.look.drawn(shown or number_text(value, "", 0))
        if kind == "boolean":
            return self._flow.look.drawn(value)
        said = attribute(cell, "office:string-value")
        if said and shown and said.split() != shown.split():
            self._results.doubt(*place, shown, said)
        texts = [self._flow.inline(line) for line in lines]
        if any(texts) or shown or not said:
            return "\n".join(texts)
        hidden = self._flow.look.hides
        return "" if hidden and self._flow.writer.hide(hidden, said) else self._flow.look.drawn(said)
