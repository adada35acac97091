"""The values in an answer in JSON, each with its place, and how sure the model was of it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, fsum
from typing import Any

import engine

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_WORD = re.compile(r"[^\s,\]}]+")
_BLANK = re.compile(r"\s*")


@dataclass(frozen=True)
class Leaf:
    """A value that holds no other, at a JSON pointer into the answer: text[start:end], with its quotation marks."""

    pointer: str
    value: str | int | float | bool | None
    start: int
    end: int


def leaves(text: str) -> Iterator[Leaf]:
    """Each text, number, true, false and null of valid JSON, in order; lists and objects without anything too, as None.

    What is not JSON: ValueError.
    """
    json.loads(text)
    yield from _leaves(text, _after(text, 0), "")[0]


def _leaves(text: str, at: int, pointer: str) -> tuple[list[Leaf], int]:
    """The leaves of the value at `at`, and where it ends."""
    if text[at] not in "{[":
        match = (_STRING if text[at] == '"' else _WORD).match(text, at)
        assert match is not None
        return [Leaf(pointer, json.loads(match[0]), *match.span())], match.end()
    found, begin, index, named = list[Leaf](), at, 0, text[at] == "{"
    at = _after(text, at + 1)
    while text[at] not in "}]":
        step: Any = index
        if named:
            key = _STRING.match(text, at)
            assert key is not None
            step, at = json.loads(key[0]), _after(text, _after(text, key.end()) + 1)
        inner, at = _leaves(text, at, f"{pointer}/{escaped(str(step))}")
        found += inner
        at, index = _after(text, at), index + 1
        if text[at] == ",":
            at = _after(text, at + 1)
    return found or [Leaf(pointer, None, begin, at + 1)], at + 1


def _after(text: str, at: int) -> int:
    """`at`, or behind the white space there."""
    match = _BLANK.match(text, at)
    assert match is not None
    return match.end()


def escaped(step: str) -> str:
    """A step of a JSON pointer (RFC 6901)."""
    return step.replace("~", "~0").replace("/", "~1")


def probability(completion: engine.Completion, start: int, end: int) -> float:
    """The probability that the model writes text[start:end] of its answer once it is there: a product over tokens."""
    return round(exp(fsum(_logprobs(completion, start, end))), 6)


def sureness(completion: engine.Completion, start: int, end: int) -> float:
    """The geometric mean of the probabilities of the tokens of text[start:end] that the model could choose: of a text
    in words of its own the product says little."""
    chosen = [value for value in _logprobs(completion, start, end) if value != 0]
    return round(exp(fsum(chosen) / len(chosen)), 6) if chosen else 1.0


def _logprobs(completion: engine.Completion, start: int, end: int) -> list[float]:
    """The log-probabilities of the tokens that overlap text[start:end]."""
    begins, ends = completion.offsets.T
    return [float(value) for value in completion.logprobs[(begins < end) & (ends > start)]]
