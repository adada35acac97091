"""Rows of results as lines of a flat table.

Which columns there are, the rows say: a first pass over them (`Survey`) learns the task, the fields and their types,
and a second one makes the lines. A field of type money, number, percent or date has a column of that type, money one
with the currency beside it. A value that is none (2025-12 is no day) stands in a text column of its own, so that the
other values keep their type and nothing is lost. A field with several values in a row is a text column.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from pipeline.outbox.tables.base import Cell, Column, Kind, Line

Row = Mapping[str, Any]

_MOST_SCALE: Final = 18  # digits behind the point of a decimal
_MOST_DIGITS: Final = 20  # before it
_MONEY = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(?: (\S.{0,15}))?", re.ASCII)
_BETWEEN = "; "
_KINDS = {"money": Kind.DECIMAL, "number": Kind.DECIMAL, "percent": Kind.DECIMAL, "date": Kind.DATE}
_FIRST = (Column("document", Kind.TEXT), Column("state", Kind.TEXT), Column("reason", Kind.TEXT))
_LAST = (
    Column("evidence_page", Kind.INTEGER), Column("original", Kind.LINK), Column("notes", Kind.TEXT),
    Column("decided", Kind.TEXT), Column("decided_by", Kind.TEXT), Column("other_settings", Kind.TEXT),
    Column("language", Kind.TEXT), Column("pages", Kind.INTEGER), Column("size", Kind.INTEGER),
    Column("finished_at", Kind.MOMENT), Column("sha256", Kind.TEXT), Column("entry", Kind.INTEGER),
)  # fmt: skip


@dataclass
class _Field:
    """Holds what the rows tell of a field: its type (text where they do not agree), whether it has several values in a
    row, whether values are none of its type, and the most digits behind the point."""

    type: str
    several: bool = False
    odd: bool = False
    scale: int = 0

    @property
    def kind(self) -> Kind:
        return Kind.TEXT if self.several else _KINDS.get(self.type, Kind.TEXT)


@dataclass
class Survey:
    """The columns that rows need."""

    tasks: dict[str, None] = field(default_factory=dict)
    fields: dict[str, _Field] = field(default_factory=dict)

    def take(self, row: Row) -> None:
        """Take in a row."""
        self.tasks[row.get("task") or ""] = None
        for name, values in _values(row).items():
            kinds = {kind for kind, _ in values}
            kind = kinds.pop() if len(kinds) == 1 else "text"
            known = self.fields.setdefault(name, _Field(kind))
            if known.type != kind:
                known.type = "text"
            said = [value for _, value in values if value is not None]
            known.several |= len(said) > 1
            for value in said:
                self._look(known, value)

    def _look(self, known: _Field, value: str) -> None:
        typed, _ = _typed(known.type, value)
        if isinstance(typed, Decimal):
            known.scale = max(known.scale, -int(typed.as_tuple().exponent))
        known.odd |= typed is None

    def columns(self) -> tuple[Column, ...]:
        """The columns, in their order."""
        taken = {column.name for column in (*_FIRST, *_LAST)} | {"score", "label", "summary"}
        made = [*_FIRST]
        if "classify" in self.tasks:
            made.append(Column("label", Kind.TEXT))
        if "summarize" in self.tasks:
            made.append(Column("summary", Kind.TEXT))
        made.append(Column("score", Kind.REAL))
        for name, known in self.fields.items():
            made += _columns_of(name if name not in taken else f"{name} (field)", known)
        return (*made, *_LAST)

    def line(self, row: Row, original: str | None) -> Line:
        """A row as a line of these columns; `original` is the link to its document."""
        page = next((each["page"] for each in row.get("evidence") or ()), None)
        review = row.get("review") or {}
        ended = row.get("finished_at")
        cells: list[Cell] = [row["path"], row["state"], _reason(row)]
        if "classify" in self.tasks:
            cells.append(row.get("label"))
        if "summarize" in self.tasks:
            cells.append(row.get("summary"))
        cells.append(score_of(row))
        values = _values(row)
        for name, known in self.fields.items():
            cells += _cells_of(known, [value for _, value in values.get(name, ()) if value is not None])
        other = "yes" if row.get("other_settings") else None
        cells += [page, original, _BETWEEN.join(row.get("notes") or ()) or None, review.get("action")]
        cells += [review.get("by"), other, row.get("language"), row.get("pages"), row.get("size")]
        return [*cells, datetime.fromisoformat(ended) if ended else None, row["document"], row["audit_index"]]


def score_of(row: Row) -> float | None:
    """The score of the label, or the lowest of the values that were found."""
    if row.get("score") is not None:
        return float(row["score"])
    each = [*(row.get("fields") or ()), *(row.get("values") or ())]
    return min((one["score"] for one in each if one["value"] is not None and one["score"] is not None), default=None)


def _reason(row: Row) -> str | None:
    return ": ".join(each for each in (row.get("failure"), row.get("reason")) if each) or None


def _values(row: Row) -> dict[str, list[tuple[str, str | None]]]:
    """The fields of a row: name -> the type and value of each."""
    found: dict[str, list[tuple[str, str | None]]] = {}
    for one in row.get("fields") or ():
        found.setdefault(one["name"], []).append((one["type"], one["value"]))
    if row.get("answer"):
        for name, value in _leaves(row["answer"]):
            kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else "text"
            text = value if isinstance(value, str | None) else json.dumps(value)
            found.setdefault(name, []).append((kind, text))
    for name in ("custom_id", "status_code", "body"):
        if row.get(name) is not None:
            found[name] = [("text", str(row[name]))]
    return found


def _leaves(answer: str) -> Iterator[tuple[str, Any]]:
    """The values of an answer in JSON by the names that lead to them; those of a list share one."""

    def walk(name: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from walk(f"{name}.{key}" if name else key, inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(name, inner)
        else:
            yield name or "answer", value

    try:
        yield from walk("", json.loads(answer))
    except (ValueError, RecursionError):
        yield "answer", answer


def _columns_of(name: str, known: _Field) -> Iterator[Column]:
    yield Column(name, known.kind, min(known.scale, _MOST_SCALE))
    if known.kind is not Kind.TEXT:
        if known.type == "money":
            yield Column(f"{name} currency", Kind.TEXT)
        if known.odd:
            yield Column(f"{name} as text", Kind.TEXT)


def _cells_of(known: _Field, values: Sequence[str]) -> Iterator[Cell]:
    if known.kind is Kind.TEXT:
        yield _BETWEEN.join(values) or None
        return
    value = values[0] if values else None
    typed, currency = _typed(known.type, value) if value is not None else (None, None)
    yield typed
    if known.type == "money":
        yield currency
    if known.odd:
        yield value if typed is None else None


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
    return plain if -int(plain.as_tuple().exponent) <= _MOST_SCALE else None
