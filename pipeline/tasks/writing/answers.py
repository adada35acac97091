"""Requests for answers in JSON, and the answers as values: whole, or the document's failure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import engine
from pipeline.errors import DocumentError, Failure
from pipeline.tasks.base import Ids, Writer, Writing
from pipeline.tasks.writing.prompts import Message
from pipeline.tasks.writing.windows import answer_limit

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
