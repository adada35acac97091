"""Areas of a sheet, such as "A1:B5 C3", and the conditional formats that hold in them (ISO/IEC 29500-1, 18.3.1.10).

Known are rules that always hold, those that compare a cell with numbers or texts, and those on blanks and errors. Any
other may hold or not: a cell that would be hidden if it did is doubtful.
"""

import operator
import re
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.cells import column_number
from pipeline.parse.office.sheets.cell_styles import CellStyle, CellStyles, S
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
        return [(area, one) for area, one in near if area[0] <= row <= area[2] and area[1] <= column <= area[3]]


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
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_COMPARE = {
    "lessThan": operator.lt, "lessThanOrEqual": operator.le, "equal": operator.eq, "notEqual": operator.ne,
    "greaterThanOrEqual": operator.ge, "greaterThan": operator.gt,
}  # fmt: skip
_KNOWN = {"notContainsBlanks": True, "containsBlanks": False, "notContainsErrors": True, "containsErrors": False}
_NOTHING = CellStyle(format=number_format(";;;"))
_Key = tuple[int, float | str]


class Rule(NamedTuple):
    """A rule: its kind (ST_CfType), its operator, its formulas, and how cells look where it holds."""

    priority: int
    kind: str
    operator: str
    formulas: tuple[str, ...]
    change: CellStyle

    def holds(self, text: str, number: float | None) -> bool | None:
        """Whether the rule holds for a cell with a text or a number; None where that is not known."""
        if self.kind in _KNOWN:
            return _KNOWN[self.kind] if not text.startswith("#") else None
        keys = [_constant(formula) for formula in self.formulas]
        if self.kind == "expression":
            return None if not keys or keys[0] is None else keys[0] != (0, 0.0)
        if self.kind == "iconSet":
            return number is not None
        if self.kind != "cellIs":
            return None
        own: _Key = (1, text.lower()) if number is None else (0, number)
        known = [key for key in keys if key is not None]
        if len(known) < len(keys) or len(known) != (2 if "etween" in self.operator else 1):
            return None
        if len(known) == 2:
            return (min(known) <= own <= max(known)) == (self.operator == "between")
        return bool(_COMPARE[self.operator](own, known[0])) if self.operator in _COMPARE else None


class Conditions:
    """The rules of a sheet and the areas in which they hold."""

    def __init__(self) -> None:
        self._areas = Areas[Rule]()
        self.unsure = False  # whether the last style may be struck out, or show other numbers

    def read(self, element: etree._Element, styles: CellStyles) -> None:
        """Take up an element conditionalFormatting, whose rules refer to changes of the styles by number."""
        references = element.get("sqref") or " ".join(one.text or "" for one in element.iterchildren("{*}sqref"))
        for rule in element.iterchildren("{*}cfRule"):
            place = whole_number(rule.get("dxfId"), len(styles.changes))
            changes = [styles.changes[place]] if place < len(styles.changes) else []
            if any(one.get("showValue") in {"0", "false"} for one in rule):
                changes, kind = [_NOTHING], "iconSet"
            else:
                kind = rule.get("type", "") if changes else ""
                changes = changes or styles.colours(rule)
            formulas = tuple(one.text or "" for one in rule.iterchildren(S + "formula"))
            for change in changes:
                priority = whole_number(rule.get("priority"), 0)
                self._areas.add(references, Rule(priority, kind, rule.get("operator", ""), formulas, change))

    def applied(self, style: CellStyle, place: tuple[int, int], text: str, number: float | None) -> CellStyle:
        """The style of a cell at a row and column with the rules that hold for its text or number."""
        found, self.unsure = self._areas.at(*place), False
        if found is None:
            self.unsure = True
            return style._replace(doubt="conditions")
        for _, rule in sorted(found, key=lambda one: -one[1].priority):
            holds = rule.holds(text, number)
            if holds:
                style = style.under(rule.change)
            elif holds is None and (rule.change.font.struck or rule.change.format):
                self.unsure = True
            elif holds is None:
                changed = style.under(rule.change)
                kind, doubt = changed.sight(number, changed.font, WHITE)
                style = style._replace(doubt=style.doubt or "a condition") if kind or doubt else style
        return style


def _constant(formula: str) -> _Key | None:
    """The value of a formula that is a constant: numbers come before texts; None for what has to be computed."""
    formula = formula.strip().removeprefix("=").strip()
    if _NUMBER.fullmatch(formula):
        return 0, float(formula)
    if formula.upper().removesuffix("()") in {"TRUE", "FALSE"}:
        return 0, float(formula.upper().startswith("TRUE"))
    left, equals, right = formula.partition("=")
    if equals and _NUMBER.fullmatch(left.strip()) and _NUMBER.fullmatch(right.strip()):
        return 0, float(float(left) == float(right))
    quoted = formula[1:-1]
    return (1, quoted.lower()) if len(formula) > 1 and formula == f'"{quoted}"' and '"' not in quoted else None
