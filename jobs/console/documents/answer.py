"""The answer of a row as the page shows it, and as its form lets it be changed."""

from __future__ import annotations

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


def answer_of(row: pipeline.Row, places: Sequence[pipeline.Place]) -> Answer:
    """The answer of a row, whose evidence has these places."""
    numbers = {(place.start, place.end): place.number for place in places}
    task, kind = pipeline.task_of(row) or "", pipeline.kind_of(row)
    values = list(kind.values(row)) if kind else []
    match task:
        case "classify":
            return _classified(row)
        case "extract":
            return Answer(task, fields=tuple(_fields(values, numbers)))
        case "ask":
            return Answer(task, fields=tuple(_values(values, numbers)), whole=row.get("answer"))
        case "summarize":
            return Answer(
                task, summary=row.get("summary"), sentences=tuple(_sentences(row.get("sentences") or (), numbers))
            )
    return Answer(task, whole=_whole(row))


def _classified(row: pipeline.Row) -> Answer:
    label = row.get("label")
    scores = {each["label"]: each["score"] for each in row.get("scores") or ()}
    if label is not None:
        scores.setdefault(label, row.get("score"))
    choices = tuple(Choice(name, score, name == label) for name, score in scores.items())
    return Answer(CLASSIFY, label=label, score=row.get("score"), choices=choices)


def _fields(values: Sequence[pipeline.Value], numbers: Mapping[tuple[int, int], int]) -> Iterator[Field]:
    times: dict[str, int] = {}
    for each in values:
        times[each.name] = times.get(each.name, 0) + 1
        key = each.name if times[each.name] == 1 else f"{each.name}#{times[each.name]}"
        places = _numbers([each.evidence], numbers)
        yield Field(key, each.name, each.value or "", each.type, each.score, each.note, places)


def _values(values: Sequence[pipeline.Value], numbers: Mapping[tuple[int, int], int]) -> Iterator[Field]:
    for each in values:
        name = each.name.lstrip("/").replace("/", " \u203a ") or "answer"
        places = _numbers([each.evidence], numbers)
        yield Field(each.name, name, each.value or "", score=each.score, places=places)


def _sentences(sentences: Sequence[Mapping[str, Any]], numbers: Mapping[tuple[int, int], int]) -> Iterator[Sentence]:
    for each in sentences:
        passages = [pipeline.Evidence(**passage) for passage in each.get("passages") or ()]
        yield Sentence(each["text"], _numbers(passages, numbers))


def _numbers(at: Sequence[pipeline.Evidence | None], numbers: Mapping[tuple[int, int], int]) -> tuple[int, ...]:
    found = (numbers.get((one.start, one.end)) for one in at if one)
    return tuple(dict.fromkeys(number for number in found if number is not None))


def _whole(row: pipeline.Row) -> str | None:
    """The answer to a line of a batch file, laid out where it is JSON."""
    body = row.get("body")
    if not body:
        return None
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return str(body)
