"""The words of a text, each with how much it counts: IDF (Salton and Buckley 1988), of length 1.

How often a word stands in a text does not count: of 250 film reviews a label that made 2 more of 100 right.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache
from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

import engine

_WORD = re.compile(r"\w+")
_LEAST = 2  # texts in which a word stands that is known
_MOST = 50_000  # words, whatever is asked for
_DIGITS = Context(prec=17)


@dataclass(frozen=True)
class Vocabulary:
    """The words that a head knows, and the weight of each: float32 [words], 1 + ln((1 + n) / (1 + its texts))."""

    words: tuple[str, ...]
    weights: NDArray[np.float32]

    def bags(self, texts: Iterable[str]) -> "engine.Bags":
        """The words of each text that are known, however often they stand there: their weights, divided by the length
        of them all."""
        numbers = {word: number for number, word in enumerate(self.words)}
        starts, words, counts = [0], list[int](), list[float]()
        for text in texts:
            found = sorted(numbers[word] for word in set(_words(text)) if word in numbers)
            each = self.weights[found].tolist()
            length = sqrt(fsum(value * value for value in each)) or 1.0
            words += found
            counts += [value / length for value in each]
            starts.append(len(words))
        bags = np.array(starts, np.int64), np.array(words, np.int32), np.array(counts, np.float32)
        return engine.Bags(*bags, len(self.words))


def vocabulary_of(texts: Sequence[str], most: int = _MOST) -> Vocabulary:
    """The words that stand in at least two of the texts; where there are more than `most`, those of the most texts."""
    found = Counter(word for text in texts for word in set(_words(text)))
    often = sorted((-times, word) for word, times in found.items() if times >= _LEAST)[: min(most, _MOST)]
    words = sorted(word for _, word in often)
    weights = [1.0 + ln(Decimal(1 + len(texts)) / (1 + found[word])) for word in words]
    return Vocabulary(tuple(words), np.array(weights, np.float32))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@cache
def ln(number: int | Decimal) -> float:
    """The natural logarithm, rounded correctly: that of the C library has other last bits on other processors."""
    return float(_DIGITS.ln(Decimal(number)))
