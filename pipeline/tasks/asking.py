"""Requests to a model that writes, and its answers: in JSON, as values with their places and probabilities."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum
from typing import Any, Final

import engine
from pipeline.document import Evidence, Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.tasks.base import Window
from pipeline.tasks.kinds import Ids, Writer, Writing
from pipeline.tasks.passages import answer_limit
from pipeline.tasks.prompts import Message

_SHOWN: Final = 500  # characters of an answer that is not whole


@dataclass(frozen=True)
class Asker:
    """Makes requests of conversations with one model."""

    model: Writer
    writing: Writing

    def of_schema(
        self, messages: Sequence[Message], schema: Mapping[str, Any], quotes: Mapping[str, str] | None = None,
        values: Mapping[str, Sequence[str | int | float]] | None = None, *, repeats: int = 0,
    ) -> engine.Request:  # fmt: skip
        """Ask for JSON of this schema. `quotes`: JSON pointers into it, to texts of which the strings there are
        passages; `values`: to what may stand there; `repeats`: as in `engine.Request`."""
        constraint, limit = engine.Schema(schema, quotes or {}, values or {}), answer_limit(self.model, self.writing)
        return engine.Request(self.model.prompt(messages), limit, constraint, repeats=repeats)

    def of_pattern(self, messages: Sequence[Message], pattern: str, *, repeats: int) -> engine.Request:
        """Ask for a text that a regular expression matches."""
        limit = answer_limit(self.model, self.writing)
        return engine.Request(self.model.prompt(messages), limit, engine.Pattern(pattern), repeats=repeats)

    def of_choices(self, messages: Sequence[Message], ids: Sequence[Ids]) -> engine.Request:
        """Ask for the probabilities with which an answer begins with each of these."""
        return engine.Request(self.model.prompt(messages), 0, choices=tuple(ids))


def parsed(completion: engine.Completion) -> Any:
    """The answer in JSON. DocumentError where it is not whole."""
    check(completion)
    return json.loads(completion.text)


def check(completion: engine.Completion) -> None:
    """DocumentError if the model could not begin or did not end its answer."""
    if completion.finish == "repeated":
        raise DocumentError(Failure.UNANSWERED, f"{told_repeated(completion)}{_shown(completion.text)}")
    if completion.finish == "failed":
        raise DocumentError(Failure.UNANSWERED, f"{completion.reason}{_shown(completion.text)}")
    if completion.finish == "length":
        tokens = completion.ids.size
        raise DocumentError(
            Failure.UNANSWERED, f"the answer was not over after {tokens} tokens{_shown(completion.text)}"
        )


def told_repeated(completion: engine.Completion) -> str:
    """Why an answer was given up."""
    return f"the model said the same again and again, and was stopped after {completion.ids.size} tokens"


def whole(text: str, longest: int) -> str:
    """The text, unless it came to the greatest length that was allowed, where the rule ended it and not the model."""
    if len(text) >= longest:
        raise DocumentError(
            Failure.UNANSWERED, f"a text of the answer was not over after {longest} characters{_shown(text)}"
        )
    return text


def _shown(text: str) -> str:
    """The beginning of what was written; nothing of what is not."""
    if not text:
        return ""
    return f": {text!r}" if len(text) <= _SHOWN else f": {text[:_SHOWN]!r} and {len(text) - _SHOWN:,} characters more"


def place(document: Parsed, window: Window, quote: str) -> Evidence | None:
    """The first place of a quote in the window of the document that the model read; None for a quote of nothing."""
    if not quote.strip():
        return None
    start, end = engine.locate(document.text[window.span.start : window.span.end], quote)
    return document.evidence(window.span.start + start, window.span.start + end)


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
    begins, ends = completion.offsets.T
    return [float(value) for value in completion.logprobs[(begins < end) & (ends > start)]]
