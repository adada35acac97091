"""The form of an answer, `response_format`, as a constraint of the engine."""

import json
from collections.abc import Mapping
from typing import Any, Final

import engine

LENGTH: Final = 20_000  # characters of a text
ITEMS: Final = 1_000  # of a list: the most that the engine allows (engine/README.md)
_NAMED: Final = ("properties", "$defs", "definitions")
_FIXED: Final = frozenset({"enum", "const", "$ref", "anyOf"})


def constraint_of(form: str | Mapping[str, Any]) -> engine.AnyObject | engine.Schema | None:
    """None for text. Where a schema bounds neither texts nor lists they may be as long as the engine allows."""
    if isinstance(form, str):
        return engine.AnyObject() if form == "json_object" else None
    return engine.Schema(_widened(form))


def is_whole(text: str) -> bool:
    """Whether no text and no list of an answer in JSON came to these bounds, where the rule would have ended it and not
    the model."""
    level = [json.loads(text)]
    while level:
        if any(len(one) >= (LENGTH if isinstance(one, str) else ITEMS) for one in level if isinstance(one, str | list)):
            return False
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [each for one in inner for each in one]
    return True


def _widened(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    made = dict(node)
    for key in _NAMED:
        if isinstance(node.get(key), dict):
            made[key] = {name: _widened(each) for name, each in node[key].items()}
    if isinstance(node.get("anyOf"), list):
        made["anyOf"] = [_widened(each) for each in node["anyOf"]]
    if "items" in node:
        made["items"] = _widened(node["items"])
    if node.keys().isdisjoint(_FIXED):
        made |= _bounds(node)
    return made


def _bounds(node: Mapping[str, Any]) -> dict[str, int]:
    types = node.get("type")
    names = types if isinstance(types, list) else [types]
    free = {"maxLength": LENGTH} if "string" in names and node.keys().isdisjoint({"maxLength", "format"}) else {}
    return free | ({"maxItems": ITEMS} if "array" in names and "maxItems" not in node else {})
