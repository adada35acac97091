"""The answer to a question: the best span of a text, from the outputs for its start and its end at each token."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.kernels.vectors import softmax

LONGEST = 30
"""Tokens of an answer, at most; what is usual for such models."""


@dataclass(frozen=True)
class Answer:
    """start and end in code points of the text. The scores are probabilities: `score` of the span, `no_answer` of what
    models that were trained on questions without an answer say then; others leave it near 0."""

    start: int
    end: int
    score: float
    no_answer: float

    @property
    def found(self) -> bool:
        """Whether the span is more likely than no answer."""
        return self.score > self.no_answer


def best_span(outputs: NDArray[np.float32], offsets: NDArray[np.int32], longest: int = LONGEST) -> Answer:
    """Finds the best span in outputs float32 [tokens, 2], start and end, with offsets int32 [tokens, 2] in the text, -1
    outside of it. The first token stands for no answer. Of equal spans it is the shortest, and of those the first; 0 to
    0 for a text without tokens."""
    inside = np.flatnonzero(offsets[:, 0] >= 0)
    some = np.concatenate([[0], inside])
    starts, ends = softmax(np.ascontiguousarray(outputs[some].T), 1.0)
    no_answer = float(starts[0] * ends[0])
    if not inside.size:
        return Answer(0, 0, 0.0, no_answer)
    first, last, best = 0, 0, np.float32(-1)
    for more in range(min(longest, inside.size)):
        products = starts[1 : starts.size - more] * ends[1 + more :]
        at = int(products.argmax())
        if products[at] > best:
            first, last, best = at, at + more, products[at]
    return Answer(int(offsets[inside[first], 0]), int(offsets[inside[last], 1]), float(best), no_answer)
