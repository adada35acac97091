"""CSV (RFC 4180) in UTF-8 with the mark at its start by which spreadsheets know it.

A text that a spreadsheet would take for a formula gets an apostrophe before it: so none is computed, whatever a
document says.
"""

import csv
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

from pipeline.outbox.tables.base import Cell, Column, Counted, Line
from pipeline.text.visible import storable

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001  wide forms are taken too
_APOSTROPHE = "'"


def write(path: Path, columns: Sequence[Column], lines: Iterable[Line]) -> int:
    """Write the table; how many lines it has. OSError."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([harmless(column.name) for column in columns])
        for line in (counted := Counted(lines)):
            writer.writerow([to_text(cell) for cell in line])
    return counted.count


def harmless(text: str) -> str:
    """The text, which no spreadsheet takes for a formula."""
    return _APOSTROPHE + text if text.lstrip(_APOSTROPHE).startswith(_FORMULA) else text


def as_it_was(text: str) -> str:
    """The inverse of `harmless`."""
    return text[1:] if text.startswith(_APOSTROPHE) and text.lstrip(_APOSTROPHE).startswith(_FORMULA) else text


def to_text(cell: Cell) -> str:
    """A cell as CSV has it."""
    match cell:
        case None:
            return ""
        case str():
            return harmless(storable(cell).replace("\0", "\ufffd"))
        case datetime():
            return cell.isoformat(timespec="seconds")
        case date():
            return cell.isoformat()
        case Decimal():
            return format(cell, "f")
        case _:
            return str(cell)
