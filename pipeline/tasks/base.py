"""The contract of a task: which spans of a document to embed, and what their vectors answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.document import Evidence, Parsed, Span


class Embedder(Protocol):
    """What a task needs of a model; `engine.Model` is one."""

    @property
    def context(self) -> int:
        """Tokens of the longest text that `embed` takes, special tokens included."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 [n, dim], one unit vector a text."""


@dataclass(frozen=True)
class Answer:
    """One document's answer: `columns` are those that the task declares; `abstained` when it would not say."""

    columns: Mapping[str, Any]
    evidence: Sequence[Evidence] = ()
    abstained: bool = False
    reason: str | None = None


class Task(Protocol):
    """A task, made once a run from its settings and the model; it keeps nothing of the documents it saw."""

    def spans(self, document: Parsed) -> list[Span]:
        """The spans to embed; together they cover the whole text but for white space. Each fits the model."""

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        """The answer from one vector a span, float32 [len(spans), dim]."""


@dataclass(frozen=True)
class TaskType:
    """A member of the family: the class of its settings, what makes a task of them and a model, its result columns."""

    settings: type
    make: Callable[[Any, Embedder], Task]
    columns: tuple[pa.Field, ...]
