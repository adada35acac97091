"""Areas of a sheet, such as "A1:B5 C3", and what holds in them."""

import re
from collections.abc import Iterator
from typing import Generic, TypeVar

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.cells import column_number

_DIGITS = re.compile(r"\d+")
_TALL = 1000  # rows, from which on an area is looked at for each cell
_MOST = 200_000  # rows of areas that are listed
_COMPARED = 10_000_000
_ROWS = 1_048_576
_COLUMNS = 16_384

Area = tuple[int, int, int, int]
"""The top row, left column, bottom row and right column, all from 1 and included."""
_Value = TypeVar("_Value")


class Areas(Generic[_Value]):
    """Values that hold in areas."""

    def __init__(self) -> None:
        self._tall: list[tuple[Area, _Value]] = []
        self._rows: dict[int, list[tuple[Area, _Value]]] = {}
        self._listed = 0
        self._compared = 0

    def add(self, references: str, value: _Value) -> None:
        """Let a value hold in areas."""
        for area in read_areas(references):
            height = area[2] - area[0] + 1
            if height >= _TALL or self._listed + height > _MOST:
                self._tall.append((area, value))
                continue
            self._listed += height
            for row in range(area[0], area[2] + 1):
                self._rows.setdefault(row, []).append((area, value))

    def at(self, row: int, column: int) -> list[tuple[Area, _Value]] | None:
        """The areas around a cell with their values; None once there were too many to look at for all cells."""
        if not self._tall and row not in self._rows:
            return []
        near = [*self._tall, *self._rows.get(row, ())]
        self._compared += len(near)
        if self._compared > _COMPARED:
            return None
        return [one for one in near if _holds(one[0], row, column)]


def read_areas(references: str) -> Iterator[Area]:
    """The areas of "A1:B5 C3"; "A:B" and "2:3" are whole columns and rows."""
    for reference in references.replace("$", "").split():
        first, _, last = reference.partition(":")
        (top, left), (bottom, right) = _place(first), _place(last or first)
        yield top or 1, left or 1, bottom or _ROWS, right or _COLUMNS


def _place(address: str) -> tuple[int, int]:
    row = _DIGITS.search(address)
    return whole_number(row[0] if row else None, 0), column_number(address if row else address + "1")


def _holds(area: Area, row: int, column: int) -> bool:
    return area[0] <= row <= area[2] and area[1] <= column <= area[3]
