"""The page of a document: how it looks beside its answer, what became of it, and a person's decision on it."""

from __future__ import annotations

from typing import Final

from starlette.responses import RedirectResponse, Response

import pipeline
from jobs.console.attempt import Attempted, RefusedError, attempt
from jobs.console.documents.answer import CHANGED, MOST_REASON, Answer, answer_of, review_of
from jobs.console.documents.sheets import PAGES as SHEETS
from jobs.console.documents.sheets import Told, tell, view_of
from jobs.console.house import Visit
from jobs.console.page import page
from jobs.console.pages.queue import ASKS, Asked, asked_of
from jobs.console.render import render
from jobs.console.rights import Right
from jobs.record import record

_WIDTH: Final = 1200
_WIDTHS: Final = (100, 2000)
_SHORT_LOG: Final = 1_000  # entries of a log that is read for a story in a tenth of a second
_DECIDED: Final = ("accepted", "corrected", "rejected", "waits")
_REVIEWABLE: Final = ("done", "abstained", "review", "rejected")


@page("/documents/{entry:int}", Right.DOCUMENTS, asks=(*ASKS, "view", "first", "did", "done"))
def _document(visit: Visit, refused: str | None = None) -> Response:
    """The page; `refused`: why the decision that its form sent was not taken, which is then kept in the form."""
    entry, house, site = int(visit.path["entry"]), visit.house, visit.site
    asked = asked_of(visit.query)
    viewed = pipeline.view.open_document(site, entry, house.drawer)
    _record_reading(visit, entry)
    answer = answer_of(viewed.row, viewed.places) if viewed.row else None
    family = attempt(lambda: house.ask(lambda index: index.same_document(entry)))
    own = next((item for item in family.value or () if item.entry == entry), None)
    waiting = (
        attempt(lambda: [each for each in pipeline.review.reviews_waiting(site) if each.entry == entry]).value or []
    )
    refusals = attempt(lambda: pipeline.review.reviews_refused(site)).value or []
    did = visit.query.get("did", "")
    kept = visit.form if refused else {}
    if kept.get("action") == "rejected":
        kept = {"rejected": kept.get("reason", "")}
    short = house.log_size() <= _SHORT_LOG
    return render(
        visit,
        "document.html",
        status=422 if refused else 200,
        doc=viewed,
        entry=viewed.entry,
        notes=viewed.row.notes or () if viewed.row else (),
        answer=answer,
        view=view_of(viewed, visit.query.get("view", ""), visit.number("first") or 1),
        asked=asked,
        beside=_beside(visit, asked, entry),
        family=family,
        own=own,
        waiting=waiting,
        refused=[each for each in refusals if each.review.entry == entry],
        may_decide=visit.may(Right.DECIDE),
        why_closed=_why_closed(viewed, answer, own, bool(waiting)) if visit.may(Right.DECIDE) else "not yours",
        tried=refused,
        kept=kept,
        done=(did, visit.number("done") or 0) if did in _DECIDED else None,
        story=_told(visit, viewed.entry, family.value or []) if short else Attempted(None),
        sheets_at_once=SHEETS,
        most_reason=MOST_REASON,
        ways=pipeline.view.WAYS,
        reviewed=viewed.row.decided if viewed.row else None,
    )


def _beside(visit: Visit, asked: Asked, entry: int) -> tuple[int | None, int | None]:
    """The entries before and behind a document in the queue from which it was opened."""
    found = attempt(lambda: visit.house.ask(lambda index: index.beside(asked.filter, asked.sort, entry)))
    return found.value or (None, None)


def _record_reading(visit: Visit, entry: int) -> None:
    """The log says who saw something of a document, whichever of its addresses it was."""
    if visit.session is not None and visit.session.opens(entry):
        record(visit.site, pipeline.records.ReadThere(person=visit.name, entry=entry))


def _why_closed(
    viewed: pipeline.view.Viewed, answer: Answer | None, own: pipeline.index.Item | None, waits: bool
) -> str | None:
    """Why nobody can decide on the row, in a sentence; None where one can."""
    if viewed.row is None or answer is None:
        return "The row is not there, so it cannot be decided on."
    if viewed.entry.state not in _REVIEWABLE:
        return f"The document is {viewed.entry.state}, so there is no answer to decide on."
    if answer.task not in CHANGED:
        return "Answers of batch files are for programs, and are not decided on."
    if own is not None and own.replaced_by is not None:
        return f"The row of entry {own.replaced_by} took the place of this one: decide on that."
    return "A decision on this row waits already." if waits else None


def _told(visit: Visit, entry: pipeline.records.Document, family: list[pipeline.index.Item]) -> Attempted[list[Told]]:
    answers = {item.entry: item.answer for item in family}
    return attempt(lambda: list(tell(pipeline.story(visit.site, entry.document or entry.path), answers)))


@page("/documents/{entry:int}/story", Right.DOCUMENTS, asks=ASKS)
def _whole_story(visit: Visit) -> Response:
    entry = pipeline.review.entry_of(visit.site, int(visit.path["entry"]))
    _record_reading(visit, entry.n)
    family = attempt(lambda: visit.house.ask(lambda index: index.same_document(entry.n))).value or []
    asked = asked_of(visit.query)
    return render(visit, "story.html", entry=entry, story=_told(visit, entry, family), asked=asked)


@page("/documents/{entry:int}/pages/{number:int}.png", Right.DOCUMENTS, asks=("width",))
def _picture(visit: Visit) -> Response:
    asked = visit.number("width")
    width = min(max(_WIDTH if asked is None else asked, _WIDTHS[0]), _WIDTHS[1])
    entry, number = int(visit.path["entry"]), int(visit.path["number"])
    try:
        drawn = pipeline.view.draw_page(visit.site, entry, number, width, visit.house.drawer)
    except pipeline.view.NotShownError as error:
        raise RefusedError(404, f"Page {number} cannot be drawn: {error}.") from error
    _record_reading(visit, entry)
    return Response(drawn.png, media_type="image/png")


@page("/documents/{entry:int}/decide", Right.DECIDE, "POST", ASKS)
def _decide(visit: Visit) -> Response:
    entry, asked = int(visit.path["entry"]), asked_of(visit.query)
    assert visit.person is not None  # the right that this page takes is somebody's
    viewed = pipeline.view.open_document(visit.site, entry, visit.house.drawer)
    answer = answer_of(viewed.row, viewed.places) if viewed.row else Answer("")
    _, following = _beside(visit, asked, entry)
    try:
        review = review_of(entry, visit.person.name, visit.form, answer, viewed)
        outcome = pipeline.decide(visit.site, review)
    except pipeline.tasks.ReviewRefusedError as error:
        return _document(visit, str(error))
    if outcome.why and not outcome.waits:
        return _document(visit, outcome.why)
    did = "waits" if outcome.waits else review.action
    then = following if following is not None else outcome.n or entry
    return RedirectResponse(asked.to(f"/documents/{then}", did=did, done=str(outcome.n or entry)), 303)
