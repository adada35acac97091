"""JSON Schemas of jobs: which parts of them are quotes or values, and what they say of a place of an answer."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pipeline.tasks.asking import escaped
from pipeline.tasks.base import Slot

QUOTE: Final = "quote"
"""The `format` of a text that is a passage of the document."""

VALUE: Final = "value"
"""The `format` of a text or number that is a value of the document."""
KIND: Final = "x-type"
"""The keyword beside it that says of which type the value is."""
BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
"""The keywords beside it that say which numbers are meant."""

_OF_NAMES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_OF_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")


def unmarked(schema: Any) -> Any:
    """The schema without the marks of quotes and values, which are no business of JSON Schema."""
    if isinstance(schema, list):
        return [unmarked(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    marks = {QUOTE: {"format"}, VALUE: {"format", KIND, *BOUNDS}}.get(str(schema.get("format")), set())
    left = {key: value for key, value in schema.items() if key not in marks}
    return left | {key: unmarked(left[key]) for key in (*_SCHEMA, *_OF_SCHEMAS) if key in left} | {
        key: {name: unmarked(value) for name, value in left[key].items()}
        for key in _OF_NAMES
        if isinstance(left.get(key), dict)
    }  # fmt: skip


def quotes(schema: Any) -> Iterator[str]:
    """Yield the JSON pointers to the texts in a schema that are marked as quotes."""
    return (pointer for pointer, _ in marked(schema, QUOTE))


def marked(schema: Any, mark: str, pointer: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the parts of a schema whose format is this mark, each with its JSON pointer."""
    if not isinstance(schema, dict):
        return
    if schema.get("format") == mark:
        yield pointer, schema
    for key in _SCHEMA:
        yield from marked(schema.get(key), mark, f"{pointer}/{key}")
    for key in _OF_SCHEMAS:
        listed = schema.get(key)
        for index, item in enumerate(listed if isinstance(listed, list) else ()):
            yield from marked(item, mark, f"{pointer}/{key}/{index}")
    for key in _OF_NAMES:
        named = schema.get(key)
        for name, item in (named if isinstance(named, dict) else {}).items():
            yield from marked(item, mark, f"{pointer}/{key}/{escaped(name)}")


def referred(schema: Any, root: Any) -> Any:
    """Return the schema with each `$ref` replaced by what it leads to, and without definitions; no `$ref` recurs."""
    if not isinstance(schema, dict):
        return schema
    if (target := _referred(schema, root)) is not None:
        return referred(target, root)
    out = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    if isinstance(out.get("properties"), dict):
        out["properties"] = {name: referred(node, root) for name, node in out["properties"].items()}
    if isinstance(out.get("anyOf"), list):
        out["anyOf"] = [referred(node, root) for node in out["anyOf"]]
    return {**out, "items": referred(out["items"], root)} if "items" in out else out


def nodes(schema: Any, steps: tuple[str, ...], root: Any = None) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas within a schema that speak of this place of an answer."""
    if not isinstance(schema, dict):
        return
    root = schema if root is None else root
    if not steps:
        yield schema
    yield from nodes(_referred(schema, root), steps, root)
    for key in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(key, ()):
            yield from nodes(one, steps, root)
    if steps:
        for one in _at(schema, steps[0]):
            yield from nodes(one, steps[1:], root)


def _at(schema: Mapping[str, Any], step: str) -> Iterator[Any]:
    """The schemas of what is one step below."""
    if step in schema.get("properties", {}):
        yield schema["properties"][step]
    else:
        yield schema.get("additionalProperties")
    prefix = schema.get("prefixItems", [])
    yield prefix[int(step)] if step.isdecimal() and int(step) < len(prefix) else schema.get("items")


def _referred(schema: Mapping[str, Any], root: Any) -> Any:
    """The schema to which `$ref` leads within the whole one; None for none."""
    path = schema.get("$ref")
    if not isinstance(path, str) or not path.startswith("#/"):
        return None
    for step in steps_of(path[1:]):
        root = root.get(step) if isinstance(root, dict) else None
    return root


def steps_of(pointer: str) -> tuple[str, ...]:
    """The steps of a JSON pointer (RFC 6901)."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def slots_of(schema: Any) -> Iterator[Slot]:
    """Yield the values of an answer by the names that lead to them, with the type that a schema without references
    gives them; those of a list share a name. A place for which it allows several types has text."""
    found: dict[str, Slot] = {}
    for slot in _slots(schema, "", many=False):
        known = found.setdefault(slot.name, slot)
        kind = known.type if slot.type == known.type else "text"
        found[slot.name] = Slot(slot.name, kind, slot.many or known.many)
    yield from found.values()


def _slots(schema: Any, name: str, *, many: bool) -> Iterator[Slot]:
    schema = schema if isinstance(schema, dict) else {}
    inner = [
        *((f"{name}.{key}" if name else key, one, many) for key, one in schema.get("properties", {}).items()),
        *((name, one, many) for key in ("anyOf", "oneOf", "allOf") for one in schema.get(key, ())),
        *((name, one, True) for one in (*schema.get("prefixItems", ()), schema.get("items")) if one),
    ]
    for below, one, several in inner:
        yield from _slots(one, below, many=several)
    if not inner and schema.get("type") != "null":
        yield Slot(name or "answer", _kind(schema), many)


def _kind(schema: Mapping[str, Any]) -> str:
    """The type of a value that holds no other."""
    said = schema.get("type", [])
    types = {said} if isinstance(said, str) else set(said)
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if types - {"null"} <= {"number", "integer"} and types - {"null"}:
        return "number"
    if not types and values and all(type(value) in (int, float) for value in values):
        return "number"
    if schema.get("format") == VALUE and isinstance(schema.get(KIND), str):
        return str(schema[KIND])
    return "text"
