"""JSON Lines: an object a line. Decimals are texts, for JSON's numbers are not exact everywhere."""

import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipeline.outbox.tables.base import Cell, Column, Counted, Line
from pipeline.text.visible import storable


def write(path: Path, columns: Sequence[Column], lines: Iterable[Line]) -> int:
    """Write the table; how many lines it has. OSError."""
    names = [column.name for column in columns]
    with path.open("w", encoding="utf-8") as file:
        for line in (counted := Counted(lines)):
            told = dict(zip(names, map(_plain, line), strict=True))
            file.write(json.dumps(told, ensure_ascii=False) + "\n")
    return counted.count


def _plain(cell: Cell) -> Any:
    match cell:
        case datetime():
            return cell.isoformat(timespec="milliseconds")
        case date():
            return cell.isoformat()
        case str():
            return storable(cell)
        case Decimal():
            return format(cell, "f")
        case _:
            return cell
