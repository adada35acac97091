"""The words of a text, each with how much it counts: TF-IDF (Salton and Buckley 1988), of length 1."""

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
_MOST = 50_000  # words; beyond, those of the fewest texts are left out
_DIGITS = Context(prec=17)


@dataclass(frozen=True)
class Vocabulary:
    """The words that a head knows, and the weight of each: float32 [words], 1 + ln((1 + n) / (1 + its texts))."""

    words: tuple[str, ...]
    weights: NDArray[np.float32]

    def bags(self, texts: Iterable[str]) -> engine.Bags:
        """The words of each text that are known: (1 + ln(how often)) * weight, divided by the length of them all."""
        numbers = {word: number for number, word in enumerate(self.words)}
        starts, words, counts = [0], list[int](), list[float]()
        for text in texts:
            found = sorted((numbers[word], times) for word, times in Counter(_words(text)).items() if word in numbers)
            each = [(1.0 + ln(times)) * float(self.weights[number]) for number, times in found]
            length = sqrt(fsum(value * value for value in each)) or 1.0
            words += [number for number, _ in found]
            counts += [value / length for value in each]
            starts.append(len(words))
        bags = np.array(starts, np.int64), np.array(words, np.int32), np.array(counts, np.float32)
        return engine.Bags(*bags, len(self.words))


def vocabulary_of(texts: Sequence[str]) -> Vocabulary:
    """The words that stand in at least two of the texts."""
    found = Counter(word for text in texts for word in set(_words(text)))
    often = sorted((-times, word) for word, times in found.items() if times >= _LEAST)[:_MOST]
    words = sorted(word for _, word in often)
    weights = [1.0 + ln(Decimal(1 + len(texts)) / (1 + found[word])) for word in words]
    return Vocabulary(tuple(words), np.array(weights, np.float32))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@cache
def ln(number: int | Decimal) -> float:
    """The natural logarithm, rounded correctly: that of the C library has other last bits on other processors."""
    return float(_DIGITS.ln(Decimal(number)))
