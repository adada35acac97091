"""The kinds of model that tasks are done on, as far as tasks need them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

import engine

Ids = NDArray[np.int32]

EMBEDDING, TEXT = "embedding", "text"
SEQUENCE, TOKENS, SPAN = "sequence", "tokens", "span"
"""The kinds of model that tasks are done on, as `engine.head_of` tells them: one that embeds, one that writes; and with
a head of its own one that classifies texts, one that tags tokens, one that answers questions by a span of a text."""


class Embedder(Protocol):
    """A model that embeds, as far as tasks need it; `engine.Model` is one."""

    @property
    def context(self) -> int:
        """Tokens of the longest text that `embed` takes, special tokens included."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 [n, dim], one unit vector a text."""


class Headed(Protocol):
    """An encoder with a head of its own, as far as tasks need it; `engine.Model` is one. Which of the methods can be
    called is as `head` says."""

    @property
    def context(self) -> int:
        """Tokens of the longest text, or pair of texts, special tokens included."""

    @property
    def head(self) -> str:
        """SEQUENCE, TOKENS or SPAN."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the outputs."""

    def count_tokens(self, texts: Sequence[str | tuple[str, str]]) -> list[int]:
        """Tokens of each text, or pair of texts, special tokens included."""

    def logits(self, texts: Sequence[str | tuple[str, str]]) -> NDArray[np.float32]:
        """float32 [n, labels] of SEQUENCE: one row a text."""

    def scores(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """float32 [n, labels]: the scores from 0 to 1 that logits stand for."""

    def tag(self, texts: Sequence[str]) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """For each text int32 [tokens, 2], begin and end, and float32 [tokens, labels], probabilities: TOKENS."""

    def answer(self, question: str, texts: Sequence[str]) -> "list[engine.Answer]":
        """The best span of each text: SPAN."""


class Writer(Protocol):
    """A model that writes, with its weights or without, as far as tasks need it; `engine.examine` gives one."""

    @property
    def context(self) -> int:
        """Tokens of a prompt with its answer, at most."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""

    def prompt(self, messages: Sequence[Mapping[str, str]]) -> Ids:
        """A conversation as the model was trained to read it, up to where its answer begins."""

    @property
    def end_ids(self) -> tuple[int, ...]:
        """The tokens that end an answer."""

    def continuation(self, text: str) -> Ids:
        """A text as the beginning of an answer."""

    def check(self, constraint: engine.Choice | engine.Pattern | engine.Schema | engine.AnyObject) -> None:
        """Raise EngineError if no answer can be held to the constraint."""


@runtime_checkable
class Answerer(Writer, Protocol):
    """A model that writes, with its weights; `engine.LanguageModel` is one."""

    def generate(
        self, requests: Iterable[engine.Request], *, progress: Callable[[Any], None] | None = None
    ) -> Iterator[tuple[int, engine.Completion]]:
        """The number of a request and its answer, as they come to an end. `progress` is called after each step."""


@dataclass(frozen=True)
class Writing:
    """How a model that writes is used. `context`: tokens of a prompt with its answer, at most; `max_tokens`: of an
    answer. `kv`: how keys and values are kept, "float16" or "int8"; `cache_mib`: the memory for them, None: what the
    machine has to spare. It is not among what determines results."""

    context: int = 8192
    max_tokens: int = 1024
    kv: str = "float16"
    cache_mib: int | None = None
