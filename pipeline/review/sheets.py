"""Sheets of rows that people fill in elsewhere: CSV for a spreadsheet, JSON Lines for programs.

A row is known by its `id`, ORIGIN#ENTRY: the log's origin and the number of the row's entry, which never change.
`seen` are the first digits of the sha256 of the row's result. Who fills in a sheet leaves all columns as they are but
the last ones: `action` (accept, correct or reject; empty: nothing is decided), `why`, and what is right: `new label`,
`new summary`, or `new NAME` of a field. Where a value is to be removed it says `(none)`; several values are a JSON
list. A row that says what is right needs no action: it is a correction.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pipeline.document import Row
from pipeline.outbox.results import MARKS
from pipeline.outbox.schema import result_sha256
from pipeline.outbox.tables.csv import as_it_was, harmless
from pipeline.tasks import kind_of

SHEETS: Final = ("csv", "jsonl")
REVIEWABLE: Final = ("review", "abstained", "done", "rejected")
"""The states of rows on which a person can decide."""
NONE: Final = "(none)"
_ACTIONS: Final = {
    "accept": "accepted", "accepted": "accepted", "correct": "corrected", "corrected": "corrected",
    "reject": "rejected", "rejected": "rejected",
}  # fmt: skip
_DIGITS: Final = 16  # of the sha256 of a result
_SHOWN: Final = ("id", "seen", "job", "document", "state", "score", "reason")
_ASKED: Final = ("action", "why")
_NEW: Final = "new "
_FIELD: Final = " (field)"
_MOST_BYTES: Final = 256 * 2**20


@dataclass(frozen=True)
class Filled:
    """A line of a sheet that decides something. `new` is what it says to be right: in JSON as `pipeline.Review` has an
    answer, in CSV by the names of the columns (`is_cells`)."""

    line: int
    entry: int
    seen: str
    action: str
    why: str | None
    new: dict[str, Any] | None
    is_cells: bool

    def answer(self, row: Row) -> dict[str, Any] | None:
        """Return what is right, as `pipeline.Review` has it for the row."""
        if not self.new or not self.is_cells or ((kind := kind_of(row)) and kind.texts):
            return self.new
        return {"fields": {name: _given(value) for name, value in self.new.items()}}


@dataclass(frozen=True)
class _Said:
    """The columns of a line that a person fills in, and those by which the row is known; `new` as `Filled` has it."""

    line: int
    id: Any
    seen: Any
    action: Any
    why: Any
    new: dict[str, Any] | None
    is_cells: bool


class BadSheetError(ValueError):
    """A line that cannot be understood: what was found, and what is expected."""

    def __init__(self, line: int, found: str, expected: str) -> None:
        super().__init__(f"line {line}: {found}")
        self.line, self.found, self.expected = line, found, expected


def row_id(origin: str, entry: int) -> str:
    """The id of a row."""
    return f"{origin}#{entry}"


def seen_digits(sha256: str) -> str:
    """The digits of the sha256 of a result by which a sheet knows it."""
    return sha256[:_DIGITS]


def format_csv(origin: str, rows: Sequence[Row]) -> bytes:
    """The sheet of these rows, whole `results` of one job, as CSV."""
    names = {name: _column(name) for row in rows for name in _answers(row)}
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    new = [f"{_NEW}{column}" for column in names.values()]
    writer.writerow(map(harmless, [*_SHOWN, *names.values(), *_ASKED, *new]))
    for row in rows:
        shown, answers = _shown(origin, row), _answers(row)
        cells = [*(shown[name] for name in _SHOWN), *(_cell(answers.get(name)) for name in names)]
        empty = [""] * (len(_ASKED) + len(new))
        writer.writerow([*("" if cell is None else harmless(str(cell)) for cell in cells), *empty])
    return text.getvalue().encode("utf-8-sig")


def _column(name: str) -> str:
    """The column of a field, whose name may be that of another column."""
    return f"{name}{_FIELD}" if name in (*_SHOWN, *_ASKED) or name.startswith(_NEW) else name


def format_jsonl(origin: str, rows: Iterable[Row]) -> Iterator[bytes]:
    """The lines of the sheet of these rows as JSON."""
    for row in rows:
        told = {**_shown(origin, row), "answer": _answers(row), "action": None, "new": None, "why": None}
        yield json.dumps(told, ensure_ascii=False).encode() + b"\n"


def parse_sheet(data: bytes, ending: str, origin: str) -> list[Filled]:
    """The decisions of a sheet that was filled in. BadSheetError."""
    if len(data) > _MOST_BYTES:
        raise BadSheetError(1, f"{len(data):,} bytes", f"at most {_MOST_BYTES:,}: import some of the rows at a time")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = data[: error.start].count(b"\n") + 1
        raise BadSheetError(at, "text that is not UTF-8", "a file saved as CSV UTF-8") from None
    lines = _csv_lines(text) if ending == "csv" else _json_lines(text)
    filled = [each for said in lines if (each := _filled(said, origin))]
    twice: dict[int, int] = {}
    for each in filled:
        if each.entry in twice:
            raise BadSheetError(each.line, f"the row of line {twice[each.entry]} again", "each row once")
        twice[each.entry] = each.line
    return filled


def _shown(origin: str, row: Row) -> dict[str, Any]:
    why = ": ".join(each for each in (row.failure, row.reason) if each) or None
    columns = {name: value for name, value in row.items() if name not in MARKS}
    return {
        "id": row_id(origin, row.audit_index), "seen": seen_digits(result_sha256(Row(columns))), "job": row.job,
        "document": row.path, "state": row.state, "score": row.get("score"), "reason": why,
    }  # fmt: skip


def _answers(row: Row) -> dict[str, list[str]]:
    kind = kind_of(row)
    found = {name: [row[name]] if row.get(name) else [] for name in (kind.texts if kind else ())}
    for one in kind.values(row) if kind else ():
        found.setdefault(one.name, []).extend([] if one.value is None else [one.value])
    return found


def _cell(values: Sequence[str] | None) -> str:
    if not values:
        return ""
    return values[0] if len(values) == 1 else json.dumps(list(values), ensure_ascii=False)


def _csv_lines(text: str) -> Iterator[_Said]:
    """The lines below the head, as the JSON form has them. BadSheetError."""
    head = text.split("\n", 1)[0].strip("\r")
    marks = [mark for mark in (",", ";", "\t") if "id" in next(csv.reader([head], delimiter=mark), [])]
    if not marks:
        raise BadSheetError(1, "no column is called id", "a file that `cloister review export` wrote")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=marks[0], strict=True)
    names = [as_it_was(name) for name in next(reader)]
    _check_names(names)
    try:
        for cells in reader:
            if any(cells):
                yield _said(reader.line_num, names, cells)
    except csv.Error as error:
        raise BadSheetError(reader.line_num, str(error), "a file that `cloister review export` wrote") from None


def _check_names(names: Sequence[str]) -> None:
    known = {*_SHOWN, *_ASKED}
    shown = [name for name in names if name not in known]
    for name in names:
        if names.count(name) > 1:
            raise BadSheetError(1, f"two columns are called {name!r}", "each column once")
        if name.startswith(_NEW) and name.removeprefix(_NEW) not in shown:
            raise BadSheetError(
                1, f"a column {name!r} and none {name.removeprefix(_NEW)!r}", "the columns of the export"
            )
    if missing := next((name for name in ("seen", "action") if name not in names), None):
        raise BadSheetError(1, f"no column is called {missing}", "a file that `cloister review export` wrote")


def _said(line: int, names: Sequence[str], cells: Sequence[str]) -> _Said:
    if len(cells) != len(names):
        raise BadSheetError(line, f"{len(cells)} cells", f"{len(names)}, as in the first line")
    told = {name: as_it_was(cell).strip() for name, cell in zip(names, cells, strict=True)}
    new = {
        name.removeprefix(_NEW).removesuffix(_FIELD): _values(told[name])
        for name in names
        if name.startswith(_NEW) and told[name]
    }
    row, seen, action, why = (told.get(name) or None for name in ("id", "seen", *_ASKED))
    return _Said(line, row, seen, action, why, new, is_cells=True)


def _values(cell: str) -> Any:
    if cell == NONE:
        return None
    if cell.startswith("["):
        try:
            values = json.loads(cell)
        except ValueError:
            return cell
        if isinstance(values, list) and values and all(isinstance(each, str) for each in values):
            return values
    return cell


def _given(value: Any) -> Any:
    if value is None:
        return None
    return [{"value": each} for each in value] if isinstance(value, list) else {"value": value}


def _json_lines(text: str) -> Iterator[_Said]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or not {"id", "seen", "action"} <= said.keys():
            raise BadSheetError(number, "no object with id, seen and action", "a line of `cloister review export`")
        if not isinstance(said.get("new"), dict | None):
            raise BadSheetError(number, "new is no object", 'such as {"label": "invoice"}, or null')
        row, seen, action, why, new = (said.get(name) for name in ("id", "seen", *_ASKED, "new"))
        yield _Said(number, row, seen, action, why, new, is_cells=False)


def _filled(said: _Said, origin: str) -> Filled | None:
    """The decision that a line says; None for one that decides nothing. BadSheetError."""
    line, action, new, why = said.line, said.action or None, said.new or None, said.why or None
    if action is None and new is None:
        return None
    decided = _ACTIONS.get(str(action).strip().lower()) if action else "corrected"
    if decided is None:
        raise BadSheetError(line, f"the action {action!r}", "accept, correct or reject, or nothing")
    if (decided == "corrected") != (new is not None):
        expected = (
            "what is right in a new column" if new is None else "nothing in the new columns, or the action correct"
        )
        raise BadSheetError(
            line, f"the action {action!r} {'without' if new is None else 'with'} a new answer", expected
        )
    where, _, number = str(said.id).rpartition("#")
    if not number.isascii() or not number.isdigit() or len(number) > 15:
        raise BadSheetError(line, f"the id {said.id!r}", f"{row_id(origin, 17)}, or another number behind the #")
    if where != origin:
        raise BadSheetError(line, f"the id {said.id!r} of another log", f"rows of the log {origin}")
    seen = said.seen
    if not isinstance(seen, str) or len(seen) != _DIGITS or not isinstance(why, str | None):
        raise BadSheetError(line, "another `seen` than was exported, or a `why` that is no text", "what was exported")
    return Filled(line, int(number), seen, decided, why, new, said.is_cells)
