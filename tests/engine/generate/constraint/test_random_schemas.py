"""Schemas made at random: whoever chooses the tokens, an answer ends within the bound and is valid."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from engine.generate.constraint import schema as schemas
from engine.generate.constraint.spec import Schema
from tests.engine.generate.constraint.test_grammar import GRAMMARS, HOSTILE, TEXT, at_random, longest, validate, written
from tests.engine.generate.constraint.vocabulary import text_of

TEXTS = [*HOSTILE.values(), TEXT, "a b", "x", ""]
LEAVES = ["string", "number", "null", "enum", "quote", "pattern", "date"]


class Maker:
    """A schema and the texts that are quoted from, by pointer."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.quotes: dict[str, str] = {}

    def node(self, at: str = "", depth: int = 0) -> dict[str, Any]:
        kinds = LEAVES if depth > 3 else [*LEAVES, "array", "object", "anyOf"] * 2
        make: Callable[[str, int], dict[str, Any]] = getattr(self, self.random.choice(kinds))
        return make(at, depth)

    def string(self, _at: str, _depth: int) -> dict[str, Any]:
        low = self.random.randrange(4)
        return {"type": "string", "minLength": low, "maxLength": low + self.random.randrange(20)}

    def number(self, _at: str, _depth: int) -> dict[str, Any]:
        types = self.random.sample(["integer", "number", "null", "boolean"], 2)
        bounds = {
            "minimum": self.random.choice([0, -10.5, 0.001, 100]),
            "maximum": self.random.choice([101, 2e4, 1e20]),
        }
        return {"type": types, **bounds} if {"integer", "number"} & set(types) else {"type": types}

    def null(self, _at: str, _depth: int) -> dict[str, Any]:
        return {"type": "null"}

    def enum(self, _at: str, _depth: int) -> dict[str, Any]:
        return {"enum": self.random.sample(["a", 'b"', "", None, True, 3, 2.5, "é\n"], 3)}

    def date(self, _at: str, _depth: int) -> dict[str, Any]:
        return {"type": "string", "format": "date"}

    def pattern(self, _at: str, _depth: int) -> dict[str, Any]:
        regex = self.random.choice(["^[A-Z]{2}$", "a+b", "^(ja|nein)?$", "é", '"'])
        return {"type": "string", "pattern": regex, "maxLength": self.random.randrange(2, 20)}

    def quote(self, at: str, _depth: int) -> dict[str, Any]:
        self.quotes[at] = self.random.choice(TEXTS)
        return {"type": ["string", "null"], "maxLength": self.random.randrange(1, 60)}

    def array(self, at: str, depth: int) -> dict[str, Any]:
        low = self.random.randrange(2)
        items = self.node(f"{at}/items", depth + 1)
        return {"type": "array", "items": items, "minItems": low, "maxItems": low + self.random.randrange(4)}

    def object(self, at: str, depth: int) -> dict[str, Any]:
        names = [f"k{i}" for i in range(self.random.randrange(4))]
        return {"type": "object", "properties": {n: self.node(f"{at}/properties/{n}", depth + 1) for n in names}}

    def anyOf(self, at: str, depth: int) -> dict[str, Any]:  # noqa: N802 - the keyword's name
        return {"anyOf": [self.node(f"{at}/anyOf/{i}", depth + 1) for i in range(self.random.randrange(1, 4))]}


@pytest.mark.parametrize("seed", range(60))
def test_answers_of_any_schema(seed: int) -> None:
    maker = Maker(seed)
    spec = Schema(maker.node(), maker.quotes)
    bound = schemas.grammar(spec).longest
    for choose in (longest, at_random(seed)):
        ids, finish = written(GRAMMARS.make(spec), choose, 4 * bound + 4)
        assert finish == "stop"
        assert len(text_of(ids)) <= bound
        validate(json.loads(text_of(ids)), spec.schema, spec.quotes)
