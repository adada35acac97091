"""The contract of a task, on either kind of model.

On a model that embeds: which spans of a document to embed, and what their vectors answer. On one that writes: what to
ask it of a document, again and again, until its answers make one.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import engine
from pipeline.document import Evidence, Parsed, Span
from pipeline.errors import Failure

Ids = NDArray[np.int32]


class Embedder(Protocol):
    """What a task needs of a model; `engine.Model` is one."""

    @property
    def context(self) -> int:
        """Tokens of the longest text that `embed` takes, special tokens included."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 [n, dim], one unit vector a text."""


class Writer(Protocol):
    """What a task needs of a model that writes, with its weights or without; `engine.examine` gives one."""

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
        """EngineError for what no answer can be held to."""


@runtime_checkable
class Answerer(Writer, Protocol):
    """One with its weights; `engine.LanguageModel` is one."""

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


@dataclass(frozen=True)
class Window:
    """What a model that writes read of a document at once, and its tokens."""

    span: Span
    tokens: int


@dataclass(frozen=True)
class Answer:
    """One document's answer: `columns` are those that the task declares; `abstained` when it would not say.

    `windows`: in which a model that writes read the document. `failure`: what it has is no whole answer, and the row a
    failed one that keeps it."""

    columns: Mapping[str, Any]
    evidence: Sequence[Evidence] = ()
    abstained: bool = False
    reason: str | None = None
    windows: Sequence[Window] = ()
    failure: Failure | None = None


Dialogue = Generator[Sequence[engine.Request], Sequence[engine.Completion], Answer]
"""Gives requests, is sent their completions, in the same order, and so on until it has the answer; or raises
DocumentError."""


class Task(Protocol):
    """A task, made once a run from its settings and the model; it keeps nothing of the documents it saw."""

    def spans(self, document: Parsed) -> list[Span]:
        """The spans to embed; together they cover the whole text but for white space. Each fits the model."""

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        """The answer from one vector a span, float32 [len(spans), dim]."""


class WritingTask(Protocol):
    """A task on a model that writes, made once a run; it keeps nothing of the documents it saw."""

    def dialogue(self, document: Parsed) -> Dialogue:
        """What is asked about a document, and what is made of the answers."""


class TaskRefusedError(Exception):
    """The model cannot do the task: its instruction leaves no room for a document, or no answer can be as asked for."""


@dataclass(frozen=True)
class TaskType:
    """A member of the family: the class of its settings, its result columns, and what makes a task of the settings and
    a model that embeds (None: there is no such way) or one that writes (TaskRefusedError)."""

    settings: type
    columns: tuple[pa.Field, ...]
    embed: Callable[[Any, Embedder], Task] | None
    write: Callable[[Any, Writer, Writing], WritingTask]
