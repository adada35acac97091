"""A learned head of summaries: how much a sentence is expected to share with the summary that a person would write.

A sentence is judged by its vector, its likeness to all sentences and to the first, its place, its length and its words:
a ridge regression of the ROUGE-L of sentences of examples.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.heads import HeadFile
from pipeline.tasks.features import Vectors, bags_of, check_kind, check_shapes, mean, size
from pipeline.tasks.meanings import reading_documents
from pipeline.tasks.passages import passages

KIND: Final = "summarize"
LIKENESSES: Final = 2
_OWN: Final = 60  # words of a sentence that are looked at
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class SentencesHead:
    """Weights of the vectors and likenesses of sentences, float32 [d + 2, 1], of words [words, 1], by which a sentence
    is better or worse than the others of its document; the bias is the mean of all."""

    centre: Vectors
    scale: float
    words: tuple[str, ...]
    ridge: "engine.Logistic"

    def scores(self, document: Parsed, spans: Sequence[Span], vectors: Vectors) -> list[float]:
        """The ROUGE-L F1, 0 to 1, that each sentence of a document is expected to have; `vectors`: float32 [n, d]."""
        numbers = {word: number for number, word in enumerate(self.words)}
        bags = bags_of(words_of(document, spans), numbers)
        found = self.ridge.logits(seen(vectors, self.centre, self.scale), bags)[:, 0].tolist()
        usual = float(self.ridge.bias[0]) - fsum(found) / max(1, len(found))
        return [round(max(0.0, min(1.0, score + usual)), 6) for score in found]

    def to_file(self) -> HeadFile:
        """The file of this head."""
        own: dict[str, Any] = {"kind": KIND, "scale": self.scale, "words": list(self.words)}
        arrays: dict[str, NDArray[Any]] = {
            "centre": self.centre, "weights": self.ridge.weights, "word_weights": self.ridge.words,
            "bias": self.ridge.bias,
        }  # fmt: skip
        return HeadFile(own, arrays)

    @classmethod
    def from_file(cls, head: HeadFile) -> Self:
        """The inverse of `to_file`. ValueError, KeyError and TypeError for a file whose parts do not go together."""
        facts, arrays = head.facts, head.arrays
        check_kind(head, KIND)
        (d,), words = arrays["centre"].shape, tuple(map(str, facts["words"]))
        shapes = {"weights": (d + LIKENESSES, 1), "word_weights": (len(words), 1), "bias": (1,)}
        check_shapes(head, shapes)
        ridge = engine.Logistic(arrays["weights"], arrays["word_weights"], arrays["bias"])
        return cls(arrays["centre"], float(facts["scale"]), words, ridge)


def seen(vectors: Vectors, centre: Vectors, scale: float) -> Vectors:
    """float32 [n, d + 2] of the sentences of a document: their vectors minus `centre`, times `scale`, and the cosines
    to their mean and to the first of them."""
    middle = mean(vectors)[np.newaxis]
    length = sqrt(engine.similarity(middle, middle).item()) or 1.0
    central = engine.similarity(vectors, middle) / np.float32(length)
    first = engine.similarity(vectors, vectors[:1])
    return np.concatenate([(vectors - centre) * np.float32(scale), central, first], axis=1)


def words_of(document: Parsed, spans: Sequence[Span]) -> Iterator[list[str]]:
    """For each sentence the words that can be learned, each with what it says before a colon."""
    for index, span in enumerate(spans):
        verbatim = document.text[span.start : span.end]
        its = [word.lower() for word in _WORD.findall(verbatim)]
        yield [
            f"place:{size(index)}",
            f"from end:{size(len(spans) - 1 - index)}",
            f"part:{10 * index // len(spans)}",
            f"of:{size(len(spans))}",
            f"long:{size(len(its))}",
            *(f"begins:{' '.join(its[:count])}" for count in (1, 2)),
            *(f"figures:{bool(any(map(str.isdigit, verbatim)))}",),
            *(f"in:{word}" for word in its[:_OWN]),
        ]


def scores_of(head: SentencesHead, model: "engine.Model", texts: Sequence[str]) -> Iterator[Vectors]:
    """The scores of the sentences of texts that are documents of their own."""
    reader = reading_documents(model)
    for document in (Parsed(text, "text/plain", "golden") for text in texts):
        spans = passages(document, reader)
        vectors = reader.embed([document.text[span.start : span.end] for span in spans])
        yield np.array(head.scores(document, spans, vectors), np.float32)
