"""Values that a place of an answer is held to: one of them is written, spelled in one way, and nothing else."""

import json
import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.generate.constraint import schema
from engine.generate.constraint.grammar import Grammars
from engine.generate.constraint.leaves import MOST_VALUES
from engine.generate.constraint.spec import Schema
from tests.engine.generate.constraint.choosing import written
from tests.engine.generate.constraint.vocabulary import END_IDS, TOKENS, encode, text_of

GRAMMARS = Grammars(TOKENS, END_IDS, encode)
AT = "/properties/x"
GIVEN = (1, 10, 100, 1.5, -3, 0, 1234567890.25)
TEXTS = ("2026-01-15", "1.50 EUR", "a|b", 'say "no"', "\\d+", "ü/😀", "null", "a", "ab")


def _any_of(chance: random.Random, some: NDArray[np.int64]) -> int:
    return int(chance.choice(some.tolist()))


def holding(values: Sequence[str | int | float], types: Any) -> Schema:
    return Schema({"type": "object", "properties": {"x": {"type": types}}}, {}, {AT: tuple(values)})


@pytest.mark.parametrize(
    ("values", "types"),
    [
        (GIVEN, "number"),
        (TEXTS, "string"),
        (TEXTS, ["string", "null"]),
        ((7,), ["integer", "null"]),
        ((), ["number", "null"]),
    ],
)
def test_whoever_chooses_writes_one_of_them(values: Sequence[str | int | float], types: Any) -> None:
    allowed = [*values, None] if "null" in types else [*values]
    seen = set()
    for seed in range(200):
        chance = random.Random(seed)
        constraint = GRAMMARS.make(holding(values, types))
        ids, how = written(constraint, partial(_any_of, chance), 300)
        assert how == "stop"
        text = text_of(ids)
        assert len(text) <= schema.grammar(holding(values, types)).longest
        seen.add(json.loads(text)["x"])
    assert seen <= set(allowed)
    assert len(seen) >= min(len(allowed), 3)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (holding((), "number"), "values: found 'none', expected one at least, or null allowed"),
        (holding(("5",), "number"), "values: found '5', expected text, a number"),
        (holding((1.5,), "integer"), "values: found 1.5"),
        (holding(range(MOST_VALUES + 1), "integer"), f"values: found {MOST_VALUES + 1}, expected at most"),
        (Schema({"type": "integer"}, {}, {"/y": (1,)}), "#/y: values: no part of the schema is there"),
        (Schema({"type": "integer", "minimum": 1}, {}, {"": (1,)}), "minimum: found 1, expected only type here"),
    ],
)  # fmt: skip
def test_what_cannot_be_held_is_refused(spec: Schema, told: str) -> None:
    with pytest.raises(EngineError) as raised:
        GRAMMARS.make(spec)
    assert told in str(raised.value)


def test_thousands_are_held_to() -> None:
    values = [number / 4 for number in range(MOST_VALUES)]
    for value in (0.0, 2499.75, values[-1]):
        constraint = GRAMMARS.make(holding(values, "number"))
        constraint.advance(encode(json.dumps({"x": value}, separators=(",", ":"))))
        assert constraint.is_over
    constraint = GRAMMARS.make(holding(values, "number"))
    wrong = encode('{"x":0.3}')
    assert constraint.check(wrong) < len(wrong)
