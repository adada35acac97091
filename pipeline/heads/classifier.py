"""A learned classifier: which label a document has, with the probability of each.

It looks at a document in one or two ways: at the mean of the vectors of its passages, and, where that was found to
help, at its words. Logits are divided by a temperature (Guo et al. 2017), so that the probabilities are as often right
as they say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.heads.file import HeadFile
from pipeline.heads.words import Vocabulary

Vectors = NDArray[np.float32]
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


def mean(vectors: Vectors) -> Vectors:
    """float32 [d]: the mean of a document's vectors, float32 [n, d] with n at least 1, summed in order."""
    total = np.zeros(vectors.shape[1])
    for vector in vectors:
        total += vector
    return (total / len(vectors)).astype(np.float32)


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

    def to_file(self, facts: dict[str, Any]) -> HeadFile:
        """The file of this head, with further facts of it."""
        vocabulary = self.view.vocabulary
        own = {
            "kind": "classify", "labels": list(self.labels), "scale": self.view.scale, "temperature": self.temperature,
            "words": list(vocabulary.words) if vocabulary else None, "words_count": ONCE,
        }  # fmt: skip
        arrays = {"centre": self.view.centre, "weights": self.logistic.weights, "bias": self.logistic.bias}
        if vocabulary:
            arrays |= {"word_weights": vocabulary.weights, "words": self.logistic.words}
        return HeadFile({**facts, **own}, arrays)

    @classmethod
    def from_file(cls, head: HeadFile) -> Self:
        """The inverse of `to_file`. ValueError, KeyError and TypeError for a file whose parts do not go together."""
        facts, arrays = head.facts, head.arrays
        if facts["kind"] != "classify":
            raise ValueError(f"it is a head for the task {facts['kind']!r}")
        labels, words = tuple(map(str, facts["labels"])), facts["words"]
        if words is not None and facts.get("words_count") != ONCE:
            raise ValueError("it was learned by a version that counted words otherwise")
        (d,), known = arrays["centre"].shape, len(words or ())
        shapes = {"weights": (d, len(labels)), "bias": (len(labels),)}
        shapes |= {"word_weights": (known,), "words": (known, len(labels))} if words is not None else {}
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                raise ValueError(f"the array {name} has the shape {arrays[name].shape}, expected {shape}")
        if not facts["temperature"] > 0:
            raise ValueError(f"the temperature is {facts['temperature']}")
        vocabulary = Vocabulary(tuple(words), arrays["word_weights"]) if words is not None else None
        of_words = arrays["words"] if words is not None else np.zeros((0, len(labels)), np.float32)
        logistic = engine.Logistic(arrays["weights"], of_words, arrays["bias"])
        return cls(labels, View(arrays["centre"], facts["scale"], vocabulary), logistic, facts["temperature"])
