"""Corrections of an answer in JSON."""

import json
from collections.abc import Mapping
from typing import Any

from pipeline.document import Row
from pipeline.tasks.ask.schemas import KIND, nodes, steps_of
from pipeline.tasks.correcting import ReviewRefusedError, Settled, evidence_of, parse_given, settled

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def correct(schema: Mapping[str, Any], row: Row, text: str | None, said: Any) -> Mapping[str, Any]:
    """The columns of an answer in JSON with other values at some of its places: pointer -> {"value": …} or null.
    ReviewRefusedError."""
    if not isinstance(said, Mapping) or not said:
        raise ReviewRefusedError("a correction of an answer says the values at some of its places by JSON pointers")
    if not row.get("answer"):
        raise ReviewRefusedError("the row has no answer of which values could be corrected: reject it")
    whole, values = json.loads(row["answer"]), {each["pointer"]: each for each in row["values"] or ()}
    for pointer, one in said.items():
        if pointer not in values:
            raise ReviewRefusedError(f"the answer has no value at {pointer!r}; it has {', '.join(values) or 'none'}")
        allowed = list(nodes(schema, steps_of(pointer)))
        value, its = _value(row, text, (pointer, one), allowed, values[pointer]["value"])
        whole = _put(whole, steps_of(pointer), value)
        told = value if isinstance(value, str | None) else json.dumps(value)
        evidence = evidence_of(row, text, its) if its else None
        values[pointer] = {"pointer": pointer, "value": told, "score": None, "evidence": evidence}
    places = {(at["start"], at["end"]): at for each in values.values() if (at := each["evidence"])}
    made = json.dumps(whole, ensure_ascii=False)
    return {"answer": made, "values": list(values.values()), "evidence": list(places.values())}


def _value(
    row: Row, text: str | None, given_at: tuple[str, Any], allowed: list[Mapping[str, Any]], before: str | None
) -> tuple[Any, Settled | None]:
    """The value as the schema takes it, and where it stands; `before`: the one in whose place it comes."""
    pointer, said = given_at
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
        its = settled(pointer, kind, None, given, text, row.pages, had)
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
