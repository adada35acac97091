"""The answer of a row as the page of a document shows it, and the review that its form asks for."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pipeline

CLASSIFY: Final = "classify"
EXTRACT: Final = "extract"
ASK: Final = "ask"
SUMMARIZE: Final = "summarize"
CHANGED: Final = (CLASSIFY, EXTRACT, ASK, SUMMARIZE)
"""The tasks whose answers a person can correct."""
ACTIONS: Final = ("accepted", "corrected", "rejected")
MOST_REASON: Final = 1_000
"""Characters of a reason."""
_LONG = 80  # characters of a value from which on it gets a box of several lines


@dataclass(frozen=True)
class Choice:
    """A label that a document could have, with its score."""

    label: str
    score: float | None
    chosen: bool


@dataclass(frozen=True)
class Field:
    """A value of the answer. `key` is what the form calls it; `places` are the numbers of the places that it rests on;
    `value` is "" where there is none."""

    key: str
    name: str
    value: str
    kind: str | None = None
    score: float | None = None
    note: str | None = None
    places: tuple[int, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether the value needs more than a line."""
        return len(self.value) > _LONG or "\n" in self.value


@dataclass(frozen=True)
class Sentence:
    """A sentence of a summary, and the numbers of the places that it rests on."""

    text: str
    places: tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """The answer of a row of `task`, one of whose parts is filled. `whole`: an answer in JSON, or of a batch file."""

    task: str
    label: str | None = None
    score: float | None = None
    choices: tuple[Choice, ...] = ()
    fields: tuple[Field, ...] = ()
    summary: str | None = None
    sentences: tuple[Sentence, ...] = ()
    whole: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the row says nothing."""
        said = any(field.value for field in self.fields)
        return not (self.label or said or self.summary or self.whole)


def answer_of(row: pipeline.document.Row, places: Sequence[pipeline.view.Place]) -> Answer:
    """The answer of a row, whose evidence has these places."""
    numbers = {(place.start, place.end): place.number for place in places}
    task, kind = pipeline.tasks.task_of(row) or "", pipeline.tasks.kind_of(row)
    values = list(kind.values(row)) if kind else []
    if task == CLASSIFY:
        label, score = row.get("label"), row.get("score")
        scores = {each["label"]: each["score"] for each in row.get("scores") or ()}
        if label is not None:
            scores.setdefault(label, score)
        choices = tuple(Choice(name, its, name == label) for name, its in scores.items())
        return Answer(task, label=label, score=score, choices=choices)
    if task == EXTRACT:
        return Answer(task, fields=tuple(_fields(values, numbers)))
    if task == ASK:
        return Answer(task, fields=tuple(_values(values, numbers)), whole=row.get("answer"))
    if task == SUMMARIZE:
        told = row.get("sentences") or ()
        passages = ([pipeline.document.Evidence(**one) for one in each.get("passages") or ()] for each in told)
        sentences = (Sentence(each["text"], _numbers(its, numbers)) for each, its in zip(told, passages, strict=True))
        return Answer(task, summary=row.get("summary"), sentences=tuple(sentences))
    whole = row.get("body") or None
    with contextlib.suppress(ValueError):  # the answer to a line of a batch file is laid out where it is JSON
        whole = whole and json.dumps(json.loads(whole), indent=2, ensure_ascii=False)
    return Answer(task, whole=whole)


def _fields(values: Sequence[pipeline.tasks.Value], numbers: Mapping[tuple[int, int], int]) -> Iterator[Field]:
    times: dict[str, int] = {}
    for each in values:
        times[each.name] = times.get(each.name, 0) + 1
        key = each.name if times[each.name] == 1 else f"{each.name}#{times[each.name]}"
        places = _numbers([each.evidence], numbers)
        yield Field(key, each.name, each.value or "", each.type, each.score, each.note, places)


def _values(values: Sequence[pipeline.tasks.Value], numbers: Mapping[tuple[int, int], int]) -> Iterator[Field]:
    for each in values:
        name = each.name.lstrip("/").replace("/", " \u203a ") or "answer"
        places = _numbers([each.evidence], numbers)
        yield Field(each.name, name, each.value or "", score=each.score, places=places)


def _numbers(
    at: Sequence[pipeline.document.Evidence | None], numbers: Mapping[tuple[int, int], int]
) -> tuple[int, ...]:
    found = (numbers.get((one.start, one.end)) for one in at if one)
    return tuple(dict.fromkeys(number for number in found if number is not None))


def review_of(
    entry: int, by: str, form: Mapping[str, str], answer: Answer, viewed: pipeline.view.Viewed
) -> pipeline.Review:
    """The review that a form asks for. `answer`: what the form showed. ReviewRefusedError."""
    action = form.get("action", "")
    if action not in ACTIONS:
        raise pipeline.tasks.ReviewRefusedError("choose whether the answer is accepted, corrected or rejected")
    reason = form.get("reason", "").strip()
    if len(reason) > MOST_REASON:
        raise pipeline.tasks.ReviewRefusedError(
            f"the reason has {len(reason):,} characters; at most {MOST_REASON:,} are taken"
        )
    if action == "rejected" and not reason:
        raise pipeline.tasks.ReviewRefusedError("say why the answer is rejected")
    if action != "corrected":
        return pipeline.Review(viewed.entry.job, entry, action, by, reason or None, None)
    changed: dict[str, Any] = {}
    match answer.task:
        case "classify" if form.get("label", "") not in ("", answer.label):
            changed = {"label": form["label"]}
        case "summarize" if _one_way(form.get("summary", "")) != _one_way(answer.summary or ""):
            changed = {"summary": _one_way(form.get("summary", ""))}
        case "extract" | "ask":
            fields = _changed_fields(form, answer, viewed)
            changed = {"fields": fields} if fields else {}
    if not changed:
        otherwise = "give the right answer, or reject it" if answer.is_empty else "change what is wrong, or accept it"
        raise pipeline.tasks.ReviewRefusedError(f"the answer is as it was; {otherwise}")
    return pipeline.Review(viewed.entry.job, entry, action, by, reason or None, changed)


def _changed_fields(form: Mapping[str, str], answer: Answer, viewed: pipeline.view.Viewed) -> dict[str, Any]:
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


def _value(form: Mapping[str, str], field: Field, viewed: pipeline.view.Viewed) -> dict[str, Any] | None:
    """The value of a field, with the place where it was marked; None where it is empty."""
    value = _one_way(form.get(f"field.{field.key}", field.value))
    if not value:
        return None
    start, end = (form.get(f"field.{field.key}.{side}", "") for side in ("start", "end"))
    if not (start.isascii() and start.isdecimal() and end.isascii() and end.isdecimal()) or len(start + end) > 20:
        return {"value": value}
    if not int(start) < int(end) <= len(viewed.text):
        raise pipeline.tasks.ReviewRefusedError(f"{field.name}: what was marked is no part of the text")
    page = viewed.page_of(int(start)) if viewed.entry.pages else None
    return {"value": value, "start": int(start), "end": int(end)} | ({"page": page} if page else {})


def _one_way(text: str) -> str:
    """A text as forms send it and as rows hold it, made alike: forms end lines with a carriage return, too."""
    return text.replace("\r\n", "\n").strip()
