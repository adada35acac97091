"""The queue: documents of all jobs, filtered and in an order, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.responses import Response

import pipeline
from jobs.console.attempt import RefusedError, attempt
from jobs.console.house import Visit
from jobs.console.page import page
from jobs.console.render import render
from jobs.console.rights import Right

_SEVERAL: Final = {"job": "jobs", "state": "states", "label": "labels", "failure": "failures"}
_ONE: Final = ("folder", "night", "text", "review", "settings", "versions")
ASKS: Final = (*_SEVERAL, *_ONE, "sort")
"""The names by which an address says what is asked of the queue."""
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

    filter: pipeline.index.Filter
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
class Choices:
    """Holds what the filters can be set to: value -> how many documents that would leave of all."""

    jobs: Mapping[str, int]
    states: Mapping[str, int]
    labels: Mapping[str, int]
    failures: Mapping[str, int]
    nights: Mapping[str, int]


@dataclass(frozen=True)
class Listed:
    """A page of the queue. `kept_back`: how many private documents are as asked, which the person may not open and of
    which none is in the list; None where what was asked would tell what stands in them."""

    rows: tuple[pipeline.index.Item, ...]
    total: int
    next: str | None
    choices: Choices
    kept_back: int | None = 0


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
    told = named["settings"] in (None, "current") and named["review"] in (None, *REVIEWS)
    if not told or versions not in (None, "newest", "all"):
        raise RefusedError(404, "There is no such filter of documents.")
    named["versions"] = None if versions == "all" else versions or "rule"
    return Asked(pipeline.index.Filter(**named), sort, (*known, *([("sort", sort)] if sort != "score" else [])))


@page("/queue", Right.LISTS, asks=(*ASKS, "after"))
def _queue(visit: Visit) -> Response:
    asked = asked_of(visit.query)
    return render(
        visit,
        "queue.html",
        asked=asked,
        listed=attempt(lambda: visit.house.ask(lambda index: _listed(visit, asked, index))),
        behind=attempt(visit.house.indexes.behind),
        sorts=SORTS,
        reviews=REVIEWS,
        after=visit.query.get("after"),
    )


def _listed(visit: Visit, asked: Asked, queue: pipeline.index.Index) -> Listed:
    seal, given, use = visit.house.seal, visit.query.get("after"), f"{visit.name}, {asked.sort}"
    after = seal.opened(use, given) if given else None
    if given and after is None:
        raise LookupError("There is no such place in this order; begin at its first page.")
    public, private = divided(visit, queue, asked.filter)
    listed = queue.page(public, asked.sort, after, _LIMIT)
    kept_back: int | None = 0
    if private is not None:
        names = private.versions == "newest" or private.text or private.folder
        telling = names or private.labels or private.failures
        kept_back = None if telling else queue.count(replace(private, versions=None))
    # the values that occur, within the jobs and the night that are chosen; labels and failures of `public` alone
    within, words = (pipeline.index.Filter(jobs=each.jobs, night=asked.filter.night) for each in (asked.filter, public))
    nights = queue.counts(pipeline.index.Filter(jobs=asked.filter.jobs), "night")
    choices = Choices(
        jobs=queue.counts(pipeline.index.Filter(), "job"),
        states=queue.counts(within, "state"),
        labels=named_most(queue.counts(words, "label"), _MOST_CHOICES),
        failures=named_most(queue.counts(words, "failure"), _MOST_CHOICES),
        nights=dict(sorted(nights.items(), reverse=True)),
    )
    following = listed.next and seal.closed(use, listed.next)
    return Listed(listed.items, listed.total, following, choices, kept_back)


def named_most(counts: Mapping[str, int], most: int) -> dict[str, int]:
    """The first counts of what has a name."""
    return {name: number for name, number in list(counts.items())[:most] if name}


def divided(
    visit: Visit, queue: pipeline.index.Index, asked: pipeline.index.Filter
) -> tuple[pipeline.index.Filter, pipeline.index.Filter | None]:
    """A filter, for the documents that the person may see, and for those that are kept back; None where none are.
    Where such a document stands in an order, and whether it is found by what stands in it, would tell that."""
    hidden = hidden_jobs(visit, queue)
    if not hidden:
        return asked, None
    jobs = asked.jobs or tuple(queue.counts(pipeline.index.Filter(), "job"))
    public, private = (tuple(job for job in jobs if (job in hidden) == kept) or ("",) for kept in (False, True))
    return replace(asked, jobs=public), replace(asked, jobs=private)


def hidden_jobs(visit: Visit, queue: pipeline.index.Index) -> frozenset[str]:
    """The jobs whose documents the person may not open: that are private now, or of which a row ever was."""
    if visit.may(Right.DOCUMENTS):
        return frozenset()
    return frozenset(queue.private_jobs() | {job.name for job in visit.house.present.jobs() if job.private})


def is_hidden(visit: Visit, job: str) -> bool:
    """Whether the person may not open the documents of a job."""
    return visit.house.ask(lambda index: job in hidden_jobs(visit, index))
