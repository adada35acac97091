"""The page of a document: how it looks beside its answer, what became of it, and a person's decision on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.responses import RedirectResponse, Response

import audit
import pipeline
from jobs.console.attempt import Attempted, attempt
from jobs.console.documents.answer import CHANGED, Answer, answer_of
from jobs.console.documents.beside import Beside, beside, relatives, short_answers
from jobs.console.documents.decision import MOST_REASON, review_of
from jobs.console.documents.sheets import PAGES as SHEETS
from jobs.console.documents.sheets import view_of
from jobs.console.documents.telling import Told, tell
from jobs.console.house import Visit
from jobs.console.page import Page
from jobs.console.pages.queue import ASKS, asked_of
from jobs.console.refused import RefusedError
from jobs.console.render import render
from jobs.console.rights import Right
from jobs.record import record

_WIDTH: Final = 1200
_WIDTHS: Final = (100, 2000)
_SHORT_LOG: Final = 1_000  # entries of a log that is read for a story in a tenth of a second
_DECIDED: Final = ("accepted", "corrected", "rejected", "waits")
_REVIEWABLE: Final = ("done", "abstained", "review", "rejected")


@dataclass(frozen=True)
class _Tried:
    """A decision that was refused: why, and what the form said."""

    why: str
    form: Mapping[str, str]


def _document(visit: Visit) -> Response:
    return _shown(visit, None)


def _shown(visit: Visit, tried: _Tried | None) -> Response:
    entry = int(visit.path["entry"])
    asked = asked_of(visit.query)
    viewed = pipeline.open_document(visit.site, entry, visit.house.drawer)
    _record_reading(visit, entry)
    answer = answer_of(viewed.row, viewed.places) if viewed.row else None
    family = attempt(lambda: relatives(visit.house, entry))
    own = next((item for item in family.value or () if item.entry == entry), None)
    waiting = attempt(lambda: [each for each in pipeline.reviews_waiting(visit.site) if each.entry == entry])
    why_closed = _why_closed(viewed, answer, own, bool(waiting.value)) if visit.may(Right.DECIDE) else "not yours"
    return render(
        visit,
        "document.html",
        status=422 if tried else 200,
        doc=viewed,
        entry=viewed.entry,
        notes=viewed.row.notes or () if viewed.row else (),
        answer=answer,
        view=view_of(viewed, visit.query.get("view", ""), _number(visit.query.get("first"))),
        asked=asked,
        beside=attempt(lambda: beside(visit.house, asked, entry)).value or Beside(),
        family=family,
        own=own,
        waiting=waiting.value or [],
        refused=_refused(visit, entry),
        may_decide=visit.may(Right.DECIDE),
        why_closed=why_closed,
        tried=tried,
        kept=_kept(tried),
        done=_done(visit.query),
        story=_story(visit, viewed.entry, family.value or []),
        sheets_at_once=SHEETS,
        most_reason=MOST_REASON,
        ways=pipeline.WAYS,
        remedies={failure.value: failure.remedy for failure in pipeline.Failure},
        reviewed=viewed.row.decided if viewed.row else None,
    )


def _record_reading(visit: Visit, entry: int) -> None:
    """The log says who saw something of a document, whichever of its addresses it was."""
    if visit.session is not None and visit.session.opens(entry):
        record(visit.site, pipeline.ReadThere(person=visit.name, entry=entry))


def _refused(visit: Visit, entry: int) -> list[pipeline.RefusedReview]:
    """The decisions on a row that were refused when they were taken up."""
    found = attempt(lambda: pipeline.reviews_refused(visit.site)).value or []
    return [each for each in found if each.review.entry == entry]


def _kept(tried: _Tried | None) -> Mapping[str, str]:
    """Return what the forms of the page hold already, as the person sent them; `rejected` is the reason of a
    rejection."""
    if tried is None:
        return {}
    return {"rejected": tried.form.get("reason", "")} if tried.form.get("action") == "rejected" else tried.form


def _why_closed(viewed: pipeline.Viewed, answer: Answer | None, own: pipeline.Item | None, waits: bool) -> str | None:
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


def _story(visit: Visit, entry: pipeline.Document, family: list[pipeline.Item]) -> Attempted[list[Told]]:
    """The story of the document, where the log is short enough to be read for it; else None."""
    if audit.read_checkpoint(visit.site.audit, visit.site.public_key).size > _SHORT_LOG:
        return Attempted(None)
    return _told(visit, entry, family)


def _told(visit: Visit, entry: pipeline.Document, family: list[pipeline.Item]) -> Attempted[list[Told]]:
    name = entry.document or entry.path
    return attempt(lambda: list(tell(pipeline.story(visit.site, name), short_answers(family))))


def _whole_story(visit: Visit) -> Response:
    entry = pipeline.entry_of(visit.site, int(visit.path["entry"]))
    _record_reading(visit, entry.n)
    family = attempt(lambda: relatives(visit.house, entry.n)).value or []
    asked = asked_of(visit.query)
    return render(visit, "story.html", entry=entry, story=_told(visit, entry, family), asked=asked)


def _picture(visit: Visit) -> Response:
    width = min(max(_number(visit.query.get("width"), _WIDTH), _WIDTHS[0]), _WIDTHS[1])
    entry, number = int(visit.path["entry"]), int(visit.path["number"])
    try:
        drawn = pipeline.draw_page(visit.site, entry, number, width, visit.house.drawer)
    except pipeline.NotShownError as error:
        raise RefusedError(404, f"Page {number} cannot be drawn: {error}.") from error
    _record_reading(visit, entry)
    return Response(drawn.png, media_type="image/png")


def _decide(visit: Visit) -> Response:
    entry, asked = int(visit.path["entry"]), asked_of(visit.query)
    assert visit.person is not None  # the right that this page takes is somebody's
    viewed = pipeline.open_document(visit.site, entry, visit.house.drawer)
    answer = answer_of(viewed.row, viewed.places) if viewed.row else Answer("")
    before = attempt(lambda: beside(visit.house, asked, entry)).value or Beside()
    try:
        review = review_of(entry, visit.person.name, visit.form, answer, viewed)
        outcome = pipeline.decide(visit.site, review)
    except pipeline.ReviewRefusedError as error:
        return _shown(visit, _Tried(str(error), visit.form))
    if outcome.why and not outcome.waits:
        return _shown(visit, _Tried(outcome.why, visit.form))
    did = "waits" if outcome.waits else review.action
    then = before.behind if before.behind is not None else outcome.n or entry
    return RedirectResponse(asked.to(f"/documents/{then}", did=did, done=str(outcome.n or entry)), 303)


def _done(query: Mapping[str, str]) -> tuple[str, int] | None:
    """Return what the person did last, and the entry of it, as the address of the page tells."""
    did = query.get("did", "")
    return (did, _number(query.get("done"), 0)) if did in _DECIDED else None


def _number(text: str | None, otherwise: int = 1) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else otherwise


PAGES = (
    Page("/documents/{entry:int}", _document, Right.DOCUMENTS, asks=(*ASKS, "view", "first", "did", "done")),
    Page("/documents/{entry:int}/story", _whole_story, Right.DOCUMENTS, asks=ASKS),
    Page("/documents/{entry:int}/pages/{number:int}.png", _picture, Right.DOCUMENTS, asks=("width",)),
    Page("/documents/{entry:int}/decide", _decide, Right.DECIDE, "POST", ASKS),
)
