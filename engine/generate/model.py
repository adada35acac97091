"""A loaded decoder: prompts in, answers out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from engine.generate.batch import Batch, Progress
from engine.generate.constraint.spec import Makes, Spec
from engine.generate.request import Completion, Counters, Forward, Ids, Request
from engine.generate.scheduler import Limits

Messages = Sequence[Mapping[str, str]]


class Words(Protocol):
    """The protocol of a tokenizer as a language model uses it."""

    @property
    def prompt_sha256(self) -> str: ...
    @property
    def token_bytes(self) -> Sequence[bytes]: ...
    @property
    def end_ids(self) -> Iterable[int]: ...
    def count(self, text: str) -> int: ...
    def encode_within(self, text: str) -> list[int]: ...


class Wording:
    """The part of a language model that needs no weights: token counts, prompts, constraints."""

    def __init__(self, words: Words, chat: Callable[[Messages], Ids], makes: Makes, context: int) -> None:
        """chat: the ids of messages; makes: constraints; context: tokens of a prompt and its answer, at most."""
        self._words, self._chat, self._makes, self._context = words, chat, makes, context

    @property
    def context(self) -> int:
        """Tokens of a prompt and its answer, at most."""
        return self._context

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text by itself."""
        return [self._words.count(text) for text in texts]

    def prompt(self, messages: Messages) -> Ids:
        """int32 [n]: the ids of messages, each with `role` and `content`, in the model's chat template. What is in a
        content never becomes a control token. Raises EngineError if the template refuses."""
        return self._chat(messages)

    @property
    def end_ids(self) -> tuple[int, ...]:
        """The tokens that end an answer."""
        return tuple(self._words.end_ids)

    def continuation(self, text: str) -> Ids:
        """int32 [n]: the ids of a text as the beginning of an answer, for `Request.choices`."""
        return np.array(self._words.encode_within(text), np.int32)

    def check(self, constraint: Spec) -> None:
        """Raise EngineError for a constraint that `generate` would not take."""
        self._makes.make(constraint)


class LanguageModel(Wording):
    """A decoder and its tokenizer. One `generate` at a time."""

    def __init__(
        self, decoder: Forward, words: Words, *, sha256: str, facts: Mapping[str, str | int],
        chat: Callable[[Messages], Ids], makes: Makes, cache_mib: float | None = None,
        kv: str = "float16", limits: Limits | None = None,
    ) -> None:  # fmt: skip
        """cache_mib: memory for keys and values, and kv what they are kept as; limits: what a step holds; the others as
        of `Wording`. Raises EngineError if the memory holds nothing."""
        super().__init__(words, chat, makes, decoder.shape.context)
        self._sha256, self._facts = sha256, dict(facts)
        self._batch = Batch(
            decoder, words.token_bytes, words.end_ids, makes, limits=limits or Limits(), kind=kv, mib=cache_mib
        )

    @property
    def room(self) -> int:
        """Tokens of a prompt and its answer for which there is memory, at most; never more than are useful."""
        return self._batch.room

    @property
    def sha256(self) -> str:
        """The sha256 of the model file's bytes, in hexadecimal."""
        return self._sha256

    @property
    def tokenizer_sha256(self) -> str:
        """The sha256 of everything in the file that determines token ids, in hexadecimal."""
        return self._words.prompt_sha256

    @property
    def facts(self) -> dict[str, str | int]:
        """The facts about the engine that go into the audit log, as in `engine.Model.facts`."""
        return dict(self._facts)

    @property
    def counters(self) -> Counters:
        """A copy of the counters since the model was loaded."""
        return replace(self._batch.counters)

    def generate(
        self, requests: Iterable[Request], *, progress: Progress | None = None
    ) -> Iterator[tuple[int, Completion]]:
        """The completion of each request with its number, in the order in which they are done. `progress` gets the
        counters after each step. Whoever stops iterating stops the work; requests that were not yielded are lost.

        A request that does not fit, or that fails on its way, is a completion with the finish `failed`.
        """
        return self._batch.run(requests, progress or (lambda counters: None))
