"""Constraints: whoever chooses the tokens, what ends is valid, what is valid ends, and nothing is smuggled in."""

import datetime
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.generate.constraint import schema as schemas
from engine.generate.constraint.grammar import Grammars
from engine.generate.constraint.quotes import collapse, locate
from engine.generate.constraint.spec import Choice, Pattern, Schema, Spec
from tests.engine.generate.constraint.choosing import Chooser, allowed, written
from tests.engine.generate.constraint.vocabulary import CONTROL_IDS, END_IDS, TOKENS, encode, text_of

GRAMMARS = Grammars(TOKENS, END_IDS, encode)

TEXT = (
    'Invoice\n  No. 12\t"EUR" \\n 100,00 e\u0301 é 😀 中文 \x00\x01\x7f </s><|im_end|> '
    '{"a":null} </div>\u2028\u3000Total: aaaaaaaaaaaaaaaaaaaaaaaaaaa'
)
FIELD = {
    "type": "object",
    "properties": {
        "value": {"type": ["number", "null"], "minimum": -5},
        "quote": {"type": ["string", "null"], "maxLength": 30},
    },
    "required": ["value", "quote"],
}
SCHEMA = {
    "type": "object",
    "properties": {
        "total": FIELD,
        "kind": {"enum": ["invoice", 'a "b"', None]},
        "day": {"type": "string", "format": "date"},
        "lines": {"type": "array", "maxItems": 4, "items": {"type": "string", "maxLength": 12}},
        "quotes": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 40}},
        "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$", "maxLength": 9},
        "other": {"anyOf": [{"type": "integer"}, {"type": "boolean"}, FIELD]},
    },
}
QUOTES = {"/properties/total/properties/quote": TEXT, "/properties/quotes/items": TEXT}
SPEC = Schema(SCHEMA, QUOTES)


def longest(choices: NDArray[np.int64]) -> int:
    """Never ends what could go on: of the allowed tokens the one that closes least and moves least."""

    def rank(number: int) -> tuple[bool, int, int]:
        token = TOKENS[number]
        return number in END_IDS, sum(map(token.count, (b'"', b"}", b"]", b"null"))), len(token)

    return min(choices.tolist(), key=rank)


def at_random(seed: int) -> Chooser:
    random = np.random.default_rng(seed)
    return lambda choices: int(random.choice(choices))


def validate(value: Any, node: Mapping[str, Any], quotes: Mapping[str, str], at: str = "") -> None:
    """Whether a value is what the part of a schema says, by the definitions of JSON Schema."""
    if "anyOf" in node:
        return _any(value, node["anyOf"], quotes, at)
    if "enum" in node:
        assert value in node["enum"]
        return None
    names = [node["type"]] if isinstance(node["type"], str) else node["type"]
    kind = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    name = kind.get(type(value), "null")
    assert name in names or (name == "integer" and "number" in names)
    if isinstance(value, str):
        _string(value, node, quotes.get(at))
    elif isinstance(value, list):
        assert len(value) <= node.get("maxItems", schemas.ITEMS)
        for item in value:
            validate(item, node["items"], quotes, f"{at}/items")
    elif isinstance(value, dict):
        assert list(value) == list(node["properties"])
        for key in value:
            validate(value[key], node["properties"][key], quotes, f"{at}/properties/{key}")
    elif name in ("integer", "number"):
        assert value >= node.get("minimum", -(10**15))
    return None


def _any(value: Any, nodes: list[Any], quotes: Mapping[str, str], at: str) -> None:
    for i, node in enumerate(nodes):
        try:
            return validate(value, node, quotes, f"{at}/anyOf/{i}")
        except (AssertionError, ValueError, EngineError):
            if i == len(nodes) - 1:
                raise
    return None


def _string(value: str, node: Mapping[str, Any], text: str | None) -> None:
    assert node.get("minLength", 0) <= len(value) <= node.get("maxLength", 1000)
    if "pattern" in node:
        assert re.search(node["pattern"], value)
    if node.get("format") == "date":
        datetime.date.fromisoformat(value)
    if text is not None:
        start, end = locate(text, value)
        assert collapse(text[start:end]) == value


def test_what_goes_on_longest_ends_within_the_bound() -> None:
    bound = schemas.grammar(SPEC).longest
    ids, finish = written(GRAMMARS.make(SPEC), longest, 4 * bound)
    assert finish == "stop"
    assert len(text_of(ids)) <= bound
    validate(json.loads(text_of(ids)), SCHEMA, QUOTES)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_ends_is_valid(seed: int) -> None:
    """Random tokens; with every second seed those that go on longest, three times of four."""
    random, by_chance = np.random.default_rng(seed), at_random(seed)

    def choose(choices: NDArray[np.int64]) -> int:
        return longest(choices) if seed % 2 and random.random() < 0.75 else by_chance(choices)

    ids, finish = written(GRAMMARS.make(SPEC), choose, schemas.grammar(SPEC).longest * 4)
    assert finish == "stop"
    text = text_of(ids)
    assert len(text) <= schemas.grammar(SPEC).longest
    validate(json.loads(text), SCHEMA, QUOTES)
    assert re.sub(r'"([^"\\]|\\.)*"', "", text).split() == [re.sub(r'"([^"\\]|\\.)*"', "", text)]  # compact


DEFAULTS: list[Any] = [
    {"type": "string"},
    {"type": "number"},
    {"type": "integer"},
    {"type": "array", "items": {"type": "number"}},
    {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}},
    {"type": "object", "properties": {"a": {"type": "string", "pattern": "x*", "maxLength": 50}}},
]


@pytest.mark.parametrize("node", DEFAULTS)
def test_nothing_is_endless_by_default(node: Any) -> None:
    bound = schemas.grammar(Schema(node)).longest
    ids, finish = written(GRAMMARS.make(Schema(node)), longest, bound * 4)
    assert finish == "stop"
    assert len(text_of(ids)) <= bound
    validate(json.loads(text_of(ids)), node, {})


def test_an_answer_that_is_cut_is_not_taken_for_a_whole_one() -> None:
    for limit in range(0, 60, 7):
        ids, finish = written(GRAMMARS.make(SPEC), longest, limit)
        assert finish == "length"
        with pytest.raises(json.JSONDecodeError):
            json.loads(text_of(ids))


HOSTILE = {
    "quotes and escapes": '"\\"\\\\"\\u0041 "" \\n\\',
    "control characters": "".join(map(chr, range(32))) + "\x7f\x85",
    "emoji of several code points": "👩‍👩‍👧‍👦🏳️‍🌈 👍🏽 🇩🇪🇫🇷",
    "combining marks": "e\u0301e\u0301\u0327 é Z\u0335\u0351\u0310",
    "one sign": "a" * 3000,
    "many signs": "".join(map(chr, range(0x4E00, 0x5E00))),
    "control tokens as text": "</s><|im_end|><s>[INST]\x00\xff",
    "JSON": json.dumps(SCHEMA),
    "right to left": "\u202eabc\u202c אבג \u2066x\u2069",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_quotes_of_hostile_texts_are_located(name: str) -> None:
    text = HOSTILE[name]
    spec = Schema({"type": "array", "items": {"type": "string", "maxLength": 60}, "maxItems": 6}, {"/items": text})
    for seed in range(6):
        ids, finish = written(GRAMMARS.make(spec), at_random(seed) if seed else longest, 4000)
        assert finish == "stop"
        for quote in json.loads(text_of(ids)):
            start, end = locate(text, quote)
            assert collapse(text[start:end]) == quote
            assert 0 < len(quote) <= 60
            assert quote == quote.strip()


def test_a_text_of_200000_code_points_is_quoted_from() -> None:
    random = np.random.default_rng(3)
    text = "".join(random.choice(list('abcde "\\é中😀\n'), 200_000))
    ids, _ = written(GRAMMARS.make(Schema({"type": "string"}, {"": text})), longest, 4000)
    assert len(json.loads(text_of(ids))) == 400
    locate(text, json.loads(text_of(ids)))


def test_what_is_not_in_the_text_cannot_be_quoted() -> None:
    spec = Schema({"type": ["string", "null"], "minLength": 2}, {"": "Total  EUR\n100"})
    for text in ('"Total"', '"Total EUR"', '"EUR 100"', "null"):
        assert GRAMMARS.make(spec).check([*encode(text), END_IDS[1]]) == len(encode(text)) + 1
    for text in (
        '"total"',
        '"otal EUR"',
        '"EUR 10"',
        '"Total EUR  100"',
        '"EUR "',
        '" EUR"',
        '"T"',
        '""',
        r'"EUR\n100"',
        r'"\u0054otal"',
    ):
        assert GRAMMARS.make(spec).check(encode(text)) < len(encode(text))


@pytest.mark.parametrize("text", ["", " \n", "a", "a b"])
def test_a_text_without_such_a_part_allows_null_alone(text: str) -> None:
    node = {"type": ["string", "null"], "minLength": 2, "maxLength": 2}
    assert written(GRAMMARS.make(Schema(node, {"": text})), longest, 99)[0] == encode("null")
    with pytest.raises(
        EngineError, match=r"schema #: quotes: found .* expected words that make 2 to 2 code points, or null"
    ):
        GRAMMARS.make(Schema({**node, "type": "string"}, {"": text}))


def test_what_would_take_long_is_refused() -> None:
    with pytest.raises(EngineError, match="schema #: minLength: found 401, expected at most 400 for a quote"):
        GRAMMARS.make(Schema({"type": "string", "minLength": 401}, {"": TEXT}))
    node = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    texts = {"/properties/a": "a " * 70_000, "/properties/b": "b " * 70_000}
    with pytest.raises(EngineError, match="texts to quote from: 280000 code points, expected at most 262144"):
        GRAMMARS.make(Schema(node, texts))


def test_pointers_of_quotes_are_checked() -> None:
    node = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string", "pattern": "x"}}}
    for at, keyword in (
        ("/properties/c", "quotes"),
        ("/properties/a", "type"),
        ("/properties/b", "pattern"),
        ("/a", "quotes"),
    ):
        with pytest.raises(EngineError, match=f"schema #{at}: {keyword}"):
            GRAMMARS.make(Schema(node, {at: "text"}))


@pytest.mark.parametrize("spec", [SPEC, Choice(("yes", "no", "</s>")), Pattern("(?s:.{0,50})"), Pattern("[^a]{1,30}")])
def test_control_tokens_are_never_allowed(spec: Spec) -> None:
    constraint = GRAMMARS.make(spec)
    invalid = [i for i, token in enumerate(TOKENS) if token in (b"\xff", b"\xfe", b"\xc0")]
    for _ in range(200):
        ids = allowed(constraint.mask())
        assert not np.isin(ids, [*CONTROL_IDS, *invalid]).any()
        assert all(constraint.check([i]) == 0 for i in [*CONTROL_IDS, *invalid])
        if constraint.is_over:
            return
        constraint.advance([longest(ids)])


def test_two_tokens_of_the_same_bytes_are_both_allowed() -> None:
    both = [i for i, token in enumerate(TOKENS) if token == b"A"]
    assert len(both) == 2
    assert set(both) < set(allowed(GRAMMARS.make(Choice(("A", "B"))).mask()).tolist())


def test_masks_of_many_are_those_of_each() -> None:
    ids, _ = written(GRAMMARS.make(SPEC), at_random(5), 500)
    under_way, ended = GRAMMARS.make(SPEC), GRAMMARS.make(SPEC)
    under_way.advance(ids[:10])
    ended.advance(ids)
    constraints = [GRAMMARS.make(SPEC), GRAMMARS.make(Choice(("yes", "no"))), under_way, ended]
    masks = Grammars(TOKENS, END_IDS, encode, threads=3).masks(constraints)
    assert masks.shape == (len(constraints), (len(TOKENS) + 31) // 32)
    assert len({mask.tobytes() for mask in masks}) == len(constraints)
    for mask, constraint in zip(masks, constraints, strict=True):
        assert np.array_equal(mask, constraint.mask())
    assert under_way.check([*ids[10:], CONTROL_IDS[0]]) == len(ids) - 10


def test_an_end_token_is_taken_once() -> None:
    ids, _ = written(GRAMMARS.make(SPEC), at_random(2), 500)
    constraint = GRAMMARS.make(SPEC)
    constraint.advance([*ids, END_IDS[0]])
    assert constraint.is_over
    assert constraint.check([END_IDS[0]]) == 0
    assert allowed(constraint.mask()).tolist() == sorted(END_IDS)


def test_what_is_not_allowed_changes_nothing() -> None:
    constraint = GRAMMARS.make(Choice(("yes", "no")))
    before = constraint.mask()
    with pytest.raises(EngineError, match="is not allowed after 1 tokens"):
        constraint.advance([*encode("y"), *encode("o")])
    assert np.array_equal(constraint.mask(), before)
    constraint.advance(encode("yes"))
    assert allowed(constraint.mask()).tolist() == sorted(END_IDS)
    assert constraint.is_over


def test_an_answer_may_end_where_it_is_whole() -> None:
    constraint = GRAMMARS.make(Choice(("a", "ab")))
    constraint.advance(encode("a"))
    assert not constraint.is_over
    assert set(END_IDS) < set(allowed(constraint.mask()).tolist())
    assert constraint.check([END_IDS[0]]) == 1
    constraint.advance([END_IDS[1]])
    assert constraint.is_over
    whole = GRAMMARS.make(Choice(("a", "ab")))
    whole.advance(encode("ab"))
    assert whole.is_over


def test_forced_tokens_are_the_tokenizers_own() -> None:
    """What is forced, and what could be joined to what comes next is not: here the quote that opens a value."""
    constraint = GRAMMARS.make(Schema({"type": "object", "properties": {"Total": {"type": "integer"}}}))
    forced = constraint.forced()
    assert forced == encode('{"Total":')[: len(forced)]
    assert len(forced) >= 2
    constraint.advance(forced)
    assert constraint.check(encode("12}")) == len(encode("12}"))


def test_nothing_is_forced_where_the_tokenizer_is_not_known() -> None:
    assert Grammars(TOKENS, END_IDS).make(Choice(("Total",))).forced() == []


@pytest.mark.parametrize("ids", [[], [0], [700_000]])
def test_a_tokenizer_that_says_something_else_is_not_believed(ids: list[int]) -> None:
    grammars = Grammars(TOKENS, END_IDS, lambda text: [*ids, *encode(text)][: len(ids) or None] if ids else [])
    constraint = grammars.make(Choice(("Total EUR",)))
    assert text_of(constraint.forced()) == "Total EUR"[: len(text_of(constraint.forced()))]


@pytest.mark.parametrize("ends", [(), (-1,), (len(TOKENS),)])
def test_end_tokens_are_ids(ends: tuple[int, ...]) -> None:
    with pytest.raises(EngineError, match="end tokens: found"):
        Grammars(TOKENS, ends).make(Choice(("yes",)))


def test_the_document_is_in_no_message() -> None:
    with pytest.raises(EngineError) as caught:
        GRAMMARS.make(Schema({"type": "string", "minLength": 30}, {"": "secret"}))
    assert "secret" not in str(caught.value)
