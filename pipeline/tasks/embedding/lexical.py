"""How many of the words that describe a field stand in each passage: BM25 without logarithms.

Robertson and Zaragoza 2009, with the share of passages that lack a word in place of its inverse document frequency, so
that the sum is the same on every machine; divided by what a passage with every word again and again would get, so that
it is from 0 to 1. A word is its first five letters, without an s at its end: renew, renewed
and renewals are one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from pipeline.tasks.embedding.labels import LITTLE_WORDS
from pipeline.tasks.embedding.layout import words

K1: Final = 1.2  # how soon a word that comes again counts no more
B: Final = 0.75  # how much longer passages need more words
STEM: Final = 5


class Lexical:
    """The words of a document's passages."""

    def __init__(self, passages: Iterable[str]) -> None:
        self._counts = [Counter(_stems(words(passage))) for passage in passages]
        self._lengths = [counts.total() for counts in self._counts]
        self._mean = sum(self._lengths) / max(1, len(self._lengths)) or 1.0
        self._with = Counter(stem for counts in self._counts for stem in counts)

    def likenesses(self, description: str) -> list[float]:
        """The likeness of each passage to the words of a description, from 0 to 1."""
        asked = list(dict.fromkeys(_stems(word for word in words(description) if word not in LITTLE_WORDS)))
        weights = [1.0 - self._with[stem] / max(1, len(self._counts)) for stem in asked]
        whole = (K1 + 1.0) * _summed(weights)
        if not whole:
            return [0.0] * len(self._counts)
        return [
            _summed([weight * self._told(index, stem) for stem, weight in zip(asked, weights, strict=True)]) / whole
            for index in range(len(self._counts))
        ]

    def _told(self, index: int, stem: str) -> float:
        """How much a passage says by a word, up to K1 + 1."""
        count = self._counts[index][stem]
        return count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * self._lengths[index] / self._mean)) if count else 0.0


def _stems(found: Iterable[str]) -> list[str]:
    return [word.removesuffix("s")[:STEM] for word in found]


def _summed(values: Sequence[float]) -> float:
    """The sum from the first to the last: `sum` rounds differently since Python 3.12."""
    total = 0.0
    for value in values:
        total += value
    return total
