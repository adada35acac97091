"""Here stands what a person decided in the form of a document, as the review that it means."""

from collections.abc import Mapping
from typing import Any, Final

import pipeline
from jobs.console.documents.answer import EXTRACT, Answer, Field

ACTIONS: Final = ("accepted", "corrected", "rejected")
MOST_REASON: Final = 1_000
"""Characters of a reason."""


def review_of(entry: int, by: str, form: Mapping[str, str], answer: Answer, viewed: pipeline.Viewed) -> pipeline.Review:
    """The review that a form asks for. `answer`: what the form showed. ReviewRefusedError."""
    action = form.get("action", "")
    if action not in ACTIONS:
        raise pipeline.ReviewRefusedError("choose whether the answer is accepted, corrected or rejected")
    reason = form.get("reason", "").strip()
    if len(reason) > MOST_REASON:
        raise pipeline.ReviewRefusedError(
            f"the reason has {len(reason):,} characters; at most {MOST_REASON:,} are taken"
        )
    if action == "rejected" and not reason:
        raise pipeline.ReviewRefusedError("say why the answer is rejected")
    changed = _changed(form, answer, viewed) if action == "corrected" else None
    return pipeline.Review(viewed.entry.job, entry, action, by, reason or None, changed)


def _changed(form: Mapping[str, str], answer: Answer, viewed: pipeline.Viewed) -> dict[str, Any]:
    """Return what the form changes of the answer. ReviewRefusedError where that is nothing."""
    changed: dict[str, Any] = {}
    match answer.task:
        case "classify" if form.get("label", "") not in ("", answer.label):
            changed = {"label": form["label"]}
        case "summarize" if _one_way(form.get("summary", "")) != _one_way(answer.summary or ""):
            changed = {"summary": _one_way(form.get("summary", ""))}
        case "extract" | "ask":
            fields = _fields(form, answer, viewed)
            changed = {"fields": fields} if fields else {}
    if not changed:
        otherwise = "give the right answer, or reject it" if answer.is_empty else "change what is wrong, or accept it"
        raise pipeline.ReviewRefusedError(f"the answer is as it was; {otherwise}")
    return changed


def _fields(form: Mapping[str, str], answer: Answer, viewed: pipeline.Viewed) -> dict[str, Any]:
    """The fields that change; of one with several values, all of them that there are then."""
    names: dict[str, list[Field]] = {}
    for field in answer.fields:
        names.setdefault(field.name if answer.task == EXTRACT else field.key, []).append(field)
    changed: dict[str, Any] = {}
    for name, its in names.items():
        if any(_is_changed(form, field) for field in its):
            values = [value for field in its if (value := _value(form, field, viewed)) is not None]
            changed[name] = values if len(its) > 1 and values else values[0] if values else None
    return changed


def _is_changed(form: Mapping[str, str], field: Field) -> bool:
    said = form.get(f"field.{field.key}")
    return said is not None and (_one_way(said) != _one_way(field.value) or bool(form.get(f"field.{field.key}.start")))


def _value(form: Mapping[str, str], field: Field, viewed: pipeline.Viewed) -> dict[str, Any] | None:
    """The value of a field, with the place where it was marked; None where it is empty."""
    value = _one_way(form.get(f"field.{field.key}", field.value))
    if not value:
        return None
    start, end = (form.get(f"field.{field.key}.{side}", "") for side in ("start", "end"))
    if not (start.isascii() and start.isdecimal() and end.isascii() and end.isdecimal()) or len(start + end) > 20:
        return {"value": value}
    if not int(start) < int(end) <= len(viewed.text):
        raise pipeline.ReviewRefusedError(f"{field.name}: what was marked is no part of the text")
    page = viewed.page_of(int(start)) if viewed.entry.pages else None
    return {"value": value, "start": int(start), "end": int(end)} | ({"page": page} if page else {})


def _one_way(text: str) -> str:
    """A text as forms send it and as rows hold it, made alike: forms end lines with a carriage return, too."""
    return text.replace("\r\n", "\n").strip()
