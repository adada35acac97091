"""Heads of labels: a classifier of a document's vectors and words, and a prior for a model that writes.

A classifier looks at the mean of the vectors of a document's passages, and, where that was found to help, at its words,
by IDF (Salton and Buckley 1988): how often a word stands in a text does not count, of 250 film reviews a label that
made 2 more of 100 right. A language model prefers some names to others before it reads anything. Batch calibration
(Zhou et al. 2024) divides the probability of each label by its mean over a batch of documents; here over documents that
were learned from, so that no row depends on what else comes in a night. Logits are divided by a temperature (Guo et al.
2017), so that the probabilities are as often right as they say.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import fsum, sqrt
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.heads import HeadFile
from pipeline.tasks.features import Vectors, check_kind, check_shapes, ln

KIND: Final = "classify"
PRIOR: Final = "prior"
_WORD = re.compile(r"\w+")
_LEAST = 2  # texts in which a word stands that is known
_MOST = 50_000  # words, whatever is asked for


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


ONCE = "once"
"""How often a word counts that stands in a text several times; heads of before count otherwise."""


@dataclass(frozen=True)
class View:
    """The features of a document: the mean of its vectors minus `centre`, times `scale`, and the words it knows."""

    centre: Vectors
    scale: float
    vocabulary: Vocabulary | None

    def vectors(self, means: Vectors) -> Vectors:
        """float32 [n, d] of the means of documents, float32 [n, d]."""
        return (means - self.centre) * np.float32(self.scale)

    def words(self, texts: Sequence[str]) -> "engine.Bags | None":
        """The words of documents; None where they are not looked at."""
        return self.vocabulary.bags(texts) if self.vocabulary else None


@dataclass(frozen=True)
class Classifier:
    """A learned classifier with the labels that it knows, in the order of its columns."""

    labels: tuple[str, ...]
    view: View
    logistic: "engine.Logistic"
    temperature: float

    def probabilities(self, means: Vectors, texts: Sequence[str]) -> Vectors:
        """float32 [n, labels] of the means [n, d] of documents and their texts; each document by itself."""
        logits = self.logistic.logits(self.view.vectors(means), self.view.words(texts))
        return engine.softmax(logits, 1.0 / self.temperature)

    def to_file(self) -> HeadFile:
        """The file of this head."""
        vocabulary = self.view.vocabulary
        own = {
            "kind": KIND, "labels": list(self.labels), "scale": self.view.scale, "temperature": self.temperature,
            "words": list(vocabulary.words) if vocabulary else None, "words_count": ONCE,
        }  # fmt: skip
        arrays = {"centre": self.view.centre, "weights": self.logistic.weights, "bias": self.logistic.bias}
        if vocabulary:
            arrays |= {"word_weights": vocabulary.weights, "words": self.logistic.words}
        return HeadFile(own, arrays)

    @classmethod
    def from_file(cls, head: HeadFile) -> Self:
        """The inverse of `to_file`. ValueError, KeyError and TypeError for a file whose parts do not go together."""
        facts, arrays = head.facts, head.arrays
        check_kind(head, KIND)
        labels, words = tuple(map(str, facts["labels"])), facts["words"]
        if words is not None and facts.get("words_count") != ONCE:
            raise ValueError("it was learned by a version that counted words otherwise")
        (d,), known = arrays["centre"].shape, len(words or ())
        shapes = {"weights": (d, len(labels)), "bias": (len(labels),)}
        shapes |= {"word_weights": (known,), "words": (known, len(labels))} if words is not None else {}
        check_shapes(head, shapes)
        if not facts["temperature"] > 0:
            raise ValueError(f"the temperature is {facts['temperature']}")
        vocabulary = Vocabulary(tuple(words), arrays["word_weights"]) if words is not None else None
        of_words = arrays["words"] if words is not None else np.zeros((0, len(labels)), np.float32)
        logistic = engine.Logistic(arrays["weights"], of_words, arrays["bias"])
        return cls(labels, View(arrays["centre"], facts["scale"], vocabulary), logistic, facts["temperature"])


LEAST: Final = 1e-9
"""The least share of a label that is told apart from none."""


@dataclass(frozen=True)
class Prior:
    """The labels that a model was asked for, and the mean share that it gave to each, float32 [labels], of sum 1."""

    labels: tuple[str, ...]
    shares: Vectors
    temperature: float = 1.0

    def logits(self, shares: Sequence[float]) -> list[float]:
        """The logits of a document's labels and of "none of them", the last, from the shares that the model gave to
        each. A share that is as the label's mean is one label's part of the whole; that of no label stays as it is."""
        size = len(self.labels)
        weighed = [share / max(size * usual, LEAST) for share, usual in zip(shares, self.shares.tolist(), strict=False)]
        return [ln(max(weight, LEAST)) for weight in [*weighed, *shares[size:]]]

    def scores(self, shares: Sequence[float]) -> list[float]:
        """The probabilities of the labels, and of none of them."""
        row = np.array([self.logits(shares)], np.float32)
        return [float(score) for score in engine.softmax(row, 1.0 / self.temperature)[0]]

    def to_file(self) -> HeadFile:
        """The file of this head."""
        own = {"kind": PRIOR, "labels": list(self.labels), "temperature": self.temperature}
        return HeadFile(own, {"shares": self.shares})

    @classmethod
    def from_file(cls, head: HeadFile) -> Self:
        """The inverse of `to_file`. ValueError, KeyError and TypeError for a file whose parts do not go together."""
        facts, shares = head.facts, head.arrays["shares"]
        check_kind(head, PRIOR)
        labels = tuple(map(str, facts["labels"]))
        if shares.shape != (len(labels),) or not (shares >= 0).all():
            raise ValueError(f"the array shares has the shape {shares.shape}, expected {(len(labels),)}, none below 0")
        if not facts["temperature"] > 0:
            raise ValueError(f"the temperature is {facts['temperature']}")
        return cls(labels, shares, facts["temperature"])
