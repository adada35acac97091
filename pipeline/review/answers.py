"""A row as a person decided it: the columns of the answer, task by task."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pipeline.document import Evidence
from pipeline.records.types import ACCEPTED, CORRECTED
from pipeline.review.seen import ReviewRefusedError, Seen
from pipeline.review.values import Settled, parse_given, settled
from pipeline.states import State
from pipeline.tasks import AskSettings, ClassifySettings, ExtractSettings, Field, SummarizeSettings, Task
from pipeline.tasks.ask.schemas import KIND, nodes, steps_of

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


def _check_keys(answer: Mapping[str, Any], key: str) -> None:
    if answer.keys() != {key}:
        raise ReviewRefusedError(f"a correction of this row says {key!r} and nothing else")


_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def _asked(seen: Seen, answer: Mapping[str, Any]) -> Row:
    """The columns of an answer in JSON with other values at some of its places: pointer -> {"value": …} or null."""
    _check_keys(answer, "fields")
    assert isinstance(seen.task, AskSettings)
    said = answer["fields"]
    if not isinstance(said, Mapping) or not said:
        raise ReviewRefusedError("a correction of an answer says the values at some of its places by JSON pointers")
    if not seen.row.get("answer"):
        raise ReviewRefusedError("the row has no answer of which values could be corrected: reject it")
    schema, whole = json.loads(seen.task.schema), json.loads(seen.row["answer"])
    values = {each["pointer"]: each for each in seen.row["values"] or ()}
    for pointer, one in said.items():
        if pointer not in values:
            raise ReviewRefusedError(f"the answer has no value at {pointer!r}; it has {', '.join(values) or 'none'}")
        allowed = list(nodes(schema, steps_of(pointer)))
        value, its = _value(seen, pointer, one, allowed, values[pointer]["value"])
        whole = _put(whole, steps_of(pointer), value)
        text = value if isinstance(value, str | None) else json.dumps(value)
        evidence = evidence_of(seen, its) if its else None
        values[pointer] = {"pointer": pointer, "value": text, "score": None, "evidence": evidence}
    places = {(at["start"], at["end"]): at for each in values.values() if (at := each["evidence"])}
    made = json.dumps(whole, ensure_ascii=False)
    return {"answer": made, "values": list(values.values()), "evidence": list(places.values())}


def _value(
    seen: Seen, pointer: str, said: Any, allowed: list[Mapping[str, Any]], before: str | None
) -> tuple[Any, Settled | None]:
    """The value as the schema takes it, and where it stands; `before`: the one in whose place it comes."""
    types = {kind for node in allowed for kind in _types(node)}
    if said is None:
        _check(pointer, None, types, allowed)
        return None, None
    if isinstance(said, Mapping) and isinstance(said.get("value"), bool | int | float):
        said = {**said, "value": json.dumps(said["value"])}
    given = parse_given(pointer, said)
    value = _parsed(given.text, types)
    _check(pointer, value, types, allowed)
    kind = next((node[KIND] for node in allowed if KIND in node), "text" if isinstance(value, str) else "number")
    had = (before,) if before else ()
    its = None
    if given.place or kind != "number":
        its = settled(pointer, kind, None, given, seen.text, seen.row["pages"], had)
    return (its.value if its and isinstance(value, str) else value), its


def _parsed(text: str, types: set[str]) -> Any:
    """The JSON value that a text means where the schema wants no text there."""
    if "string" in types:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text


def _types(node: Mapping[str, Any]) -> list[str]:
    said = node.get("type", [])
    return [said] if isinstance(said, str) else list(said)


def _check(pointer: str, value: Any, types: set[str], allowed: list[Mapping[str, Any]]) -> None:
    """ReviewRefusedError for a value that no part of the schema takes at this place."""
    kind = _TYPES[type(value)]
    wanted = types | ({"integer"} if "number" in types else set())
    if types and kind not in wanted:
        raise ReviewRefusedError(f"{pointer}: the answer wants a {' or '.join(sorted(types))} there")
    listed = [node["enum"] for node in allowed if "enum" in node] + [
        [node["const"]] for node in allowed if "const" in node
    ]
    if listed and not any(value in one for one in listed):
        several = ", ".join(json.dumps(each, ensure_ascii=False) for one in listed for each in one)
        raise ReviewRefusedError(f"{pointer}: the answer wants one of {several} there")


def _put(whole: Any, steps: tuple[str, ...], value: Any) -> Any:
    if not steps:
        return value
    if isinstance(whole, list):
        return [_put(each, steps[1:], value) if str(at) == steps[0] else each for at, each in enumerate(whole)]
    return {name: _put(each, steps[1:], value) if name == steps[0] else each for name, each in whole.items()}


_CORRECT: Final[Mapping[type[Task], Callable[[Seen, Mapping[str, Any]], Row]]] = {
    ClassifySettings: _label,
    ExtractSettings: _fields,
    SummarizeSettings: _summary,
    AskSettings: _asked,
}
"""The columns that a correction changes, by the task of the row."""
