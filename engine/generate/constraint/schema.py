"""A JSON Schema as a grammar in Lark's syntax: compact JSON, every property, bounded everywhere.

README.md, "Constrained answers", has the keywords. What is not supported is refused by JSON pointer and keyword;
nothing is ignored but what only tells people something."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import EngineError
from engine.generate.constraint import leaves, quotes
from engine.generate.constraint.leaves import NOTES, Part, literal, refuse
from engine.generate.constraint.spec import Schema

LARGEST = 65_536
"""Code points of a schema as JSON, at most."""
DEEPEST = 16
MOST_NODES = 1_000
MOST_ITEMS = 1_000
ITEMS = 32
"""The default of `maxItems`."""

Node = Mapping[str, Any]


@dataclass(frozen=True)
class Grammar:
    """`lark` with the rule `start`; `longest`: code points of an answer, at most. `patterns`: where regular expressions
    stand, and the grammar of each alone, to say which of them is at fault."""

    lark: str
    longest: int
    patterns: Mapping[str, str]


def grammar(spec: Schema) -> Grammar:
    """The grammar of a schema. Raises EngineError, which names the JSON pointer and keyword, for what is not
    supported."""
    try:
        size = len(json.dumps(spec.schema, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise EngineError(f"schema: is no JSON ({error!s:.80})") from None
    if size > LARGEST:
        raise EngineError(f"schema: {size} code points of JSON, expected at most {LARGEST}")
    writer = _Writer(spec)
    start = writer.part("", spec.schema, 0)
    for keyword, given, whose in (("quotes", spec.quotes, "a string's"), ("values", spec.values, "a value's")):
        if unused := sorted(set(given) - writer.used):
            raise EngineError(
                f"schema #{unused[0]}: {keyword}: no part of the schema is there, expected {whose} pointer"
            )
    terminals = [f"{name}: {body}" for body, name in writer.terminals.items()]
    return Grammar("\n".join([f"start: {start.lark}", *terminals, *writer.rules, ""]), start.longest, writer.patterns)


class _Writer:
    def __init__(self, spec: Schema) -> None:
        self.root = spec.schema
        self.quotes, self.values = spec.quotes, spec.values
        self.rules: list[str] = []
        self.used: set[str] = set()
        self.terminals: dict[str, str] = {}  # what a terminal is -> its name
        self.patterns: dict[str, str] = {}
        self.parts: dict[str, list[str]] = {}  # text that is quoted from -> its parts
        self.texts: dict[str, str] = {}  # the same -> the name of its terminal
        self.nodes = 0

    def part(self, at: str, node: object, depth: int) -> Part:
        """The rule of the node at JSON pointer `at`."""
        self.nodes += 1
        if not isinstance(node, Mapping):
            refuse(at, "schema", node, "an object")
        if depth > DEEPEST or self.nodes > MOST_NODES:
            found = f"level {depth}, part {self.nodes}"
            refuse(at, "schema", found, f"at most {DEEPEST} levels and {MOST_NODES} parts, no recursion")
        if "$ref" in node:
            return self._reference(at, node, depth)
        part = self._alternatives(at, node, depth) if "anyOf" in node else self._typed(at, node, depth)
        return self.rule(part)

    def rule(self, part: Part) -> Part:
        self.rules.append(f"n{len(self.rules)}: {part.lark}")
        return Part(f"n{len(self.rules) - 1}", part.longest)

    def _reference(self, at: str, node: Node, depth: int) -> Part:
        only(at, node, {"$ref"}, depth)
        target = node["$ref"]
        if not isinstance(target, str) or not target.startswith("#/"):
            refuse(at, "$ref", target, "a pointer into this schema, such as #/$defs/name")
        found: Any = self.root
        for key in target[2:].split("/"):
            key = key.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or key not in found:
                refuse(at, "$ref", target, "a pointer to a part of this schema")
            found = found[key]
        return self.part(target[1:], found, depth + 1)

    def _alternatives(self, at: str, node: Node, depth: int) -> Part:
        only(at, node, {"anyOf"}, depth)
        nodes = node["anyOf"]
        if not isinstance(nodes, list) or not nodes:
            refuse(at, "anyOf", nodes, "a list of schemas")
        return either([self.part(f"{at}/anyOf/{i}", one, depth + 1) for i, one in enumerate(nodes)])

    def _typed(self, at: str, node: Node, depth: int) -> Part:
        if at in self.quotes:
            return self._quote(at, node, depth)
        types = types_of(at, node)
        if at in self.values:
            self.used.add(at)
            only(at, node, {"type"}, depth)
            part = leaves.values(at, self.values[at], types)
            return Part(self._terminal(part.lark), part.longest)
        if "enum" in node or "const" in node:
            only(at, node, {"type", "enum", "const"}, depth)
            return leaves.options(at, node, types)
        only(at, node, {"type"}.union(*(WRITERS[name][0] for name in types)), depth)
        return either([WRITERS[name][1](self, at, node, depth) for name in types])

    def _quote(self, at: str, node: Node, depth: int) -> Part:
        self.used.add(at)
        only(at, node, {"type", "minLength", "maxLength"}, depth)
        types = types_of(at, node)
        if "string" not in types or not set(types) <= {"string", "null"}:
            refuse(at, "type", node.get("type"), '"string", or ["string", "null"], for a quote')
        low, high = leaves.lengths(at, node, leaves.QUOTE_LENGTH, least=1)
        if low > leaves.QUOTE_LENGTH:
            refuse(at, "minLength", low, f"at most {leaves.QUOTE_LENGTH} for a quote")
        text = self.quotes[at]
        found = [Part(literal("null"), 4)] if "null" in types else []
        if quotes.can_quote(self._parts(text), low, high):
            found.append(self._quoted(text, low, high))
        if not found:
            size = f"{len(text)} code points"
            refuse(at, "quotes", size, f"words that make {low} to {high} code points, or null allowed")
        return either(found)

    def _quoted(self, text: str, low: int, high: int) -> Part:
        """One terminal for all quotes of a kind: what llguidance finds out about a text is then found out once."""
        if text not in self.texts:
            self.texts[text] = self._terminal(leaves.substring(self._parts(text)))
        quote = leaves.quote(self.texts[text], low, high)
        return Part(self._terminal(quote.lark), quote.longest)

    def _parts(self, text: str) -> list[str]:
        if text not in self.parts:
            self.parts[text] = quotes.parts(text)
            if (size := sum(map(len, self.parts))) > quotes.LONGEST_TEXT:
                raise EngineError(f"texts to quote from: {size} code points, expected at most {quotes.LONGEST_TEXT}")
        return self.parts[text]

    def _terminal(self, body: str) -> str:
        return self.terminals.setdefault(body, f"T{len(self.terminals)}")

    def object(self, at: str, node: Node, depth: int) -> Part:
        """All properties in their order, whether `required` or not: that satisfies the schema too."""
        properties = node.get("properties", {})
        if not isinstance(properties, Mapping):
            refuse(at, "properties", properties, "an object")
        if node.get("additionalProperties", False) is not False:
            refuse(at, "additionalProperties", node["additionalProperties"], "false")
        required = node.get("required", [])
        if not isinstance(required, list) or not set(map(str, required)) <= set(properties):
            refuse(at, "required", required, "names of properties")
        written, longest, before = [], 2, "{"
        for name, value in properties.items():
            key = before + json.dumps(name, ensure_ascii=False) + ":"
            leaves.utf8(at, "properties", name)
            part = self.part(f"{at}/properties/{name.replace('~', '~0').replace('/', '~1')}", value, depth + 1)
            written += [literal(key), part.lark]
            longest, before = longest + len(key) + part.longest, ","
        return Part(" ".join([*written, literal("}" if properties else "{}")]), longest)

    def array(self, at: str, node: Node, depth: int) -> Part:
        low = leaves.count(at, node, "minItems", 0, MOST_ITEMS)
        high = leaves.count(at, node, "maxItems", max(low, ITEMS), MOST_ITEMS)
        if low > high:
            refuse(at, "maxItems", high, f"at least minItems, {low}")
        if "items" not in node:
            refuse(at, "items", None, "a schema")
        item = self.part(f"{at}/items", node["items"], depth + 1)
        if not high:
            return Part(literal("[]"), 2)
        more = f"{item.lark} ({literal(',')} {item.lark}){{{max(low - 1, 0)},{high - 1}}}"
        more = more if high > 1 else item.lark
        inner = more if low else f"({more})?"
        return Part(f"{literal('[')} {inner} {literal(']')}", 2 + high * (item.longest + 1))

    def string(self, at: str, node: Node, _depth: int) -> Part:
        part = leaves.string(at, node)
        if "pattern" in node:
            self.patterns[at] = f"start: {part.lark}"
        return part


RANGE = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
Writer = Callable[[_Writer, str, Node, int], Part]
WRITERS: dict[str, tuple[set[str], Writer]] = {
    "object": ({"properties", "required", "additionalProperties"}, _Writer.object),
    "array": ({"items", "minItems", "maxItems"}, _Writer.array),
    "string": ({"minLength", "maxLength", "pattern", "format"}, _Writer.string),
    "number": (RANGE, lambda _, at, node, depth: leaves.number(at, node, leaves.FRACTION_DIGITS)),
    "integer": (RANGE, lambda _, at, node, depth: leaves.number(at, node, 0)),
    "boolean": (set(), lambda *_: Part(f"{literal('true')} | {literal('false')}", 5)),
    "null": (set(), lambda *_: Part(literal("null"), 4)),
}
"""Type -> the keywords that it may have, and what writes its rule."""


def either(parts: list[Part]) -> Part:
    return Part(" | ".join(part.lark for part in parts), max(part.longest for part in parts))


def types_of(at: str, node: Node) -> list[str]:
    """The names in `type`. Without it, an enum or a const may be of every type."""
    found = node.get("type", list(WRITERS) if {"enum", "const"} & set(node) else None)
    names = [found] if isinstance(found, str) else found
    if not isinstance(names, list) or not names or not all(isinstance(n, str) and n in WRITERS for n in names):
        refuse(at, "type", found, f"one or some of {', '.join(WRITERS)}")
    return list(dict.fromkeys(names))


def only(at: str, node: Node, allowed: set[str], depth: int) -> None:
    """Refuses other keywords; definitions may stand at the root."""
    for name in node:
        if name not in allowed and name not in NOTES and not (depth == 0 and name in ("$defs", "definitions")):
            refuse(at, str(name), node[name], f"only {', '.join(sorted(allowed))} here")
