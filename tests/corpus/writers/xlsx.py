"""A workbook: each heading of the first level begins a sheet; numbers and dates are real cells, not text."""

import io
import re
from datetime import datetime

import xlsxwriter
from markup import Block, Source
from xlsxwriter.worksheet import Worksheet


def write(source: Source) -> bytes:
    """The body as XLSX."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        created = datetime.fromisoformat(source.headers["Date"])
        book.set_properties({key.lower(): source.headers[key] for key in ("Title", "Author")} | {"created": created})
        date, money = book.add_format({"num_format": "yyyy-mm-dd"}), book.add_format({"num_format": "#,##0.00"})
        for block in source.blocks:
            if block.kind == "heading":
                sheet, row = book.add_worksheet(block.text), 0
            else:
                row = _add(sheet, block, row, {"date": date, "money": money}) + 1
    return out.getvalue()


def _add(sheet: Worksheet, block: Block, row: int, formats: dict) -> int:
    for cells in block.rows if block.kind == "table" else [[line] for line in block.lines]:
        for column, text in enumerate(cells):
            _put(sheet, row, column, text, formats)
        row += 1
    return row


def _put(sheet: Worksheet, row: int, column: int, text: str, formats: dict) -> None:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        sheet.write_datetime(row, column, datetime.fromisoformat(text), formats["date"])
    elif re.fullmatch(r"-?\d+", text):
        sheet.write_number(row, column, int(text))
    elif re.fullmatch(r"-?\d+\.\d+", text):
        sheet.write_number(row, column, float(text), formats["money"])
    else:
        sheet.write_string(row, column, text)
