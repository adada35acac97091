"""Values of cells, as formulas take and give them (ISO/IEC 29500-1, 18.17.2)."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

Value = float | str | bool | None
"""The value of a cell: a number, a text, a truth value, or None for an empty one. Errors are raised."""
Place = tuple[str, int, int]
"""The sheet by its name in lower case, row and column of a cell."""


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


class Cells(Protocol):
    """The cells of a workbook, and what names mean in it; all but `epoch` may raise FaultError and UnknownError.

    `epoch`: the days from 1899-12-30 to the day 0 of the workbook's dates. `values` are those of cells that are not
    empty. `table`: columns of a table, as "[#This Row],[Net]", seen from a place; "" is the table around it.
    `shows_all`: no row of an area's sheet is hidden, and none of its cells is a subtotal.
    """

    epoch: int

    def value(self, place: Place) -> Value: ...
    def values(self, area: Area) -> Iterator[Value]: ...
    def table(self, name: str, columns: str, place: Place) -> Area: ...
    def shows_all(self, area: Area) -> bool: ...
    def named(self, name: str, sheet: str) -> Operand: ...


class Scope(NamedTuple):
    """Where a formula stands; `refs` are row and column of each cell that it refers to."""

    cells: Cells
    place: Place
    refs: Sequence[tuple[int, int]]

    def single(self, node: "Node") -> Value:
        """The one value of an operand; raises UnknownError for a range."""
        found = node(self)
        if not isinstance(found, Area):
            return found
        if found[1:3] != found[3:]:
            raise UnknownError
        return self.cells.value(found[:3])


Node = Callable[[Scope], Operand]


def number_of(value: Value) -> float:
    """A value as a number, as arithmetic takes it; raises UnknownError for a date, or an amount with a currency, say:
    programs read these as numbers, by their language."""
    if not isinstance(value, str):
        return float(value or 0)
    if not value.strip().isascii() or "_" in value:
        raise UnknownError
    try:
        return float(value)
    except ValueError:
        raise UnknownError from None


def text_of(value: Value) -> str:
    """A value as a text, as "&" takes it."""
    if isinstance(value, bool):
        return str(value).upper()
    if value is None or isinstance(value, str):
        return value or ""
    if value and not 1e-4 < abs(value) < 1e10:
        raise UnknownError
    return f"{value:.10g}"
