"""Areas of a sheet, such as "A1:B5 C3", and the conditional formats that hold in them (ISO/IEC 29500-1, 18.3.1.10).

Whether a rule holds is not computed: a cell that would be hidden if it did is doubtful.
"""

import re
from collections.abc import Iterator
from typing import Generic, TypeVar

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.cells import column_number
from pipeline.parse.office.drawing.theme import UNKNOWN
from pipeline.parse.office.sheets.cell_styles import CellStyle, CellStyles
from pipeline.parse.office.sheets.number_formats import number_format
from pipeline.parse.sight.colours import WHITE

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
        """Let a value hold in areas, such as "A1:B5 C3"."""
        for area in read_areas(references):
            self.put(area, value)

    def put(self, area: Area, value: _Value) -> None:
        """Let a value hold in an area."""
        height = area[2] - area[0] + 1
        if height >= _TALL or self._listed + height > _MOST:
            self._tall.append((area, value))
            return
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
        return [(area, one) for area, one in near if area[0] <= row <= area[2] and area[1] <= column <= area[3]]

    def covers(self, row: int, column: int) -> bool:
        """Whether a cell lies in an area, and not in its first cell: merged cells show that one alone."""
        return any(area[:2] != (row, column) for area, _ in self.at(row, column) or ())


def read_areas(references: str) -> Iterator[Area]:
    """The areas of "A1:B5 C3"; "A:B" and "2:3" are whole columns and rows."""
    for reference in references.replace("$", "").split():
        first, _, last = reference.partition(":")
        (top, left), (bottom, right) = _place(first), _place(last or first)
        yield top or 1, left or 1, bottom or _ROWS, right or _COLUMNS


def _place(address: str) -> tuple[int, int]:
    row = _DIGITS.search(address)
    return whole_number(row[0] if row else None, 0), column_number(address if row else address + "1")


X14 = "{http://schemas.microsoft.com/office/spreadsheetml/2009/9/main}"
_NOTHING = CellStyle(format=number_format(";;;"))


class Conditions:
    """The rules of a sheet and the areas in which they hold."""

    def __init__(self) -> None:
        self._areas = Areas[CellStyle]()  # the change that a rule makes where it holds
        self.unsure = False  # whether the last style may be struck out, or show other numbers

    def read(self, element: etree._Element, styles: CellStyles) -> None:
        """Take up an element conditionalFormatting, whose rules refer to changes of the styles by number."""
        references = element.get("sqref") or " ".join(one.text or "" for one in element.iterchildren("{*}sqref"))
        for rule in element.iterchildren("{*}cfRule"):
            place = whole_number(rule.get("dxfId"), len(styles.changes))
            changes = [styles.changes[place]] if place < len(styles.changes) else styles.colours(rule)
            if any(one.get("showValue") in {"0", "false"} for one in rule):
                changes = [_NOTHING]
            for change in changes:
                self._areas.add(references, change)

    def applied(self, style: CellStyle, place: tuple[int, int], number: float | None) -> CellStyle:
        """The style of a cell at a row and column, doubtful where a rule may hide its text or number."""
        found, self.unsure = self._areas.at(*place), False
        if found is None:
            self.unsure = True
            return style._replace(doubt="conditions")
        is_hidden, together, plain = style.sight(number, style.font, WHITE)[0] is not None, style, style
        for _, change in found:
            together = together.under(change)
            for changed in (plain.under(change), together):
                kind, doubt = changed.sight(number, changed.font, WHITE)
                if is_hidden and not kind:
                    style = style._replace(doubt="a condition", fill=UNKNOWN)  # it may be what shows the text
                elif kind or doubt:
                    style = style._replace(doubt=style.doubt or "a condition")
            self.unsure |= bool(change.font.struck or (change.format and change != _NOTHING))
        return style
