"""The queue: documents of all jobs, filtered and in an order, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.responses import Response

import pipeline
from jobs.console.attempt import attempt
from jobs.console.house import House, Visit
from jobs.console.page import Page
from jobs.console.refused import RefusedError
from jobs.console.render import render
from jobs.console.rights import Right

_SEVERAL: Final = {"job": "jobs", "state": "states", "label": "labels", "failure": "failures"}
_ONE: Final = ("folder", "night", "text", "review", "settings", "versions")
_LIMIT: Final = 50
_MOST_CHOICES: Final = 300
_LONGEST: Final = 200
SORTS: Final = {
    "score": "to check first, then the lowest score",
    "uncertain": "least certain first",
    "newest": "newest first",
    "age": "oldest first",
    "size": "largest first",
    "path": "by path",
}
REVIEWS: Final = {
    "none": "not yet",
    "any": "by anybody",
    "accepted": "accepted",
    "corrected": "corrected",
    "rejected": "rejected",
}


@dataclass(frozen=True)
class Asked:
    """Holds what an address asks of the queue."""

    filter: pipeline.Filter
    sort: str
    said: tuple[tuple[str, str], ...]

    def to(self, path: str, **other: str | None) -> str:
        """The address of a page with the same filter and order, but for what is `other`; None leaves it out."""
        kept = [(name, value) for name, value in self.said if name not in other]
        pairs = [*kept, *((name, value) for name, value in other.items() if value)]
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def first(self, name: str) -> str:
        """The first value of a field of the form; "" for none."""
        return next((value for key, value in self.said if key == name), "")


@dataclass(frozen=True)
class Shown:
    """A row of the list; of a private document, for people who may not open it, without what stands in it."""

    item: pipeline.Item
    hidden: bool

    @property
    def path(self) -> str:
        """Where the document came from."""
        return "a private document" if self.hidden else self.item.path

    @property
    def answer(self) -> str:
        """The short answer, or why there is none."""
        return "" if self.hidden else self.item.answer


@dataclass(frozen=True)
class Choices:
    """Holds what the filters can be set to: value -> how many documents that would leave of all."""

    jobs: Mapping[str, int]
    states: Mapping[str, int]
    labels: Mapping[str, int]
    failures: Mapping[str, int]
    nights: Mapping[str, int]


@dataclass(frozen=True)
class Listed:
    """A page of the queue."""

    rows: tuple[Shown, ...]
    total: int
    next: str | None
    choices: Choices


def asked_of(query: QueryParams) -> Asked:
    """Read the filter and the order of an address. RefusedError for an order that is none."""
    said = [(name, value[:_LONGEST]) for name, value in query.multi_items() if value]
    known = [(name, value) for name, value in said if name in _SEVERAL or name in _ONE]
    named: dict[str, Any] = {ours: tuple(v for n, v in known if n == name) for name, ours in _SEVERAL.items()}
    named |= {name: next((v for n, v in known if n == name), None) for name in _ONE}
    sort = query.get("sort") or "score"
    if sort not in SORTS:
        raise RefusedError(404, "There is no such order of documents.")
    versions = named["versions"]
    if (
        named["settings"] not in (None, "current")
        or named["review"] not in (None, *REVIEWS)
        or (versions not in (None, "newest", "all"))
    ):
        raise RefusedError(404, "There is no such filter of documents.")
    named["versions"] = None if versions == "all" else versions or "rule"
    return Asked(pipeline.Filter(**named), sort, (*known, *([("sort", sort)] if sort != "score" else [])))


def _queue(visit: Visit) -> Response:
    asked = asked_of(visit.request.query_params)
    private = frozenset[str]() if visit.may(Right.DOCUMENTS) else private_jobs(visit.house)
    listed = attempt(lambda: _listed(visit, asked, private))
    return render(
        visit,
        "queue.html",
        asked=asked,
        listed=listed,
        behind=attempt(visit.house.indexes.behind),
        sorts=SORTS,
        reviews=REVIEWS,
        after=visit.query.get("after"),
        private=private,
    )


def _listed(visit: Visit, asked: Asked, private: frozenset[str]) -> Listed:
    with visit.house.indexes.queue() as queue:
        found, choices = asked.filter, _choices(queue, asked.filter, private)
        if private and (
            found.text or found.folder or found.labels or found.versions == "newest"
        ):  # these would tell what stands in them
            public = tuple(job for job in found.jobs or choices.jobs if job not in private)
            found = replace(found, jobs=public or ("",))
        try:
            page = queue.page(found, asked.sort, visit.query.get("after") or None, _LIMIT)
        except ValueError:
            raise LookupError("There is no such place in this order; begin at its first page.") from None
        rows = tuple(Shown(item, item.job in private) for item in page.items)
        return Listed(rows, page.total, page.next, choices)


def _choices(queue: pipeline.Queue, asked: pipeline.Filter, private: frozenset[str]) -> Choices:
    """The values that occur, within the jobs and the night that are chosen."""
    within = pipeline.Filter(jobs=asked.jobs, night=asked.night)
    public = tuple(job for job in queue.counts(pipeline.Filter(), "job") if job not in private) if private else ()
    words = replace(within, jobs=tuple(job for job in asked.jobs or public if job not in private) or ("",))
    return Choices(
        jobs=queue.counts(pipeline.Filter(), "job"),
        states=queue.counts(within, "state"),
        labels=_most(queue.counts(words if private else within, "label")),
        failures=_most(queue.counts(words if private else within, "failure")),
        nights=dict(sorted(queue.counts(pipeline.Filter(jobs=asked.jobs), "night").items(), reverse=True)),
    )


def _most(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: number for name, number in list(counts.items())[:_MOST_CHOICES] if name}


def private_jobs(house: House) -> frozenset[str]:
    """The jobs whose documents only some may open: that are private now, or ever were."""
    with house.indexes.chronicle() as chronicle:
        ever = chronicle.private_jobs()
    return frozenset(ever | {job.name for job in house.present.jobs() if job.private})


PAGES = (Page("/queue", _queue, Right.LISTS),)
