"""Parts of an answer that are held to values of the document, so that no amount, number or date of it is invented.

Values are found in the whole document, with its habits, and offered where they lie wholly in what the model reads: what
a cut leaves of a value is no value. A value is written in its normal form, and has its first place there as evidence.
"""

import operator
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import engine
from pipeline.document import Parsed, Span
from pipeline.errors import DocumentError, Failure
from pipeline.tasks.ask.schemas import BOUNDS, KIND, VALUE, marked, steps_of
from pipeline.tasks.asking import escaped
from pipeline.tasks.settings import SettingsError
from pipeline.text.values import VALUES, Value, read_habits

KINDS: Final = ("date", "email", "iban", "money", "number", "percent", "phone", "reference")
NUMERIC: Final = ("number", "money", "percent")
"""Types of value that are a number, perhaps with a unit."""
MOST: Final = 10_000
"""Different values for one part of an answer, at most."""
LONGEST: Final = 160
"""Code points of a value, at most; a longer reference is none."""
DIGITS: Final = 15
"""Digits of a number, at most: so many are exact in float64, and come back from JSON as they were."""

_HOLDS: Final[Mapping[str, Callable[[Decimal, Decimal], bool]]] = {
    "minimum": operator.ge, "maximum": operator.le, "exclusiveMinimum": operator.gt, "exclusiveMaximum": operator.lt,
}  # fmt: skip
_NOTES: Final = {"title", "description", "default", "examples", "$comment"}
_CELLS: Final = (" | ", "\t")
_WRAPPED: Final = re.compile(r"(?<=[^\s\d])\n(?=\S)|(?<=\d)\n(?=[^\s\d])")  # no number goes on in the next line

Scalar = str | int | float


@dataclass(frozen=True)
class Held:
    """The value at a place of an answer: it is of one of the `kinds`, written as a JSON `type` within bounds."""

    kinds: tuple[str, ...]
    type: str
    bounds: tuple[tuple[str, Decimal], ...] = ()

    def read(self, value: Value) -> Scalar | None:
        """The value as it is written in an answer; None where it is of another type, or out of bounds."""
        if self.type == "string":
            return value.value if len(value.value) <= LONGEST else None
        number = Decimal(value.value.split()[0].rstrip("%"))
        if not all(_HOLDS[name](number, bound) for name, bound in self.bounds):
            return None
        if len(number.normalize().as_tuple().digits) > DIGITS or abs(number) >= 10**DIGITS:
            return None
        if number == number.to_integral_value():
            return int(number)
        return float(number) if self.type == "number" else None

    def __str__(self) -> str:
        integer = "integer " if self.type == "integer" else ""
        return f"{integer}value of the type {' or '.join(self.kinds)}{' within the bounds' if self.bounds else ''}"


def held_by(node: Mapping[str, Any]) -> Held:
    """Read a part of a schema that `check_held` found to be right."""
    (written,) = (name for name in _types(node) if name != "null")
    kinds = (node[KIND],) if KIND in node else NUMERIC
    return Held(kinds, written, tuple((key, Decimal(str(node[key]))) for key in BOUNDS if key in node))


def _types(node: Mapping[str, Any]) -> list[str]:
    found = node.get("type")
    return [found] if isinstance(found, str) else list(found or ())


def check_held(schema: Any) -> None:
    """Raise SettingsError for a part of a schema that is marked as a value and cannot be one."""
    for pointer, node in marked(schema, VALUE):
        try:
            _check_node(node)
        except SettingsError as error:
            at = (int(step) if step.isdecimal() else step for step in steps_of(pointer))
            raise SettingsError(error.found, error.expected, at=("schema", *at)) from error


def _check_node(node: Mapping[str, Any]) -> None:
    types = [name for name in _types(node) if name != "null"]
    if len(types) != 1 or types[0] not in ("string", "number", "integer"):
        expected = "string, number or integer, or a list of one of them and null"
        raise SettingsError(f"a value of the type {node.get('type')!r}", expected)
    is_text = types[0] == "string"
    kinds = KINDS if is_text else NUMERIC
    if (KIND in node or is_text) and node.get(KIND) not in kinds:
        found = f"the {KIND} {node[KIND]!r}" if KIND in node else f"a text that is a value, without {KIND}"
        raise SettingsError(found, f"{KIND}: one of {', '.join(kinds)}")
    bounds = {} if is_text else {key: node[key] for key in BOUNDS if key in node}
    allowed = {"type", "format", KIND, *_NOTES, *(() if is_text else BOUNDS)}
    if others := sorted(set(node) - allowed):
        raise SettingsError(f"{others[0]!r} beside format: value", f"only {', '.join(sorted(allowed))}")
    try:
        engine.check_constraint(engine.Schema({"type": types[0], **bounds}))
    except engine.EngineError as error:
        raise SettingsError(str(error)) from error


class Offered:
    """The values of some spans of a document, in order of their starts, by what an answer is held to."""

    def __init__(self, document: Parsed, spans: Sequence[Span]) -> None:
        self._text, self._spans = document.text, spans
        self._habits = read_habits(document.text)
        self._wrapped = _wrapped(document.text)
        self._found: dict[str, list[Value]] = {}
        self._offered: dict[Held, Mapping[Scalar, Span]] = {}

    def __getitem__(self, held: Held) -> Mapping[Scalar, Span]:
        """Return what may be written, in order of places, each with its first. Raises DocumentError for too many."""
        if held not in self._offered:
            each: dict[Scalar, Span] = {}
            for value in self._within(held.kinds):
                if (read := held.read(value)) is not None:
                    each.setdefault(read, Span(value.start, value.end))
            if len(each) > MOST:
                raise DocumentError(Failure.UNANSWERED, f"{len(each):,} values may be meant, at most {MOST:,} can be")
            self._offered[held] = each
        return self._offered[held]

    def _within(self, kinds: Sequence[str]) -> Iterator[Value]:
        """Yield the values that lie wholly in one of the spans."""
        values = sorted((value for kind in kinds for value in self._values(kind)), key=lambda one: (one.start, one.end))
        starts = [value.start for value in values]
        for span in self._spans:
            inside = values[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
            yield from (value for value in inside if value.end <= span.end)

    def _values(self, kind: str) -> list[Value]:
        if kind not in self._found:
            plain = list(VALUES[kind](self._text, self._habits))
            wrapped = list(VALUES[kind](self._wrapped, self._habits))
            longer, parts = self._over_lines(plain, wrapped)
            if kind == "number":  # one that is a part of a date or amount which goes over the end of a line is none
                whole = {(value.start, value.end) for value in wrapped}
                parts |= {index for index, value in enumerate(plain) if (value.start, value.end) not in whole}
            self._found[kind] = [value for index, value in enumerate(plain) if index not in parts] + longer
        return self._found[kind]

    def _over_lines(self, plain: Sequence[Value], wrapped: Sequence[Value]) -> tuple[list[Value], set[int]]:
        """The values that go over the end of a line of prose, such as 15 January / 2026, and the indexes of those that
        are a part of one of them. It takes nothing from a value that reaches beyond it."""
        ends, found, parts = [value.end for value in plain], list[Value](), set[int]()
        for value in wrapped:
            if "\n" in self._text[value.start : value.end]:
                first, last = bisect_right(ends, value.start), bisect_left(ends, value.end)
                beside = [*plain[first : first + 1], *plain[last : last + 1]]
                if all(one.start >= value.start and (one.end <= value.end or one.start >= value.end) for one in beside):
                    found.append(value)
                    parts.update(range(first, bisect_right(ends, value.end)))
        return found, parts


def _wrapped(text: str) -> str:
    """The text with a blank for each end of a line of prose that goes on in the next line; places stay as they are."""

    def joined(match: re.Match[str]) -> str:
        at = match.start()
        end = text.find("\n", at + 1)
        lines = text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)]
        return "\n" if any(cell in lines for cell in _CELLS) else " "

    return _WRAPPED.sub(joined, text)


class NoValueError(Exception):
    """A part of a schema that must be a value, while there is none: `pointer`, and what it is held to."""

    def __init__(self, pointer: str, held: Held) -> None:
        super().__init__(f"no {held} stands in what was read, and the schema does not allow null at {pointer or '/'}")


def narrowed(node: Any, offered: Offered, at: str = "") -> Any:
    """Return the schema, which has no `$ref`, without what would need a value that is not there: null in place of it,
    another alternative, or a list of nothing. NoValueError where that leaves nothing."""
    if not isinstance(node, dict):
        return node
    if node.get("format") == VALUE:
        held = held_by(node)
        if offered[held]:
            return {**node, "type": _types(node)}
        if "null" not in _types(node):
            raise NoValueError(at, held)
        return {"type": "null"}
    if "anyOf" in node:
        return {**node, "anyOf": _alternatives(node["anyOf"], offered, at)}
    types, wrong = _types(node), list[NoValueError]()
    out = dict(node)
    for name, narrow in (("object", _narrowed_object), ("array", _narrowed_array)):
        if name in types:
            try:
                out |= narrow(node, offered, at)
            except NoValueError as error:
                wrong.append(error)
                types.remove(name)
                out = {key: value for key, value in out.items() if key not in _OF_TYPE[name]}
    if wrong and not types:
        raise wrong[0]
    return {**out, "type": types} if wrong else out


_OF_TYPE: Final = {
    "object": ("properties", "required", "additionalProperties"), "array": ("items", "minItems", "maxItems"),
}  # fmt: skip


def _alternatives(nodes: Sequence[Any], offered: Offered, at: str) -> list[Any]:
    left, wrong = list[Any](), list[NoValueError]()
    for node in nodes:
        try:
            left.append(narrowed(node, offered, at))
        except NoValueError as error:
            wrong.append(error)
    if wrong and not left:
        raise wrong[0]
    return left


def _narrowed_object(node: Mapping[str, Any], offered: Offered, at: str) -> dict[str, Any]:
    named = node.get("properties", {})
    return {"properties": {name: narrowed(one, offered, f"{at}/{escaped(name)}") for name, one in named.items()}}


def _narrowed_array(node: Mapping[str, Any], offered: Offered, at: str) -> dict[str, Any]:
    try:
        return {"items": narrowed(node["items"], offered, f"{at}/0")}
    except NoValueError:
        if node.get("minItems", 0):
            raise
        return {"items": {"type": "null"}, "maxItems": 0}


def values_of(schema: Any, offered: Offered) -> dict[str, tuple[Scalar, ...]]:
    """The values that are offered at each JSON pointer into a schema that was narrowed, for `engine.Schema`."""
    return {pointer: tuple(offered[held_by(node)]) for pointer, node in marked(schema, VALUE)}
