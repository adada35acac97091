"""The cells of a sheet as they are stored, with its formulas and tables: what formulas are computed from."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.cells import unescaped
from pipeline.parse.office.package import Package
from pipeline.parse.office.sheets.conditions import read_areas
from pipeline.parse.office.sheets.formulas import references
from pipeline.parse.office.sheets.values import Area, UnknownError

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_TEXT = re.compile(r'"(?:[^"]|"")*"')
_OUTSIDE = re.compile(
    r"[!\[:]|\b(?:NOW|TODAY|RAND\w*|ROWS?|COLUMNS?|SHEETS?|CELL|INFO|RTD|WEBSERVICE|CUBE\w*|INDIRECT|OFFSET)\b"
    r"|\b(?!(?:TRUE|FALSE)\b)[^\W\d][\w.]*(?![\w.(])",
    re.IGNORECASE,
)  # fmt: skip
_PARTS = re.compile(r"\[([^\[\]]*)\]|([^,:\[\]]+)")
Stored = tuple[str, str]
"""The type of a cell (ST_CellType; texts are "str", whatever holds them, dates "d") and its value as it is written."""


class Formula(NamedTuple):
    """A formula as it is written, and how far its references are moved down and to the right; `is_known`: not one that
    fills several cells."""

    text: str
    moved: tuple[int, int] = (0, 0)
    is_known: bool = True

    @property
    def is_constant(self) -> bool:
        """Whether it depends on nothing but itself: no cells, names, other files, time or chance."""
        text = _TEXT.sub("", self.text)
        return bool(text) and self.is_known and not references(text)[1] and not _OUTSIDE.search(text)

    def read(self) -> tuple[str, list[tuple[int, int]]]:
        """Its pattern (see `references`), and row and column of each cell that it refers to."""
        pattern, refs = references(self.text.removeprefix("=")) if self.is_known else ("", [])
        down, right = self.moved
        return pattern, [(row + (0 if keep_row else down), column + (0 if keep_column else right))
                         for keep_column, column, keep_row, row in refs]  # fmt: skip


class Table(NamedTuple):
    """A table (18.5.1.2): its cells, the names of its columns in lower case, and how many rows are heads and totals."""

    area: Area
    columns: Sequence[str]
    heads: int
    totals: int

    def part(self, columns: str, row: int) -> Area:
        """Columns as formulas name them, for the row of a formula; raises UnknownError."""
        parts = ["".join(one) for one in _PARTS.findall(columns.lower())] if columns[:1] == "[" else [columns.lower()]
        this_row, names = "#this row" in parts, [one for one in parts if one not in {"#this row", "#data"}]
        if not 1 <= len(names) <= 2 or not set(names) <= set(self.columns) or ("," in columns and not this_row):
            raise UnknownError
        places = [self.area.left + self.columns.index(one) for one in names]
        top, bottom = self.area.top + self.heads, self.area.bottom - self.totals
        if this_row and not top <= row <= bottom:
            raise UnknownError
        return Area(self.area.sheet, row if this_row else top, min(places), row if this_row else bottom, max(places))


class Grid:
    """The cells of a sheet as they are stored, and its formulas; `hides`: whether any of its rows is hidden."""

    def __init__(self) -> None:
        self.hides = False
        self.rows: dict[int, dict[int, Stored]] = {}
        self.formulas: dict[tuple[int, int], Formula] = {}
        self._shared: dict[str, tuple[Formula, int, int]] = {}

    def compute(self, row: int, column: int, element: etree._Element) -> None:
        """Take up the formula of a cell (18.3.1.40)."""
        text, kind, number = element.text or "", element.get("t"), element.get("si", "")
        if kind == "shared" and not text and number in self._shared:
            master, top, left = self._shared[number]
            self.formulas[row, column] = master._replace(moved=(row - top, column - left))
            return
        fills_several = kind == "dataTable" or (kind == "array" and ":" in element.get("ref", ""))
        formula = self.formulas[row, column] = Formula(text, is_known=not fills_several)
        if kind == "shared":
            self._shared[number] = formula, row, column


def read_tables(package: Package, part: str, sheet: str) -> Iterator[tuple[str, Table]]:
    """The tables of a sheet by their names in lower case; raises DocumentError."""
    for one in package.related(part, "table"):
        root = package.xml(one)
        columns = [unescaped(column.get("name", "")).lower() for column in root.iter(S + "tableColumn")]
        heads, totals = whole_number(root.get("headerRowCount"), 1), whole_number(root.get("totalsRowCount"), 0)
        for area in read_areas(root.get("ref", "")):
            name = root.get("displayName", root.get("name", "")).lower()
            yield name, Table(Area(sheet.lower(), *area), columns, heads, totals)
