"""The older and the rarer workbooks: XLS and XLSB. Values come through calamine, what cells show of them from the
records beside it: number formats, letters, hidden rows and columns, formulas; of XLS also comments and text boxes.
"""

import datetime
import io
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import python_calamine

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.limits import Limits
from pipeline.parse.office.binary.ole import CompoundFile, format_compound
from pipeline.parse.office.cells import number_text
from pipeline.parse.office.sheets.biff import Sheet, read_sheets
from pipeline.parse.office.sheets.grid import Formula, Grid, Stored
from pipeline.parse.office.sheets.results import Results
from pipeline.parse.office.sheets.sheet import SHOWS_FORMULAS
from pipeline.parse.office.sheets.xlsb import read_workbook
from pipeline.parse.sight.colours import WHITE
from pipeline.parse.writer import TextWriter

PARSER = f"sheets/5 python-calamine {version('python-calamine')}"
_SMALL = "small"  # a small stream, without any of which calamine takes a file for an empty one
_XLS = "application/vnd.ms-excel"
_CELL = 40  # bytes for each cell; calamine holds the grids of all sheets, one of them twice, and room for the largest


def parse(source: Source, media_type: str) -> Parsed:
    """The workbook, laid out as by xlsx.py; what is not read, a note says."""
    writer, data = source.writer(), source.data
    if media_type == _XLS:  # the workbook alone in a sound compound file: calamine panics where one is damaged
        file = CompoundFile(data)
        stream = file.need(file.root, "Workbook")
        listed = read_sheets(stream)
        _check_grids(listed, source.limits)
        data, sheets = format_compound({"Workbook": stream, _SMALL: b"\0"}), {sheet.name: sheet for sheet in listed}
    else:
        sheets = read_workbook(data)
    try:
        book = _Book(python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data)), sheets)
        empty = not [one for one in book.workbook.sheets_metadata if book.write(writer, one)]
    except python_calamine.PasswordError as error:
        raise DocumentError(Failure.ENCRYPTED, "a workbook with a password") from error
    except (python_calamine.CalamineError, OSError) as error:
        raise DocumentError(Failure.CORRUPT, f"not a readable workbook: {error}") from error
    notes = book.results.finish(source.hidden)
    notes += [] if media_type == _XLS else ["comments, text boxes and charts of this format are not read"]
    if charts := sum(sheet.charts for sheet in sheets.values()):
        notes.append(f"charts not read: {charts}")
    if conditions := sum(sheet.conditions for sheet in sheets.values()):
        notes.append(f"conditional formats not read: {conditions}")
        source.hidden.doubt("conditional formats")
    if any(sheet.strikes_parts for sheet in sheets.values()):
        source.hidden.review("letters within texts may be struck out, which is not read in this format")
    if empty:
        unseen = "".join(f"; {one.characters} characters of hidden text" for one in source.hidden.found()[:1])
        raise DocumentError(Failure.EMPTY, f"its sheets hold no text{unseen}")
    return finish(source, writer, media_type, PARSER, notes=notes)


class _Book:
    """A workbook that calamine reads, with what stands beside its cells, by the sheets' names."""

    def __init__(self, workbook: python_calamine.CalamineWorkbook, sheets: dict[str, Sheet]) -> None:
        self.workbook = workbook
        self._sheets = sheets
        self._last: tuple[str | None, int, int, list[list[Any]]] = None, 0, 0, []
        self._names = {name.lower(): name for name in sheets}
        self.results = Results(self._grid, {}, stale=False)

    def write(self, writer: TextWriter, sheet: python_calamine.SheetMetadata) -> bool:
        """Write a sheet, unless it is hidden and to be left out; whether there is something on it."""
        hidden = sheet.visible != python_calamine.SheetVisibleEnum.Visible
        inner = writer.unseen() if hidden else writer.inner()
        beside = self._sheets.get(sheet.name, Sheet(sheet.name))
        top, left, rows = self._rows(sheet.name)
        if beside.shows_formulas:
            inner.review(SHOWS_FORMULAS.format(sheet.name))
        for number, row in enumerate(rows, start=top):
            inner.row(self._shown(inner, beside, number, left, row))
        for text in beside.boxes:
            inner.block(text)
        for place, author, text in beside.comments:
            inner.block(f"Comment ({place}, {author}): {text}")
        text = inner.finish()[0]
        if hidden and writer.hide("hidden_sheet", text):
            writer.page()
            return False
        writer.page(sheet.name, "sheet")
        writer.block(sheet.name)
        writer.line(text)
        return bool(text.strip())

    def _rows(self, name: str) -> tuple[int, int, list[list[Any]]]:
        """The values of a sheet, from the row and column on where they begin, counted from 0."""
        if self._last[0] != name:
            sheet = self.workbook.get_sheet_by_name(name)
            self._last = name, *(sheet.start or (0, 0)), sheet.to_python(skip_empty_area=True)
        return self._last[1:]

    def _grid(self, name: str) -> Grid | None:
        if name not in self._names:
            return None
        grid = Grid()
        top, left, rows = self._rows(self._names[name])
        for number, row in enumerate(rows, start=top + 1):
            cells = enumerate(map(_stored, row), start=left + 1)
            grid.rows[number] = {column: stored for column, stored in cells if stored[1]}
        for (row_number, column), formula in self._sheets[self._names[name]].formulas.items():
            grid.formulas[row_number + 1, column + 1] = Formula(formula)
        return grid

    def _shown(self, writer: TextWriter, sheet: Sheet, row: int, left: int, values: list[Any]) -> Iterator[str]:
        """What the cells of a row show, without what nobody sees, whose place stays empty."""
        for column, value in enumerate(values, start=left):
            text = _text(value)
            if not text:
                yield ""
                continue
            style, how = sheet.style(row, column), sheet.hides(row, column)
            number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
            kind, doubt = style.sight(number, style.font, WHITE)
            how = how or ("marked_hidden" if number == 0 and not sheet.shows_zeros else kind)
            if how and writer.hide(how, text):
                yield ""
                continue
            if doubt and not how:
                writer.doubtful(doubt, text)
            if (row, column) in sheet.formulas:
                self.results.settle(sheet.name, row + 1, column + 1, _stored(value))
            if number is not None or isinstance(value, str):
                shown = style.show(number, text if number is None else repr(number), 0)
                if shown.doubtful and not how:
                    self.results.doubt(sheet.name, row + 1, column + 1, shown.text, text)
                text = text if how else shown.text
            yield style.font.marks(text)


def _stored(value: Any) -> Stored:
    if isinstance(value, bool):
        return "b", str(value).upper()
    if isinstance(value, int | float):
        return "n", number_text(repr(float(value)), "", 0)
    if isinstance(value, str):
        return ("e" if value.startswith("#") and value.upper() == value else "str" if value else "n"), value
    return "d", str(value)


def _check_grids(sheets: list[Sheet], limits: Limits) -> None:
    if not sheets:
        return
    most = max(sheets, key=lambda sheet: max(sheet.cells, sheet.said))
    cells = sum(sheet.cells for sheet in sheets) + max(sheet.cells for sheet in sheets)
    cells += max(sheet.said for sheet in sheets)
    if cells * _CELL > limits.memory_bytes * 3 // 4:
        raise DocumentError(
            Failure.TOO_LARGE,
            f"sheet {most.name!r} spans {max(most.cells, most.said):,} cells; all have to be held in memory at once, "
            f"for which {limits.named('memory_bytes')} is too little",
        )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "seconds")
    return str(value)
