"""Meanings of labels and fields as vectors, with which passages are compared."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.tasks.base import Embedder
from pipeline.tasks.embedding.prompted import likeness, queries
from pipeline.text.chunk import windows
from pipeline.text.sentences import split_sentences


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
