"""Schemas: what is accepted, what is not, and which pointer and keyword a refusal names."""

import datetime
import json
from typing import Any

import pytest

from engine.errors import EngineError
from engine.generate.constraint.grammar import Grammars, check_constraint
from engine.generate.constraint.spec import Choice, Pattern, Schema, Spec
from tests.engine.generate.constraint.vocabulary import END_IDS, TOKENS, encode

GRAMMARS = Grammars(TOKENS, END_IDS, encode)


def accepts(spec: Spec, text: str) -> bool:
    """Whether the whole text is an answer."""
    ids = [*encode(text), END_IDS[0]]
    return GRAMMARS.make(spec).check(ids) == len(ids)


def of(node: Any) -> Schema:
    return Schema({"type": "object", "properties": {"a": node}, "required": ["a"]})


@pytest.mark.parametrize(
    ("node", "good", "bad"),
    [
        (
            {"type": "string"},
            ['""', r'"a\"b\\c\n\t é😀"', '"' + "a" * 1000 + '"'],
            ['"' + "a" * 1001 + '"', r'"\u0061"'],
        ),
        (
            {"type": "string", "minLength": 2, "maxLength": 3},
            ['"éé"', r'"\n\n\n"'],
            ['"a"', '"abcd"', '"a\nb"', "null"],
        ),
        (
            {"type": "string", "pattern": r"^\d{2}/[A-Z\"]$"},
            ['"12/A"', r'"12/\""'],
            ['"12/a"', '"112/A"', '"\u0661\u0661/A"'],
        ),
        ({"type": "string", "pattern": "b"}, ['"abc"', '"b"'], ['"ac"']),
        ({"type": "integer"}, ["0", "-1", "9" * 15], ["-0", "01", "9" * 16, "1.0", "1e3", " 1"]),
        (
            {"type": "number"},
            ["0.5", "-0.25", "1." + "3" * 10],
            ["1." + "3" * 11, "1.", ".5", "-", "1e3", "NaN", "Infinity"],
        ),
        ({"type": "integer", "minimum": -3, "exclusiveMaximum": 12}, ["-3", "0", "11"], ["-4", "12", "110"]),
        ({"type": "number", "minimum": 0, "maximum": 1}, ["0", "0.99", "1", "1.0"], ["1.01", "-0.1", "2"]),
        ({"type": "number", "exclusiveMinimum": 0.1, "maximum": 2.5}, ["0.11", "2.5", "2.50"], ["0.1", "0.10", "2.51"]),
        ({"type": "boolean"}, ["true", "false"], ["null", "True", '"true"']),
        ({"type": ["integer", "null"]}, ["null", "7"], ['"7"', "nul"]),
        (
            {"enum": ["a", 'q"\\/', 1.5, 2, True, None]},
            ['"a"', r'"q\"\\/"', "1.5", "2", "true", "null"],
            ['"b"', "false"],
        ),
        ({"const": "x", "type": "string"}, ['"x"'], ['"y"', "x"]),
        ({"type": "string", "format": "date"}, ['"2024-02-29"', '"0001-01-01"'], ['"2023-02-29"', '"0000-01-01"']),
        (
            {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
            ["[]", "[1]", "[1,2]"],
            ["[1,2,3]", "[1, 2]", "[,]"],
        ),
        ({"type": "array", "items": {"type": "null"}, "minItems": 1}, ["[null]"], ["[]", "[null" + ",null" * 32 + "]"]),
        ({"type": "array", "items": {"type": "null"}, "minItems": 2, "maxItems": 3}, ["[null,null]"], ["[null]"]),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 1}, ["[]", "[null]"], ["[null,null]"]),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 1, "minItems": 1}, ["[null]"], ["[]"]),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 0}, ["[]"], ["[null]"]),
        ({"type": "object"}, ["{}"], ["{ }", '{"a":1}']),
        (
            {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"b": {"type": "null"}}}]},
            ['{"b":null}', "3"],
            ["{}"],
        ),
        ({"type": "object", "properties": {'k"/~<x>': {"type": "null"}}}, [r'{"k\"/~<x>":null}'], ["{}"]),
        ({"type": "string", "title": "A", "description": "what it is", "default": ""}, ['"x"'], ["1"]),
    ],
)
def test_what_is_an_answer(node: Any, good: list[str], bad: list[str]) -> None:
    for text in good:
        assert accepts(of(node), '{"a":' + text + "}"), text
        json.loads(text)
    for text in bad:
        assert not accepts(of(node), '{"a":' + text + "}"), text


def test_properties_come_in_their_order_and_all_of_them() -> None:
    spec = Schema({"type": "object", "properties": {"b": {"type": "null"}, "a": {"type": "null"}}, "required": ["a"]})
    assert accepts(spec, '{"b":null,"a":null}')
    for text in (
        '{"a":null,"b":null}',
        '{"a":null}',
        '{"b": null,"a":null}',
        '{"b":null,"a":null} ',
        '{"b":null,"a":null',
    ):
        assert not accepts(spec, text)


def test_definitions_are_followed() -> None:
    spec = Schema(
        {
            "$defs": {"a/b": {"type": "object", "properties": {"x": {"type": "integer"}}}},
            "type": "array",
            "items": {"$ref": "#/$defs/a~1b"},
        }
    )
    assert accepts(spec, '[{"x":1},{"x":2}]')


def test_dates_are_days_of_the_calendar() -> None:
    spec = Schema({"type": "string", "format": "date"})
    for year in (1, 4, 100, 400, 1900, 1999, 2000, 2024, 9999):
        for month, day in [(m, d) for m in (0, 1, 2, 4, 9, 11, 12, 13) for d in (0, 1, 10, 28, 29, 30, 31, 32)]:
            try:
                is_day = bool(datetime.date(year, month, day))
            except ValueError:
                is_day = False
            assert accepts(spec, f'"{year:04}-{month:02}-{day:02}"') == is_day


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (3, "#/properties/a: schema: found 3, expected an object"),
        ({}, "#/properties/a: type: found None, expected one or some of object, array"),
        ({"type": "text"}, "#/properties/a: type: found 'text'"),
        ({"type": []}, "#/properties/a: type: found []"),
        ({"type": "string", "minimum": 3}, "#/properties/a: minimum: found 3, expected only format, maxLength"),
        ({"type": "string", "$defs": {}}, "#/properties/a: $defs: found {}"),
        ({"oneOf": [{"type": "null"}], "type": "null"}, "#/properties/a: oneOf: found "),
        ({"anyOf": []}, "#/properties/a: anyOf: found []"),
        ({"anyOf": [{"type": "null"}, {"type": "x"}]}, "#/properties/a/anyOf/1: type: found 'x'"),
        (
            {"type": "string", "maxLength": -1},
            "#/properties/a: maxLength: found -1, expected a whole number from 0 to 20000",
        ),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "#/properties/a: maxLength: found 2, expected at least 3"),
        ({"type": "string", "format": "email"}, "#/properties/a: format: found 'email', expected date"),
        (
            {"type": "string", "format": "date", "maxLength": 9},
            "#/properties/a: format: found 'date', expected no pattern",
        ),
        ({"type": "string", "pattern": "(a"}, "#/properties/a: pattern: unclosed group"),
        ({"type": "string", "pattern": "a(?=b)"}, "#/properties/a: pattern: found .*no look-around"),
        ({"type": "string", "pattern": r"(a)\1"}, "#/properties/a: pattern: .*not supported"),
        ({"type": "string", "pattern": "^a{5}$", "maxLength": 3}, "#/properties/a: pattern: .*Unsatisfiable"),
        ({"type": "string", "pattern": "((a{99}){99}){99}"}, "#/properties/a: pattern: found a size of"),
        ({"type": "string", "pattern": "[[a-z]&&[x]]"}, "#/properties/a: pattern: found a set in a set"),
        ({"type": "string", "pattern": "a" * 2001}, "#/properties/a: pattern: found 2001 code points"),
        ({"type": "number", "minimum": 3, "maximum": 2.9}, "#/properties/a: maximum: found 2.9"),
        (
            {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 4},
            "#/properties/a: exclusiveMaximum: found 4",
        ),
        ({"type": "integer", "maximum": True}, "#/properties/a: maximum: found True, expected a number"),
        ({"type": "integer", "multipleOf": 2}, "#/properties/a: multipleOf: found 2"),
        ({"enum": []}, r"#/properties/a: enum: found \[\]"),
        ({"enum": [[1]]}, r"#/properties/a: enum: found \[1\]"),
        ({"enum": ["a", 1], "type": "string"}, "#/properties/a: enum: found 1, expected .* of type string"),
        ({"enum": [1.5], "type": "integer"}, "#/properties/a: enum: found 1.5"),
        ({"enum": ["\ud800"]}, "#/properties/a: enum: found .*lone surrogates"),
        ({"type": "array"}, "#/properties/a: items: found None"),
        (
            {"type": "array", "items": {"type": "null"}, "minItems": 3, "maxItems": 2},
            "#/properties/a: maxItems: found 2",
        ),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 10**9}, "#/properties/a: maxItems: found 1000000000"),
        ({"type": "object", "additionalProperties": True}, "#/properties/a: additionalProperties: found True"),
        ({"type": "object", "required": ["x"]}, "#/properties/a: required: found .*names of properties"),
        ({"type": "object", "properties": {"a/b": {"type": "x"}}}, "#/properties/a/properties/a~1b: type"),
        ({"$ref": "http://x"}, r"#/properties/a: \$ref: found 'http://x'"),
        ({"$ref": "#/properties/a"}, "#/properties/a: schema: found 'level 17, part 18'"),
        ({"$ref": "#/$defs/none"}, r"#/properties/a: \$ref: .* a part of this schema"),
    ],
)
def test_what_is_refused_is_named(node: Any, message: str) -> None:
    with pytest.raises(EngineError, match=f"^schema {message.replace('[]', '.*').replace('$defs', '.defs')}"):
        check_constraint(of(node))


def test_large_and_deep_schemas_are_refused() -> None:
    deep: dict[str, Any] = {"type": "null"}
    for _ in range(17):
        deep = {"type": "array", "items": deep}
    endless: dict[str, Any] = {}
    endless["anyOf"] = [endless]
    wide = {"type": "object", "properties": {f"p{i}": {"type": "null"} for i in range(1001)}}
    for schema, message in (
        (deep, "16 levels"),
        (endless, "no JSON"),
        (wide, "1000 parts"),
        ({"x": "a" * 70000}, "65536"),
    ):
        with pytest.raises(EngineError, match=message):
            check_constraint(Schema(schema))


@pytest.mark.parametrize("options", [(), ("a", "a"), ("",), ("a" * 1001,), ("\udfff",), tuple(map(str, range(1001)))])
def test_choices_that_are_none_are_refused(options: tuple[str, ...]) -> None:
    with pytest.raises(EngineError, match=r"^choices: found"):
        check_constraint(Choice(options))


@pytest.mark.parametrize("regex", ["(", "[", "a{2", "(?x)a", "(?<=a)b", "((a{500}){500})", "a{60000}", "\\1", "*"])
def test_patterns_that_are_none_are_refused(regex: str) -> None:
    with pytest.raises(EngineError, match=r"^pattern: "):
        check_constraint(Pattern(regex))


def test_a_pattern_matches_the_whole_answer() -> None:
    assert accepts(Pattern("(yes|no), [a-z]{2,3}/<x>"), "no, abc/<x>")
    assert not accepts(Pattern("yes|no"), "yesno")
    assert accepts(Pattern(r"[^\[\]]+ \[1\]"), "yes [1]")
    assert not accepts(Pattern(r"[^\[\]]+ \[1\]"), "yes [ [1]")
    assert accepts(Choice(("a/b", 'c"d\n', "<x>")), 'c"d\n')
