"""Values of cells, as formulas take and give them (ISO/IEC 29500-1, 18.17.2)."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

Value = float | str | bool | None
"""The value of a cell: a number, a text, a truth value, or None for an empty one. Errors are raised."""


class UnknownError(Exception):
    """The formula holds what cannot be computed here."""


class FaultError(Exception):
    """The formula's result is an error, such as "#DIV/0!"."""


class Area(NamedTuple):
    """A range of cells of a sheet, by its name in lower case."""

    sheet: str
    top: int
    left: int
    bottom: int
    right: int

    def holds(self, row: int, column: int) -> bool:
        """Whether a cell lies in it."""
        return self.top <= row <= self.bottom and self.left <= column <= self.right


Operand = Value | Area


class Scope(Protocol):
    """Where a formula stands: the cells around it, and what names mean."""

    @property
    def sheet(self) -> str:
        """The sheet's name in lower case."""

    @property
    def refs(self) -> Sequence[tuple[int, int]]:
        """Row and column of each cell that the formula refers to."""

    @property
    def epoch(self) -> int:
        """The days from 1899-12-30 to the day 0 of the workbook's dates."""

    def value(self, sheet: str, row: int, column: int) -> Value:
        """The value of a cell; raises FaultError and UnknownError."""

    def values(self, area: Area) -> Iterator[Value]:
        """The values of an area's cells that are not empty; raises FaultError and UnknownError."""

    def table(self, name: str, columns: str) -> Area:
        """Columns of a table, as "[#This Row],[Net]"; "" is the table around the formula. Raises UnknownError."""

    def shows_all(self, area: Area) -> bool:
        """Whether no row of an area's sheet is hidden, and none of its cells is a subtotal."""

    def named(self, name: str) -> Operand:
        """What a defined name means; raises FaultError and UnknownError."""


Node = Callable[[Scope], Operand]


def single(scope: Scope, node: Node) -> Value:
    """The one value of an operand; raises UnknownError for a range."""
    found = node(scope)
    if not isinstance(found, Area):
        return found
    if found[1:3] != found[3:]:
        raise UnknownError
    return scope.value(found.sheet, found.top, found.left)


def number_of(value: Value) -> float:
    """A value as a number, as arithmetic takes it; raises FaultError for what is none."""
    if isinstance(value, str):
        try:
            return float(value) if value.strip().isascii() and "_" not in value else _unread()
        except ValueError:
            return _unread()
    return float(value or 0)


def _unread() -> float:
    raise UnknownError  # a date, an amount with a currency: programs read these as numbers, by their language


def text_of(value: Value) -> str:
    """A value as a text, as "&" takes it."""
    if isinstance(value, bool):
        return str(value).upper()
    if value is None or isinstance(value, str):
        return value or ""
    if value and not 1e-4 < abs(value) < 1e10:
        raise UnknownError
    return f"{value:.10g}"
