"""The places in a document on which its answer rests, each once and numbered from 1, in the order of the row."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.document import Evidence, Row
from pipeline.tasks import kind_of


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
    """The places of a row's answer: of its values or sentences, then what else the row gives as evidence."""
    found: dict[tuple[int, int], Place] = {}
    for at, name in (*_named(row), *((at, None) for at in row.evidence)):
        there = found.get(span := (at.start, at.end))
        names = there.speaks_for if there else ()
        names = names if name is None or name in names else (*names, name)
        number = there.number if there else len(found) + 1
        found[span] = Place(number, *span, at.text, at.page, at.section, names)
    return tuple(found.values())


def _named(row: Row) -> Iterator[tuple[Evidence, str | None]]:
    kind = kind_of(row)
    for value in kind.values(row) if kind else ():
        if value.evidence:
            yield value.evidence, value.name or "answer"
    for number, sentence in enumerate(row.get("sentences") or (), 1):
        for passage in sentence.get("passages") or ():
            yield Evidence(**passage), f"sentence {number}"
