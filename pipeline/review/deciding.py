"""Decisions of people on rows: made, signed, and taken up at once, or left for whoever holds the log."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import audit
from pipeline.outbox.recover import recover
from pipeline.plan import Site
from pipeline.records import requests
from pipeline.records.drop import REFUSED
from pipeline.records.index import KNOWN
from pipeline.records.journal import open_journal
from pipeline.records.requests import Request
from pipeline.review.seen import document_at
from pipeline.review.uptake import Taken, Uptake, judged
from pipeline.tasks.correcting import ReviewRefusedError

_LOOK = 0.5  # seconds for which a decision waits for a command that holds the log for a moment
_ROUNDS = 3  # in which one process takes up what others leave


@dataclass(frozen=True)
class Review:
    """A person's decision on the row of `entry`: `action` is "accepted", "corrected" or "rejected".

    `answer` says what is right instead, of a correction alone: {"label": …}, {"summary": …}, or {"fields": {NAME:
    {"value": …, "start": …, "end": …} or null}} with those that change (of a question: by JSON pointers).
    """

    job: str
    entry: int
    action: str
    by: str
    reason: str | None = None
    answer: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ReviewOutcome:
    """The fate of a decision: the row of entry `n`; or it `waits` for whoever holds the log; or neither, for it was
    refused, and `why`."""

    n: int | None = None
    waits: bool = False
    why: str | None = None


@dataclass(frozen=True)
class RefusedReview:
    """A decision that was refused when it was taken up, and why."""

    id: str
    review: Review
    at: str
    why: str


def decide(site: Site, review: Review) -> ReviewOutcome:
    """Decide on a row. ReviewRefusedError with one sentence where that cannot be; audit.AuditError and OSError where
    the log or the workspace cannot be read or written."""
    request = _request(site, review)
    requests.make_key(site)
    try:
        with _holding(site, review.job, _LOOK) as uptake:
            uptake.take()
            uptake.admit_own_key()
            return ReviewOutcome(n=uptake.decide(requests.sign(site, request)))
    except audit.LogHeld as error:
        return _leave(site, request, str(error))


def _leave(site: Site, request: Request, held: str) -> ReviewOutcome:
    """Leave the decision for the one who holds the log, if it can be taken as things are."""
    signed = requests.sign(site, request)
    judged(site, KNOWN.history(site, request.job), signed)
    try:
        requests.leave(site, signed)
    except ValueError as error:
        raise ReviewRefusedError(str(error)) from error
    name = f"{signed.id}.json"
    taken = take_up_reviews(site)  # the holder may have looked for the last time before
    if name in taken.refused:
        return ReviewOutcome(why=taken.refused[name])
    number = taken.rows.get(signed.id) or KNOWN.history(site, request.job).decided.get(signed.id)
    return ReviewOutcome(waits=True, why=held) if number is None else ReviewOutcome(n=number)


def take_up_reviews(site: Site) -> Taken:
    """Take up the decisions that wait, if nobody holds the log, and those that were left while it was held for that.
    audit.AuditError of other kinds, OSError."""
    taken = Taken()
    for _ in range(_ROUNDS):
        if not (names := requests.waiting(site)):
            break
        try:
            with _holding(site, _job_of(site, names), 0) as uptake:
                more = uptake.take()
        except audit.LogHeld:
            break
        taken.rows |= more.rows
        taken.refused |= more.refused
    return taken


def reviews_waiting(site: Site) -> list[Review]:
    """The decisions that wait for whoever holds the log, oldest first; whether they count is not known yet."""
    found = sorted(_requests(site, requests.waiting(site)), key=lambda each: each[1].at)
    return [_review(request) for _, request in found]


def reviews_refused(site: Site) -> list[RefusedReview]:
    """The decisions that were refused when they were taken up, oldest first, as far as they can be read."""
    told = []
    for name, request in sorted(_requests(site, requests.refused(site)), key=lambda each: each[1].at):
        why = "the log says why"
        with contextlib.suppress(OSError, ValueError):
            why = requests.drop_of(site).read(name.removesuffix(REFUSED) + requests.WHY).whole().decode()
        told.append(RefusedReview(request.id, _review(request), request.at, why))
    return told


@contextlib.contextmanager
def _holding(site: Site, job: str, wait: float) -> Iterator[Uptake]:
    """The log held, with everything before in its place, and what is known of the job. audit.AuditError, OSError."""
    with open_journal(site, wait) as log:
        history = KNOWN.history(site, job)
        if records := recover(site, log, history):
            log.commit(records)
            history = KNOWN.history(site, job)
        yield Uptake(site, log, {job: history})


def _request(site: Site, review: Review) -> Request:
    """The decision as a request, not signed yet. ReviewRefusedError for one that no request can be."""
    reason = review.reason.strip() if review.reason else None
    answer = None if review.answer is None else dict(review.answer)
    try:
        seen = document_at(site, review.entry).result_sha256
        at, by = audit.stamp_now().time, review.by.strip()
        made = Request(
            requests.new_id(), review.job, review.entry, seen, review.action, by, reason=reason or None, answer=answer,
            at=at,
        )  # fmt: skip
        requests.check_request(made)
        requests.format_request(made)  # it can be said as JSON
    except (LookupError, ValueError) as error:
        raise ReviewRefusedError(str(error.args[0])) from error
    return made


def _requests(site: Site, names: list[str]) -> Iterator[tuple[str, Request]]:
    for name in names:
        with contextlib.suppress(OSError, ValueError):
            yield name, requests.parse_request(requests.drop_of(site).read(name).whole())


def _job_of(site: Site, names: list[str]) -> str:
    """The job of one of the requests that wait; "" if they tell of none that has results."""
    jobs = (request.job for _, request in _requests(site, names))
    return next((job for job in jobs if (site.root / "outbox" / job).is_dir()), "")


def _review(request: Request) -> Review:
    return Review(request.job, request.of, request.action, request.by, request.reason, request.answer)
