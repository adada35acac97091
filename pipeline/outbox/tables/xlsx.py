"""An Excel workbook with one sheet, written row by row, so that its length costs no memory.

Texts are written as texts, whatever they begin with: nothing that a document says becomes a formula or a link. Links
are written by us alone, to files beside the table.
"""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import xlsxwriter

from pipeline.outbox.tables.base import SCALE, Cell, Column, Kind, Line, TableRefusedError
from pipeline.text.visible import storable

_MOST_LINES = 1_048_575  # of a sheet, below its head
_MOST_CHARACTERS = 32_767  # of a cell
_MOST_LINK = 2_079
_MOST_DIGITS = 15  # that a number of a spreadsheet keeps
_FIRST_DAY = date(1900, 3, 1)  # before that, spreadsheets count a day that never was
_OPTIONS = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False,
            "strings_to_numbers": False, "default_date_format": "yyyy-mm-dd"}  # fmt: skip
_WIDTHS = {Kind.TEXT: 28, Kind.LINK: 28, Kind.MOMENT: 20}


def write(path: Path, columns: Sequence[Column], lines: Iterable[Line]) -> int:
    """Write the table; how many lines it has. OSError; TableRefusedError for more lines than a sheet has."""
    book = xlsxwriter.Workbook(str(path), _OPTIONS)
    sheet, count = book.add_worksheet("answers"), 0
    bold, formats = book.add_format({"bold": True}), [_format(book, column) for column in columns]
    decimals = [book.add_format({"num_format": f"{0:.{scale}f}"}) for scale in range(SCALE + 1)]
    for at, column in enumerate(columns):
        sheet.set_column(at, at, _WIDTHS.get(column.kind, 14))
        sheet.write_string(0, at, column.name[:_MOST_CHARACTERS], bold)
    sheet.freeze_panes(1, 1)
    try:
        for count, line in enumerate(lines, 1):
            if count > _MOST_LINES:
                raise TableRefusedError(f"a sheet has at most {_MOST_LINES:,} rows: write CSV or Parquet")
            for at, (column, cell) in enumerate(zip(columns, line, strict=True)):
                look = decimals[-int(cell.as_tuple().exponent)] if isinstance(cell, Decimal) else formats[at]
                _write(sheet, count, at, column, cell, look)
        sheet.autofilter(0, 0, count, max(len(columns) - 1, 0))
    finally:
        try:
            book.close()
        except xlsxwriter.exceptions.FileCreateError as error:
            raise error.args[0] if isinstance(error.args[0], OSError) else OSError(str(error)) from error
    return count


def _format(book: Any, column: Column) -> Any:
    match column.kind:
        case Kind.DATE:
            return book.add_format({"num_format": "yyyy-mm-dd"})
        case Kind.MOMENT:
            return book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        case Kind.LINK:
            return book.get_default_url_format()
        case _:
            return None


def _write(sheet: Any, row: int, at: int, column: Column, cell: Cell, look: Any) -> None:
    match cell:
        case None:
            return
        case datetime():
            sheet.write_datetime(row, at, cell.astimezone(UTC).replace(tzinfo=None), look)
        case date() if cell >= _FIRST_DAY:
            sheet.write_datetime(row, at, datetime(cell.year, cell.month, cell.day), look)
        case Decimal() if len(cell.as_tuple().digits) <= _MOST_DIGITS:
            sheet.write_number(row, at, float(cell), look)
        case int() | float():
            sheet.write_number(row, at, cell, look)
        case str() if column.kind is Kind.LINK and len(target := f"external:{quote(os.fsencode(cell))}") <= _MOST_LINK:
            sheet.write_url(row, at, target, look, storable(cell)[:255])
        case _:
            text = storable(format(cell, "f") if isinstance(cell, Decimal) else str(cell))
            sheet.write_string(row, at, text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…")
