"""Any JSON object: compact and bounded, whoever chooses the tokens."""

import json

import numpy as np
import pytest

from engine.generate.constraint.grammar import Grammars
from engine.generate.constraint.spec import AnyObject
from tests.engine.generate.constraint.choosing import Chooser, written
from tests.engine.generate.constraint.vocabulary import END_IDS, TOKENS, encode, text_of

GRAMMARS = Grammars(TOKENS, END_IDS, encode)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("{}", 2),
        ('{"a":-1.5,"b":{"c":[true,null,[],{}]},"d":"x \\n \u00e9"}', None),
        ('{ "a":1}', 1),
        ('{"a": 1}', 5),
        ("[1]", 0),
        ('{"a":01}', 6),
        ('{"a":1e5}', 6),
        ('{"a":' + "9" * 16, 20),
        ('{"a":' + "[" * 9, 12),
        ('{"' + "k" * 201, 202),
        ('{"a":"\x00', 6),
        ('{"a":"\\u0041', 7),
    ],
)
def test_any_object_is_compact_and_bounded(text: str, count: int | None) -> None:
    """Bytes alone are tokens, so that each place of a text is tried."""
    constraint = Grammars([*(bytes([i]) for i in range(256)), b""], [256]).make(AnyObject())
    ids = list(text.encode())
    assert constraint.check(ids) == (len(ids) if count is None else count)
    if count in (None, len(ids)):
        constraint.advance(ids)
        assert constraint.is_over
        assert isinstance(json.loads(text), dict)


def test_any_object_ends_whoever_chooses() -> None:
    """The first allowed token, the last one, or one by chance: what ends is an object."""
    chance = np.random.default_rng(7)
    choosers: list[Chooser] = [lambda ids: int(ids[0]), lambda ids: int(ids[-1]), lambda ids: int(chance.choice(ids))]
    for choose in choosers:
        ids, end = written(GRAMMARS.make(AnyObject()), choose, 400)
        if end == "stop":
            assert isinstance(json.loads(text_of(ids)), dict)
