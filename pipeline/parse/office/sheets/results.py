"""The results of a workbook's formulas: stored ones are held against what the formulas give, where that is computed.

A stored result may be stale (a writer that cannot compute stores 0, or nothing, and has programs do it on loading) or
say something else than its formula. Then what is computed takes its place, or a person looks at it.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime

from pipeline.parse.office.cells import column_letters, number_text
from pipeline.parse.office.sheets.formulas import compiled
from pipeline.parse.office.sheets.grid import Formula, Grid, Stored, Table
from pipeline.parse.office.sheets.values import Area, FaultError, Operand, Place, Scope, UnknownError, Value
from pipeline.parse.sight.hidden import HiddenText

CONDITIONAL = "whether conditional formats strike out cells, or show other numbers in them, could not be told"
DRAWN = "charts and text boxes that show something else than their cells"
RICH = "cells that show a picture or a data type, for which another value stands in"
_MISSING = "results of formulas that are stale or missing, and were not computed"
_UNLIKE = "stored results unlike their formulas"
_CONSTANT = "stored results of constant formulas that could not be computed"
_DOUBTFUL = "cells that show something else than their value"
_COMPUTED = "results of formulas computed, as the stored ones are stale or missing"
_REVIEWED = (_MISSING, _UNLIKE, _CONSTANT, _DOUBTFUL, CONDITIONAL, DRAWN, RICH)
_STEPS = 2_000_000  # cells that are looked at for all formulas of a workbook
_NAMES_DEEP = 8
_BEYOND = (ArithmeticError, ValueError, RecursionError)  # of numbers too large, and what nests too deep
_RANGE = 10_000  # cells of a chart's series
_NAMED = 3  # examples in a note
_SHORT = 80


class _PendingError(Exception):
    """The results of other formulas are needed first."""

    def __init__(self, places: list[Place]) -> None:
        super().__init__()
        self.places = places


class Results:
    """The results of the formulas of a workbook, and what was found of them and of other cells; it is `values.Cells`.

    `load` gives the cells of a sheet by its name in lower case. `names` are defined names with what they mean, by the
    sheet on which they hold ("": all). `stale`: programs compute all results anew.
    """

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
        self._found: dict[str, list[str]] = {}
        self._unchecked = 0

    def begin(self, sheet: str, grid: Grid) -> Grid:
        """Take the cells of a sheet as they are read; those that were read before are there already."""
        return self._grids.setdefault(sheet.lower(), grid) or grid

    def settle(self, sheet: str, row: int, column: int, stored: Stored) -> Stored:
        """The result of a formula: the stored one, or what was computed in its place."""
        place = (sheet.lower(), row, column)
        missing = not stored[1] and stored[0] == "n"
        found = self._outcome(place)
        grid = self._grids[place[0]]
        formula = grid.formulas[place[1:]] if grid else Formula("")
        if isinstance(found, UnknownError) or (stored[0] == "d" and not _is_moment(stored[1])):  # a time or duration
            if self._stale or missing:
                self.note(_MISSING, sheet, row, column)
                return ("n", "") if stored == ("n", "0") else stored  # which says nothing but that it is unknown
            if formula.is_constant:
                self.note(_CONSTANT, sheet, row, column, f": ={_short(formula.text)}")
            else:
                self._unchecked += 1
            return stored
        value = _as_stored(found)
        same_number = value[0] == "n" and (
            (stored[0] == "d" and _alike(value[1], str(_serial(stored[1]))))
            or (stored[0] == "n" and _alike(value[1], stored[1]))
        )
        if same_number or value == stored:
            return stored
        if self._stale or missing:
            self.note(_COMPUTED, sheet, row, column)
            return value
        unlike = f": {_short(stored[1])} stored, ={_short(formula.text)} gives {_short(value[1])}"
        self.note(_UNLIKE, sheet, row, column, unlike)
        return stored

    def cells(self, reference: str, sheet: str) -> list[Value] | None:
        """The values of the cells that a reference on a sheet names, computed where that is needed, or the codes of
        their errors; None where that is not known, or not one range."""
        pattern, refs = Formula(reference).read()
        found = list[Value]()
        try:
            area = compiled(pattern)(Scope(self, (sheet.lower(), 0, 0), refs))
            if not isinstance(area, Area) or (area.bottom - area.top + 1) * (area.right - area.left + 1) > _RANGE:
                return None
            for row in range(area.top, area.bottom + 1):
                for column in range(area.left, area.right + 1):
                    value: Value | FaultError | UnknownError
                    try:
                        value = self.value((area.sheet, row, column))
                    except _PendingError:
                        value = self._outcome((area.sheet, row, column))
                    except FaultError as error:
                        value = error
                    if isinstance(value, UnknownError):
                        return None
                    found.append(str(value) if isinstance(value, FaultError) else value)
        except (UnknownError, FaultError, _PendingError, *_BEYOND):
            return None
        return found

    def doubt(self, sheet: str, row: int, column: int, shown: str, stored: str) -> None:
        """Say that a cell shows something else than its value."""
        self.note(_DOUBTFUL, sheet, row, column, f" shows {_short(shown)} of {_short(stored)}")

    def note(self, what: str, sheet: str, row: int, column: int, more: str = "") -> None:
        """Say something of a cell, such as CONDITIONAL or RICH."""
        self._found.setdefault(what, []).append(f"{_short(sheet)}!{column_letters(column)}{row}{more}")

    def differ(self, what: str) -> None:
        """Say of what is drawn on a sheet that it shows something else than the cells that it refers to."""
        self._found.setdefault(DRAWN, []).append(_short(what))

    def finish(self, hidden: HiddenText) -> list[str]:
        """Notes of what was computed and not checked; what cannot be trusted asks for review."""
        said = dict[str, str]()
        for what, found in self._found.items():
            more = "; …" if len(found) > _NAMED else ""
            said[what] = f"{what}: {len(found):,} ({'; '.join(found[:_NAMED])}{more})"
        for what in _REVIEWED:
            if what in said:
                hidden.review(said[what])
        if self._left < 0:
            hidden.review("there are too many formulas to hold their results against what they give")
        notes = [said[what] for what in (_COMPUTED, _MISSING) if what in said]
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
        found = [
            table
            for key, table in self._tables.items()
            if (key == name if name else table.area.sheet == place[0] and table.area.holds(*place[1:]))
        ]
        if len(found) != 1:
            raise UnknownError
        return found[0].part(columns, place[1])

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
            return compiled(pattern)(Scope(self, (sheet, 0, 0), refs))
        finally:
            self._depth -= 1

    def _grid(self, sheet: str) -> Grid:
        if sheet not in self._grids:
            self._grids[sheet] = self._load(sheet)
        grid = self._grids[sheet]
        if grid is None or self._left < 0:
            raise UnknownError
        return grid

    def _outcome(self, place: Place) -> Value | FaultError | UnknownError:
        """What a formula gives; of those that it needs, the innermost is computed first, without end none."""
        if not self._stale:  # then few are asked for again
            with suppress(_PendingError):
                return self._tried(place)
        waiting, begun = [place], set[Place]()
        while waiting:
            one = waiting[-1]
            if one in self._known:
                waiting.pop()
                continue
            begun.add(one)
            try:
                self._known[one] = self._tried(one)
            except _PendingError as pending:
                if begun.isdisjoint(pending.places):
                    waiting += pending.places
                else:
                    self._known[one] = UnknownError()
        return self._known[place]

    def _tried(self, place: Place) -> Value | FaultError | UnknownError:
        """What a formula gives; raises _PendingError."""
        try:
            pattern, refs = self._grid(place[0]).formulas[place[1:]].read()
            found = Scope(self, place, refs).single(compiled(pattern))
            return 0.0 if found is None else found
        except (FaultError, UnknownError) as outcome:
            return outcome
        except _BEYOND:
            return UnknownError()


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


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
