"""A table to take away: flat columns with one type each, and what a format has to write of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Protocol


class Kind(Enum):
    """The type of a column."""

    TEXT = "text"
    INTEGER = "integer"
    REAL = "real"
    DECIMAL = "decimal"
    DATE = "date"
    MOMENT = "moment"
    LINK = "link"  # a file, as a path relative to the table


@dataclass(frozen=True)
class Column:
    """A column by its name."""

    name: str
    kind: Kind


DIGITS, SCALE = 38, 9
"""Digits of every DECIMAL, and how many of them are behind the point: always the same, so that tables can be read
together and multiplied."""

Cell = str | int | float | Decimal | date | datetime | None
Line = Sequence[Cell]


@dataclass
class Counted:
    """Lines that are counted as they go by."""

    lines: Iterable[Line]
    count: int = 0

    def __iter__(self) -> Iterator[Line]:
        for line in self.lines:
            self.count += 1
            yield line


class Format(Protocol):
    """A member of the family: writes a table to a new file."""

    def __call__(self, path: Path, columns: Sequence[Column], lines: Iterable[Line], /) -> int:
        """Write the table; how many lines it has. OSError; TableRefusedError where the format cannot hold it."""


class TableRefusedError(ValueError):
    """The format cannot hold the table; the message says why, and what to do."""
