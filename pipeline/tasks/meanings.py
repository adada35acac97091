"""Meanings as vectors, of labels and fields and of the passages that are compared with them.

Tasks embed two kinds of text: what they look for (labels, fields) and what they look in (passages). A model whose file
has `cloister.prompt.query` or `cloister.prompt.document` was trained with a text before each text, and reads the first
as queries and the second as documents. One without reads all texts as they are.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.tasks.kinds import Embedder
from pipeline.text.chunk import windows
from pipeline.text.sentences import split_sentences


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


class Meanings:
    """Several things, each described by one or more texts, which are embedded once, as queries."""

    def __init__(self, things: Sequence[Sequence[str]], model: Embedder) -> None:
        self._model, model = model, queries(model)
        pieces = [[piece for text in texts for piece in _pieces(text, model)] for texts in things]
        self._vectors = model.embed([piece for thing in pieces for piece in thing])
        self._ends = list(accumulate(map(len, pieces), initial=0))

    @property
    def firsts(self) -> NDArray[np.float32]:
        """The vector of the first text of each thing, float32 [things, dim]."""
        return np.ascontiguousarray(self._vectors[self._ends[:-1]])

    def likenesses(self, vectors: NDArray[np.float32]) -> list[list[float]]:
        """Give for each thing how alike each vector, float32 [n, dim], is to the nearest of its texts."""
        rows = engine.similarity(vectors, self._vectors).tolist()
        return [[likeness(self._model, max(row[start:end])) for row in rows] for start, end in pairwise(self._ends)]


def called(name: str, description: str) -> str:
    """The text that stands for a name with its description."""
    words = name.replace("_", " ").replace("-", " ")
    return f"{words}: {description}" if description else words


def _pieces(text: str, model: Embedder) -> list[str]:
    """The text, in as many windows as the model needs; a text without words is a piece too."""
    spans = windows(text, split_sentences(text), model, model.context)
    return [text[span.start : span.end] for span in spans] or [text]
