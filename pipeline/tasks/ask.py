"""Ask: a question of one's own about each document, answered as a schema of one's own says; for models that write."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

import engine
from pipeline.tasks.columns import EVIDENCE

QUOTE: Final = "quote"
"""The `format` of a text that is a passage of the document."""

DEFAULT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "quotes": {"type": "array", "items": {"type": "string", "format": QUOTE, "maxLength": 480}, "maxItems": 4},
        "answer": {"type": "string", "maxLength": 2000},
    },
    "required": ["quotes", "answer"],
    "additionalProperties": False,
}
"""The schema of an answer where the job has none."""

_OF_NAMES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_OF_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")


class SchemaError(ValueError):
    """No answer can be held to a schema; the message names the JSON pointer and the keyword."""

    @property
    def steps(self) -> tuple[str | int, ...]:
        """Those of the pointer; an index of a list as a number."""
        found = re.match(r"schema #((?:/[^/:]*)*): ", str(self))
        steps = found[1].split("/")[1:] if found else []
        return tuple(int(s) if s.isdecimal() else s.replace("~1", "/").replace("~0", "~") for s in steps)


@dataclass(frozen=True)
class AskSettings:
    """A question, and the JSON Schema of its answer as JSON, in whose order it is written. SchemaError."""

    question: str
    schema: str = json.dumps(DEFAULT)

    def __post_init__(self) -> None:
        if not self.question.strip():
            raise ValueError("the question says nothing")
        schema = json.loads(self.schema)
        try:
            engine.check_constraint(engine.Schema(unmarked(schema), dict.fromkeys(quotes(schema), "text")))
        except engine.EngineError as error:
            raise SchemaError(str(error)) from error


COLUMNS: Final = (
    pa.field("answer", pa.string()),
    pa.field(
        "values",
        pa.list_(
            pa.struct(
                [("pointer", pa.string()), ("value", pa.string()), ("score", pa.float64()), ("evidence", EVIDENCE)]
            )
        ),
    ),
)


def unmarked(schema: Any) -> Any:
    """The schema without the marks of quotes, which are no business of JSON Schema."""
    if isinstance(schema, list):
        return [unmarked(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    left = {key: value for key, value in schema.items() if not (key == "format" and value == QUOTE)}
    return left | {key: unmarked(left[key]) for key in (*_SCHEMA, *_OF_SCHEMAS) if key in left} | {
        key: {name: unmarked(value) for name, value in left[key].items()}
        for key in _OF_NAMES
        if isinstance(left.get(key), dict)
    }  # fmt: skip


def quotes(schema: Any, pointer: str = "") -> Iterator[str]:
    """JSON pointers to the texts in a schema that are marked as quotes."""
    if not isinstance(schema, dict):
        return
    if schema.get("format") == QUOTE:
        yield pointer
    for key in _SCHEMA:
        yield from quotes(schema.get(key), f"{pointer}/{key}")
    for key in _OF_SCHEMAS:
        listed = schema.get(key)
        for index, item in enumerate(listed if isinstance(listed, list) else ()):
            yield from quotes(item, f"{pointer}/{key}/{index}")
    for key in _OF_NAMES:
        named = schema.get(key)
        for name, item in (named if isinstance(named, dict) else {}).items():
            yield from quotes(item, f"{pointer}/{key}/{name.replace('~', '~0').replace('/', '~1')}")


def nodes(schema: Any, steps: tuple[str, ...], root: Any = None) -> Iterator[Mapping[str, Any]]:
    """The parts of a schema that speak of this place of an answer."""
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
    """What `$ref` leads to within the schema; None for none."""
    path = schema.get("$ref")
    if not isinstance(path, str) or not path.startswith("#/"):
        return None
    for step in path[2:].split("/"):
        root = root.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(root, dict) else None
    return root
