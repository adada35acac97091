"""What stands where in an answer in JSON."""

import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import engine
from pipeline.tasks.asking import leaves, probability, sureness

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def at(value: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def count(value: Any) -> int:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return sum(map(count, inner)) or 1


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_every_leaf_of_any_json(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    found = list(leaves(text))
    assert len(found) == count(value)
    for leaf in found:
        there = at(value, leaf.pointer)
        assert json.loads(text[leaf.start : leaf.end]) == there
        assert leaf.value == (there if not isinstance(there, list | dict) else None)


def test_the_probability_of_a_part_is_that_of_the_tokens_in_it() -> None:
    text, ends = "abcdef", np.array([[0, 2], [2, 3], [3, 5], [5, 6]], np.int32)
    logprobs = np.log(np.array([0.5, 0.25, 1.0, 0.125], np.float32))
    made = engine.Completion(
        np.arange(4, dtype=np.int32), text, logprobs, ends, "stopped", "", np.zeros(0, np.float32), 1, 0
    )
    assert probability(made, 1, 3) == 0.125
    assert probability(made, 3, 5) == 1.0
    assert sureness(made, 0, 6) == round((0.5 * 0.25 * 0.125) ** (1 / 3), 6)
    assert sureness(made, 3, 5) == 1.0
