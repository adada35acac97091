"""The places in a document on which its answer rests, each once and numbered from 1, in the order of the row."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


def places_of(row: Row) -> tuple[Place, ...]:
    """The places of a row's answer: of its fields, values or sentences, then what else the row gives as evidence."""
    found: dict[tuple[int, int], Place] = {}
    for at, name in [*_named(row), *((at, None) for at in row.get("evidence") or ())]:
        if not at or at.get("start") is None or at.get("end") is None:
            continue
        span = at["start"], at["end"]
        there = found.get(span)
        number, names = (there.number, there.speaks_for) if there else (len(found) + 1, ())
        if name is not None and name not in names:
            names = (*names, name)
        found[span] = Place(number, *span, at.get("text") or "", at.get("page"), at.get("section"), names)
    return tuple(found.values())


def _named(row: Row) -> Iterator[tuple[Row | None, str | None]]:
    for element in row.get("fields") or ():
        yield element["evidence"], element["name"]
    for value in row.get("values") or ():
        yield value["evidence"], value["pointer"] or "answer"
    for number, sentence in enumerate(row.get("sentences") or (), 1):
        for passage in sentence.get("passages") or ():
            yield passage, f"sentence {number}"
