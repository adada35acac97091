"""Rows of results as lines of a flat table.

Which columns there are and of which types, the job's settings say, never the rows: two tables of a job can be read as
one. A field of type money, number, percent or date has a column of that type, money one with the currency beside it,
and each a text column for values that are none (2025-12 is no day), so that nothing is lost. A field that may have
several values is a text column. What rows have of fields that the job has no more stands in `other_fields`. Where the
job's file is gone, the types are those with which its rows were made (`Layout.of_rows`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from pipeline.document import Row
from pipeline.outbox.tables.base import SCALE, Cell, Column, Kind, Line
from pipeline.tasks import TASKS, Slot, Task, kind_of, name_of
from pipeline.text.visible import storable

_MOST_DIGITS: Final = 20  # before the point of a decimal
_MONEY = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(?: (\S.{0,15}))?", re.ASCII)
_BETWEEN = "; "
_KINDS = {"money": Kind.DECIMAL, "number": Kind.DECIMAL, "percent": Kind.DECIMAL, "date": Kind.DATE}
_FIRST = (Column("document", Kind.TEXT), Column("state", Kind.TEXT), Column("reason", Kind.TEXT))
_LAST = (
    Column("evidence_page", Kind.INTEGER), Column("original", Kind.LINK), Column("notes", Kind.TEXT),
    Column("decided", Kind.TEXT), Column("decided_by", Kind.TEXT), Column("other_settings", Kind.TEXT),
    Column("other_fields", Kind.TEXT), Column("newer_file", Kind.INTEGER),
    Column("language", Kind.TEXT), Column("pages", Kind.INTEGER), Column("size", Kind.INTEGER),
    Column("finished_at", Kind.MOMENT), Column("sha256", Kind.TEXT), Column("entry", Kind.INTEGER),
)  # fmt: skip


_TAKEN = frozenset(column.name for column in (*_FIRST, *_LAST)) | {"score"}.union(
    *(task.texts for task in TASKS.values())
)


@dataclass(frozen=True)
class Layout:
    """The columns of a table: those of its tasks, and of the values that their answers have."""

    tasks: frozenset[str]
    slots: Mapping[str, Slot]

    @classmethod
    def of_task(cls, task: Task) -> "Layout | None":
        """The columns of a job with these settings; None where they do not say them, but the model does."""
        slots = task.slots()
        return None if slots is None else cls(frozenset({name_of(task)}), {slot.name: slot for slot in slots})

    @classmethod
    def of_rows(cls, rows: Iterable[Row]) -> "Layout":
        """The columns of the settings that made these rows; text where they do not agree."""
        tasks, slots = set[str](), dict[str, Slot]()
        for row in rows:
            tasks.add(row.task or "")
            for name, values in _values(row).items():
                kinds = {kind for kind, _ in values}
                known = slots.get(name, Slot(name, next(iter(kinds))))
                kind = known.type if kinds == {known.type} else "text"
                slots[name] = Slot(name, kind, known.many or sum(value is not None for _, value in values) > 1)
        return cls(frozenset(tasks), slots)

    def columns(self) -> tuple[Column, ...]:
        """The columns, in their order; no two have the same name, in whatever case."""
        made = [*_FIRST, *(Column(name, Kind.TEXT) for name in self._texts()), Column("score", Kind.REAL)]
        taken = {name.casefold() for name in _TAKEN}
        for slot in self.slots.values():
            name, again = storable(slot.name), 1
            while not taken.isdisjoint(column.name.casefold() for column in _columns_of(name, slot)):
                name, again = f"{storable(slot.name)} (field{f' {again}' if again > 1 else ''})", again + 1
            new = list(_columns_of(name, slot))
            taken |= {column.name.casefold() for column in new}
            made += new
        return (*made, *_LAST)

    def _texts(self) -> list[str]:
        """The columns of its tasks whose text is the answer."""
        return [column for name, task in TASKS.items() if name in self.tasks for column in task.texts]

    def line(self, row: Row, original: str | None) -> Line:
        """A row as a line of these columns; `original` is the link to its document."""
        page = next((place.page for place in row.evidence), None)
        kind, decided, ended = kind_of(row), row.decided, row.finished_at
        reason = ": ".join(each for each in (row.failure, row.reason) if each) or None
        score = kind.scores(row)[0] if kind else None
        cells: list[Cell] = [row.path, row.state, reason, *map(row.get, self._texts()), score]
        values = {name: [one for _, one in found if one is not None] for name, found in _values(row).items()}
        for slot in self.slots.values():
            cells += _cells_of(slot, values.pop(slot.name, []))
        left = "; ".join(f"{name}: {value}" for name, some in values.items() for value in some)
        other = "yes" if row.other_settings else None
        return [
            *cells, page, original, _BETWEEN.join(row.notes or ()) or None,
            decided.action if decided else None, decided.by if decided else None, other, left or None, row.newer_file,
            row.language, row.pages, row.size, datetime.fromisoformat(ended) if isinstance(ended, str) else None,
            row.document, row.audit_index,
        ]  # fmt: skip


def _values(row: Row) -> dict[str, list[tuple[str, str | None]]]:
    """The values of a row: name -> the type and value of each."""
    found: dict[str, list[tuple[str, str | None]]] = {}
    kind = kind_of(row)
    for name, type_, value in kind.cells(row) if kind else ():
        found.setdefault(name, []).append((type_, value))
    return found


def _columns_of(name: str, slot: Slot) -> Iterator[Column]:
    kind = _kind_of(slot)
    yield Column(name, kind)
    if kind is not Kind.TEXT:
        if slot.type == "money":
            yield Column(f"{name} currency", Kind.TEXT)
        yield Column(f"{name} as text", Kind.TEXT)


def _kind_of(slot: Slot) -> Kind:
    return Kind.TEXT if slot.many else _KINDS.get(slot.type, Kind.TEXT)


def _cells_of(slot: Slot, values: Sequence[str]) -> Iterator[Cell]:
    if _kind_of(slot) is Kind.TEXT:
        yield _BETWEEN.join(values) or None
        return
    typed, currency = _typed(slot.type, values[0]) if len(values) == 1 else (None, None)
    yield typed
    if slot.type == "money":
        yield currency
    yield None if typed is not None else _BETWEEN.join(values) or None


def _typed(kind: str, value: str) -> tuple[Cell, str | None]:
    """The value as its type has it, None where it is none of it; and the currency of money."""
    if kind == "money":
        found = _MONEY.fullmatch(value)
        return (_decimal(found[1]), found[2]) if found else (None, None)
    if kind == "percent":
        return _decimal(value.removesuffix("%")), None
    if kind == "number":
        return _decimal(value), None
    if kind == "date":
        try:
            return date.fromisoformat(value) if len(value) == len("2026-01-31") else None, None
        except ValueError:
            return None, None
    return value, None


def _decimal(text: str) -> Decimal | None:
    """The decimal, if a table can hold it."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or number.adjusted() >= _MOST_DIGITS:
        return None
    plain = number if int(number.as_tuple().exponent) <= 0 else number.quantize(Decimal(1))
    return plain if -int(plain.as_tuple().exponent) <= SCALE else None
