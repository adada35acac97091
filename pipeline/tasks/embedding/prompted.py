"""A model that was trained with a text before each text: one before questions, another before documents.

Tasks embed two kinds of text: what they look for (labels, fields) and what they look in (passages). A model whose file
has `cloister.prompt.query` or `cloister.prompt.document` reads the first as queries and the second as documents. One
without reads all texts as they are.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.tasks.base import Embedder


class WithPrompts(Embedder, Protocol):
    """A model that embeds, and says what it was trained with; `engine.Model` is one."""

    @property
    def prompts(self) -> tuple[str, str]:
        """Before a query, before a document; empty for nothing."""

    @property
    def unrelated(self) -> float:
        """The cosine of two texts that have nothing to do with each other."""


class Prompted:
    """A model that reads each text behind the same words, which are counted as tokens of the text."""

    def __init__(self, model: Embedder, prompt: str, query: str, unrelated: float = 0.0) -> None:
        self._model, self._prompt, self._query, self.unrelated = model, prompt, query, unrelated

    @property
    def context(self) -> int:
        return self._model.context

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._model.count_tokens([self._prompt + text for text in texts])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._model.embed([self._prompt + text for text in texts])

    @property
    def queries(self) -> Embedder:
        """The model as it reads what is looked for."""
        return Prompted(self._model, self._query, self._query)


def reading_documents(model: WithPrompts) -> Embedder:
    """The model as it reads documents: itself, if it was trained without prompts."""
    query, document = model.prompts
    if not (query or document or model.unrelated):
        return model
    return Prompted(model, document, query, model.unrelated)


def queries(model: Embedder) -> Embedder:
    """The model as it reads what is looked for in the documents that `model` reads."""
    return model.queries if isinstance(model, Prompted) else model


def likeness(model: Embedder, cosine: float) -> float:
    """How alike two texts are by the cosine of their vectors: 1 for the same, about 0 for what has nothing in common,
    also on models whose vectors all point nearly the same way."""
    if not isinstance(model, Prompted) or not model.unrelated:
        return cosine
    return (cosine - model.unrelated) / (1 - model.unrelated)
