"""A row as a person decided it: the columns of the answer, task by task."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pipeline.document import Evidence
from pipeline.records.types import ACCEPTED, CORRECTED
from pipeline.review.asked import correct_asked
from pipeline.review.refused import ReviewRefusedError
from pipeline.review.seen import Seen
from pipeline.review.values import Settled, parse_given, settled
from pipeline.states import State
from pipeline.tasks import AskSettings, ClassifySettings, ExtractSettings, Field, SummarizeSettings, Task

Row = dict[str, Any]
_MOST_SUMMARY: Final = 65_536  # characters
ABSENT: Final = "absent, as a person decided"


def decided_row(seen: Seen, action: str, answer: Mapping[str, Any] | None) -> Row:
    """The row that takes the place of the one that was seen, without the columns of the decision itself.
    ReviewRefusedError."""
    task = seen.task
    if type(task) not in _CORRECT:
        raise ReviewRefusedError("answers of batch files are not reviewed: their requests are answered for a program")
    if action != CORRECTED and answer is not None:
        raise ReviewRefusedError(f"what is {action} is not changed: only a correction has an answer")
    if action == CORRECTED:
        if not answer:
            raise ReviewRefusedError("a correction says what is right")
        changed = _CORRECT[type(task)](seen, answer)
        if seen.row["state"] == State.DONE and all(seen.row.get(name) == value for name, value in changed.items()):
            raise ReviewRefusedError("the row says that already: accept it instead")
        return {**seen.row, **changed, "state": State.DONE.value, "reason": None}
    if action == ACCEPTED:
        _check_acceptable(seen)
        return {**seen.row, "state": State.DONE.value, "reason": None}
    nothing: Row = dict.fromkeys(column.name for column in task.columns)
    return {**seen.row, **nothing, "evidence": [], "state": State.REJECTED.value, "reason": None}


def _check_acceptable(seen: Seen) -> None:
    """ReviewRefusedError for a row without an answer. That no field has a value is one."""
    row = seen.row
    if row["state"] == State.REJECTED:
        raise ReviewRefusedError("the row was rejected, so it has no answer that could be accepted: correct it")
    name = next(column.name for column in seen.task.columns)
    if not row.get(name):
        raise ReviewRefusedError("the row has no answer that could be accepted: correct it, or reject it")


def _label(seen: Seen, answer: Mapping[str, Any]) -> Row:
    _check_keys(answer, "label")
    assert isinstance(seen.task, ClassifySettings)
    names = [label.name for label in seen.task.labels] or [each["label"] for each in seen.row.get("scores") or ()]
    label = answer["label"]
    if label not in names:
        raise ReviewRefusedError(f"the job had no label {label!r} when it made this row; it had {', '.join(names)}")
    same = label == seen.row.get("label")
    return {"label": label, "score": seen.row["score"] if same else None}


def _fields(seen: Seen, answer: Mapping[str, Any]) -> Row:
    _check_keys(answer, "fields")
    assert isinstance(seen.task, ExtractSettings)
    said, before = answer["fields"], seen.row.get("fields") or []
    if not isinstance(said, Mapping) or not said:
        raise ReviewRefusedError("a correction of fields says the values of some by their names")
    known = seen.task.fields or tuple(Field(each["name"], each["type"]) for each in _firsts(before))
    if unknown := sorted(said.keys() - {field.name for field in known}):
        had = ", ".join(field.name for field in known)
        raise ReviewRefusedError(f"the job had no field {unknown[0]!r} when it made this row; it had {had}")
    made: list[Row] = []
    for field in known:
        elements = [each for each in before if each["name"] == field.name]
        if field.name in said:
            there = [each["value"] for each in elements if each["value"] is not None]
            made += _elements(seen, field, said[field.name], there)
        else:
            made += elements or [_empty(field)]
    places = [each["evidence"] for each in made if each["evidence"]]
    return {"fields": made, "evidence": places}


def _firsts(elements: Iterable[Row]) -> Iterator[Row]:
    """Return the first of the elements of each name."""
    yield from {each["name"]: each for each in reversed(list(elements))}.values()


def _elements(seen: Seen, field: Field, said: Any, before: Sequence[str]) -> Iterator[Row]:
    values = said if isinstance(said, list) else [] if said is None else [said]
    if len(values) > 1 and not field.many:
        raise ReviewRefusedError(f"{field.name}: the field has one value, and {len(values)} were given")
    for value in values:
        given = parse_given(field.name, value)
        its = settled(field.name, field.type, field.pattern, given, seen.text, seen.row["pages"], before)
        place = evidence_of(seen, its)
        yield _empty(field) | {
            "value": its.value, "verbatim": place["text"] if place else None, "note": its.note, "evidence": place
        }  # fmt: skip
    if not values:
        yield _empty(field) | {"note": ABSENT}


def _empty(field: Field) -> Row:
    """The element of a field of which nothing is known."""
    names = ("name", "type", "value", "verbatim", "score", "note", "evidence")
    return dict.fromkeys(names) | {"name": field.name, "type": field.type}


def evidence_of(seen: Seen, its: Settled) -> Row | None:
    """The place of a value as columns have places. Its section, and its page unless the person said it, are known
    where the row names the same place already."""
    if its.start is None or its.end is None or seen.text is None:
        return None
    known = next((one for one in seen.places() if one["start"] == its.start), None)
    page = its.page or (known["page"] if known else None)
    section = known.get("section") if known else None
    at = Evidence(page, its.start, its.end, seen.text[its.start : its.end], section)
    return {"page": at.page, "start": at.start, "end": at.end, "text": at.text, "section": at.section}


def _summary(seen: Seen, answer: Mapping[str, Any]) -> Row:
    _check_keys(answer, "summary")
    summary = answer["summary"]
    if not isinstance(summary, str) or not summary.strip():
        raise ReviewRefusedError("the summary is empty: reject the row where there is none")
    if len(summary) > _MOST_SUMMARY:
        raise ReviewRefusedError(f"the summary has {len(summary):,} characters; at most {_MOST_SUMMARY:,} are taken")
    if summary.strip() == seen.row.get("summary"):
        return {"summary": seen.row["summary"]}
    return {"summary": summary.strip(), "sentences": [], "evidence": []}


def _asked(seen: Seen, answer: Mapping[str, Any]) -> Row:
    _check_keys(answer, "fields")
    return correct_asked(seen, answer["fields"], evidence_of)


def _check_keys(answer: Mapping[str, Any], key: str) -> None:
    if answer.keys() != {key}:
        raise ReviewRefusedError(f"a correction of this row says {key!r} and nothing else")


_CORRECT: Final[Mapping[type[Task], Callable[[Seen, Mapping[str, Any]], Row]]] = {
    ClassifySettings: _label,
    ExtractSettings: _fields,
    SummarizeSettings: _summary,
    AskSettings: _asked,
}
"""The columns that a correction changes, by the task of the row."""
