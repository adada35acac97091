"""Where a document stands in the queue from which it was opened, and the other rows of its bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

import pipeline
from jobs.console.house import House
from jobs.console.pages.queue import Asked


@dataclass(frozen=True)
class Beside:
    """The entries before and behind a document in its queue."""

    before: int | None = None
    behind: int | None = None


def beside(house: House, asked: Asked, entry: int) -> Beside:
    """Who stands before and behind an entry. LookupError; audit.AuditError; BrokenIndexError."""
    with house.indexes.opened() as queue:
        return Beside(*queue.beside(asked.filter, asked.sort, entry))


def relatives(house: House, entry: int) -> list[pipeline.Item]:
    """All rows of the document of an entry, of every job, oldest first. LookupError; audit.AuditError;
    BrokenIndexError."""
    with house.indexes.opened() as queue:
        return queue.same_document(entry)


def short_answers(items: list[pipeline.Item]) -> Mapping[int, str]:
    """The short answer of each row, by its entry."""
    return {item.entry: item.answer for item in items}
