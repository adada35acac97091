"""The results of a workbook's formulas: stored ones are held against what the formulas give, where that is computed.

A stored result may be stale (a writer that cannot compute stores 0, or nothing, and has programs do it on loading) or
say something else than its formula. Then what is computed takes its place, or a person looks at it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from pipeline.parse.office.cells import column_letters, number_text
from pipeline.parse.office.sheets.formulas import compiled
from pipeline.parse.office.sheets.grid import Formula, Grid, Place, Stored, Table
from pipeline.parse.office.sheets.values import Area, FaultError, Operand, UnknownError, Value, single
from pipeline.parse.sight.hidden import HiddenText

_STEPS = 2_000_000  # cells that are looked at for all formulas of a workbook
_NAMES_DEEP = 8
_BEYOND = (ArithmeticError, ValueError, RecursionError)  # of numbers too large, and what nests too deep
_NOT_COMPUTED = "results of formulas that are stale or missing, and were not computed"
_RANGE = 10_000  # cells of a chart's series
_NAMED = 3  # examples in a note
_SHORT = 80


class Results:
    """The results of the formulas of a workbook, and what was found of them and of other cells."""

    def __init__(
        self,
        load: Callable[[str], Grid | None],
        names: dict[tuple[str, str], str],
        stale: bool,
        tables: Callable[[], dict[str, Table]] = dict,
        epoch: int = 0,
    ) -> None:
        self.epoch = epoch
        self._load = load
        self._read_tables = tables
        self._tables: dict[str, Table] | None = None
        self._names = names
        self._stale = stale
        self._grids: dict[str, Grid | None] = {}
        self._known: dict[Place, Value | FaultError | UnknownError] = {}
        self._left = _STEPS
        self._depth = 0
        self._computed: list[str] = []
        self._missing: list[str] = []
        self._unlike: list[str] = []
        self._constant: list[str] = []
        self._doubtful: list[str] = []
        self._conditional: list[str] = []
        self._drawn: list[str] = []
        self._rich: list[str] = []
        self._unchecked = 0

    def begin(self, sheet: str, grid: Grid) -> Grid:
        """Take the cells of a sheet as they are read; those that were read before are there already."""
        return self._grids.setdefault(sheet.lower(), grid) or grid

    def settle(self, sheet: str, row: int, column: int, stored: Stored) -> Stored:
        """The result of a formula: the stored one, or what was computed in its place."""
        place = (sheet.lower(), row, column)
        missing = not stored[1] and stored[0] == "n"
        found = self._outcome(place)
        if stored[0] == "d" and not _is_moment(stored[1]):
            found = UnknownError()  # a time or duration
        if isinstance(found, UnknownError):
            if self._stale or missing:
                self._missing.append(_name(sheet, row, column))
                return ("n", "") if stored == ("n", "0") else stored  # which says nothing but that it is unknown
            if self._formula(place).is_constant:
                self._constant.append(f"{_name(sheet, row, column)}: ={_short(self._formula(place).text)}")
            else:
                self._unchecked += 1
            return stored
        value = _as_stored(found)
        if stored[0] == "d" and value[0] == "n" and _alike(value[1], str(_serial(stored[1]))):
            return stored
        if value[0] == stored[0] and (value == stored or (value[0] == "n" and _alike(value[1], stored[1]))):
            return stored
        if self._stale or missing:
            self._computed.append(_name(sheet, row, column))
            return value
        name, formula = _name(sheet, row, column), self._formula(place).text
        self._unlike.append(f"{name}: {_short(stored[1])} stored, ={_short(formula)} gives {_short(value[1])}")
        return stored

    def cells(self, reference: str, sheet: str) -> list[Value] | None:
        """The values of the cells that a reference on a sheet names; None where that is not known, or not one range."""
        pattern, refs = Formula(reference).read()
        try:
            area = compiled(pattern)(_Scope(self, (sheet.lower(), 0, 0), refs))
            if not isinstance(area, Area) or (area.bottom - area.top + 1) * (area.right - area.left + 1) > _RANGE:
                return None
            columns = range(area.left, area.right + 1)
            return [
                self._settled((area.sheet, row, column))
                for row in range(area.top, area.bottom + 1)
                for column in columns
            ]
        except (UnknownError, FaultError, _PendingError, *_BEYOND):
            return None

    def _settled(self, place: Place) -> Value:
        """The value of a cell, computed where that is needed; raises UnknownError; the code of an error."""
        try:
            return self.value(place)
        except _PendingError:
            found = self._outcome(place)
            if isinstance(found, UnknownError):
                raise found from None
            return str(found) if isinstance(found, FaultError) else found
        except FaultError as error:
            return str(error)

    def differ(self, what: str) -> None:
        """Say of what is drawn on a sheet that it shows something else than the cells that it refers to."""
        self._drawn.append(_short(what))

    def stands_in(self, sheet: str, row: int, column: int) -> None:
        """Say that a cell shows a picture, or something with fields of its own, for which a value stands in."""
        self._rich.append(_name(sheet, row, column))

    def doubt(self, sheet: str, row: int, column: int, shown: str, stored: str) -> None:
        """Say that a cell shows something else than its value."""
        self._doubtful.append(f"{_name(sheet, row, column)} shows {_short(shown)} of {_short(stored)}")

    def unsure(self, sheet: str, row: int, column: int) -> None:
        """Say that a condition decides what a cell shows, and is not known to hold."""
        self._conditional.append(_name(sheet, row, column))

    def finish(self, hidden: HiddenText) -> list[str]:
        """Notes of what was computed and not checked; what cannot be trusted asks for review."""
        for what, found in (
            (_NOT_COMPUTED, self._missing),
            ("stored results unlike their formulas", self._unlike),
            ("stored results of constant formulas that could not be computed", self._constant),
            ("cells that show something else than their value", self._doubtful),
            (
                "whether conditional formats strike out cells, or show other numbers in them, could not be told",
                self._conditional,
            ),
            ("charts and text boxes that show something else than their cells", self._drawn),
            ("cells that show a picture or a data type, for which another value stands in", self._rich),
        ):
            if found:
                hidden.review(_listed(what, found))
        if self._left < 0:
            hidden.review("there are too many formulas to hold their results against what they give")
        notes = [
            _listed(what, found)
            for what, found in (
                ("results of formulas computed, as the stored ones are stale or missing", self._computed),
                (_NOT_COMPUTED, self._missing),
            )
            if found
        ]
        unchecked = f"results of formulas taken as stored, unchecked: {self._unchecked:,}"
        return [*notes, *([unchecked] if self._unchecked else [])]

    def value(self, place: Place) -> Value:
        """The value of a cell, for formulas; raises FaultError, UnknownError and _PendingError."""
        self._left -= 1
        grid = self._grid(place[0])
        stored = grid.rows.get(place[1], {}).get(place[2], ("n", ""))
        if place[1:] in grid.formulas and (self._stale or stored == ("n", "")):
            if place not in self._known:
                raise _PendingError([place])
            found = self._known[place]
            if isinstance(found, Exception):
                raise found
            return found
        return _typed(stored)

    def values(self, area: Area) -> Iterator[Value]:
        """The values of an area's cells that are not empty; raises FaultError, UnknownError and _PendingError."""
        grid, pending = self._grid(area.sheet), list[Place]()
        tall = area.bottom - area.top >= len(grid.rows)
        rows = sorted(grid.rows) if tall else range(area.top, area.bottom + 1)
        found = list[Value]()
        for row in rows:
            cells = grid.rows.get(row, {}) if area.top <= row <= area.bottom else {}
            self._left -= 1 + len(cells)
            if self._left < 0:
                raise UnknownError
            wide = area.right - area.left >= len(cells)
            for column in cells if wide else range(area.left, area.right + 1):
                if column in cells and area.left <= column <= area.right:
                    try:
                        found.append(self.value((area.sheet, row, column)))
                    except _PendingError as one:
                        pending += one.places
        if pending:
            raise _PendingError(pending)
        return (value for value in found if value is not None)

    def table(self, name: str, columns: str, place: Place) -> Area:
        """Columns of a table; of the one around a cell for ""; raises UnknownError."""
        if self._tables is None:
            self._tables = self._read_tables()
        sheet, row, column = place
        around = (
            [
                one
                for one in self._tables.values()
                if one.area.sheet == sheet
                and one.area.top <= row <= one.area.bottom
                and one.area.left <= column <= one.area.right
            ]
            if not name
            else [self._tables.get(name)]
        )
        if len(around) != 1 or around[0] is None:
            raise UnknownError
        return around[0].part(columns, row)

    def shows_all(self, area: Area) -> bool:
        """Whether no row of an area's sheet is hidden, and none of its cells is a subtotal."""
        grid = self._grid(area.sheet)
        self._left -= len(grid.formulas)
        inside = (one.text.upper() for place, one in grid.formulas.items() if area.holds(*place))
        return not grid.hides and not any("SUBTOTAL(" in text for text in inside)

    def named(self, name: str, sheet: str) -> Operand:
        """What a defined name means on a sheet; raises FaultError, UnknownError and _PendingError."""
        text = self._names.get((sheet, name)) or self._names.get(("", name))
        if text is None or self._depth >= _NAMES_DEEP:
            raise UnknownError
        self._depth += 1
        try:
            pattern, refs = Formula(text).read()
            return compiled(pattern)(_Scope(self, (sheet, 0, 0), refs))
        finally:
            self._depth -= 1

    def _grid(self, sheet: str) -> Grid:
        if sheet not in self._grids:
            self._grids[sheet] = self._load(sheet)
        grid = self._grids[sheet]
        if grid is None or self._left < 0:
            raise UnknownError
        return grid

    def _formula(self, place: Place) -> Formula:
        grid = self._grids[place[0]]
        return grid.formulas[place[1:]] if grid else Formula("")

    def _outcome(self, place: Place) -> Value | FaultError | UnknownError:
        """What a formula gives; of those that it needs, the innermost is computed first, without end none."""
        if not self._stale:  # then few are asked for again
            try:
                return self._evaluate(place)
            except (FaultError, UnknownError) as outcome:
                return outcome
            except _BEYOND:
                return UnknownError()
            except _PendingError:
                pass
        waiting, begun = [place], set[Place]()
        while waiting:
            one = waiting[-1]
            if one in self._known:
                waiting.pop()
                continue
            begun.add(one)
            try:
                self._known[one] = self._evaluate(one)
            except _PendingError as pending:
                if begun.isdisjoint(pending.places):
                    waiting += pending.places
                else:
                    self._known[one] = UnknownError()
            except (FaultError, UnknownError) as outcome:
                self._known[one] = outcome
            except _BEYOND:
                self._known[one] = UnknownError()
        return self._known[place]

    def _evaluate(self, place: Place) -> Value:
        pattern, refs = self._grid(place[0]).formulas[place[1:]].read()
        found = single(_Scope(self, place, refs), compiled(pattern))
        return 0.0 if found is None else found


class _PendingError(Exception):
    """The results of other formulas are needed first."""

    def __init__(self, places: list[Place]) -> None:
        super().__init__()
        self.places = places


class _Scope:
    """A formula's surroundings (values.Scope)."""

    __slots__ = ("_place", "_results", "epoch", "refs", "sheet")

    def __init__(self, results: Results, place: Place, refs: Sequence[tuple[int, int]]) -> None:
        self._results = results
        self._place = place
        self.sheet = place[0]
        self.epoch = results.epoch
        self.refs = refs

    def value(self, sheet: str, row: int, column: int) -> Value:
        return self._results.value((sheet, row, column))

    def values(self, area: Area) -> Iterator[Value]:
        return self._results.values(area)

    def table(self, name: str, columns: str) -> Area:
        return self._results.table(name, columns, self._place)

    def shows_all(self, area: Area) -> bool:
        return self._results.shows_all(area)

    def named(self, name: str) -> Operand:
        return self._results.named(name, self.sheet)


def _typed(stored: Stored) -> Value:
    kind, value = stored
    if kind == "e":
        raise FaultError(value)
    if kind == "b":
        return value in {"1", "TRUE"}
    if kind == "d":
        return _serial(value)
    if kind != "n":
        return value
    try:
        return float(value) if value else None
    except ValueError:
        raise UnknownError from None


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _serial(moment: str) -> float:
    """The number of a moment in ISO form, as dates that count from 1899-12-30 have it; raises UnknownError."""
    try:
        days = datetime.fromisoformat(moment).replace(tzinfo=None) - datetime(1899, 12, 30)
    except ValueError:
        raise UnknownError from None
    return days.total_seconds() / 86_400


def _as_stored(value: Value | FaultError) -> Stored:
    if isinstance(value, FaultError):
        return "e", str(value)
    if isinstance(value, bool):
        return "b", str(value).upper()
    return ("str", value) if isinstance(value, str) else ("n", number_text(repr(float(value or 0)), "", 0))


def _alike(computed: str, stored: str) -> bool:
    """Whether two numbers differ in no more than the last digits of a computation."""
    try:
        return math.isclose(float(computed), float(stored), rel_tol=1e-9, abs_tol=1e-9)
    except ValueError:
        return False


def _name(sheet: str, row: int, column: int) -> str:
    return f"{_short(sheet)}!{column_letters(column)}{row}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def _listed(what: str, found: list[str]) -> str:
    more = "; …" if len(found) > _NAMED else ""
    return f"{what}: {len(found):,} ({'; '.join(found[:_NAMED])}{more})"
