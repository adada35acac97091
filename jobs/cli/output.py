"""What commands print on stdout: text for a person, or one JSON document."""

import dataclasses
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

UNWRAPPED = 160  # columns where no terminal says how many there are


def print_json(document: object) -> None:
    """One JSON document."""
    print(json.dumps(document, ensure_ascii=False, indent=2, default=_plain))


def print_json_array(rows: Iterable[object]) -> None:
    """One JSON array, row by row, so that its length costs no memory."""
    separator = "[\n"
    for row in rows:
        print(separator, json.dumps(row, ensure_ascii=False, default=_plain), sep="", end="")
        separator = ",\n"
    print("[]" if separator == "[\n" else "\n]")


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> None:
    """A table whose long cells go on in further lines; nothing is cut. `right`: columns of numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in head:
        number = column in right
        table.add_column(column, justify="right" if number else "left", no_wrap=number, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else UNWRAPPED).print(table)


def counted(number: int, noun: str) -> str:
    """`1 document`, `2 documents`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counts_line(counts: Mapping[str, int]) -> str:
    """The states that occur: `30 done, 3 failed`; `no documents` if there are none."""
    return ", ".join(f"{count:,} {state}" for state, count in counts.items() if count) or "no documents"


def _plain(value: object) -> Any:
    match value:
        case datetime() | date():
            return value.isoformat()
        case Path():
            return str(value)
        case bytes():
            return value.hex()
        case set() | frozenset():
            return sorted(value)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"no JSON for {type(value).__name__}")
