"""The places in a document on which its answer rests, each once and numbered from 1, in the order of the row."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """text[start:end] of the parsed text, on a page from 1 where there are pages; `speaks_for`: names of what in the
    answer rests on it, such as a field."""

    number: int
    start: int
    end: int
    text: str
    page: int | None = None
    section: str | None = None
    speaks_for: tuple[str, ...] = ()


@dataclass
class _Found:
    """The places by where they stand."""

    by_span: dict[tuple[int, int], Place] = field(default_factory=dict)

    def add(self, at: Row | None, name: str | None) -> None:
        if not at or at.get("start") is None or at.get("end") is None:
            return
        span = at["start"], at["end"]
        there = self.by_span.get(span)
        names = there.speaks_for if there else ()
        if name is not None and name not in names:
            names = (*names, name)
        number = there.number if there else len(self.by_span) + 1
        text = at.get("text") or ""
        self.by_span[span] = Place(number, *span, text, at.get("page"), at.get("section"), names)


def places_of(row: Row) -> tuple[Place, ...]:
    """The places of a row's answer: of its fields, values or sentences, then what else the row gives as evidence."""
    found = _Found()
    for at, name in _named(row):
        found.add(at, name)
    for at in row.get("evidence") or ():
        found.add(at, None)
    return tuple(found.by_span.values())


def _named(row: Row) -> Iterator[tuple[Row | None, str | None]]:
    for element in row.get("fields") or ():
        yield element["evidence"], element["name"]
    for value in row.get("values") or ():
        yield value["evidence"], value["pointer"] or "answer"
    for number, sentence in enumerate(row.get("sentences") or (), 1):
        for passage in sentence.get("passages") or ():
            yield passage, f"sentence {number}"
