"""Learn which sentences a person would say in a summary, and how good those are that are chosen in documents that were
not seen."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.heads.fields import bags_of
from pipeline.heads.sentences import SentencesHead, Vectors, seen, words_of
from pipeline.learn.agreement import rouge_l
from pipeline.learn.agreement import words_of as tokens

FOLDS: Final = 5
PENALTY: Final = 30.0
LEAST: Final = 5  # documents in which a word stands that is known
MOST_WORDS: Final = 600
WORD: Final = 0.5  # how much a word counts beside a vector of length 1


@dataclass(frozen=True)
class Taught:
    """A document with its sentences, their vectors float32 [n, d], and the summaries that people wrote of it."""

    document: Parsed
    sentences: Sequence[Span]
    vectors: Vectors
    summaries: Sequence[str]


@dataclass(frozen=True)
class Learned:
    """A head, and the mean ROUGE-L of one sentence of each document: that chosen by a head that had not seen the
    document, the first one, and the best one that there is."""

    head: SentencesHead
    chosen: float
    first: float
    best: float


def learn(taught: Sequence[Taught], told: Callable[[int, int], None] = lambda done, total: None) -> Learned:
    """Learn from documents with their summaries, two at least."""
    learning = _Learning(taught)
    folds, chosen = min(FOLDS, len(taught)), list[float]()
    for fold in range(folds):
        told(fold, folds)
        head = learning.fit([number for number in range(len(taught)) if number % folds != fold])
        chosen += [learning.of_best(head, number) for number in range(len(taught)) if number % folds == fold]
    aims = learning.aims
    return Learned(
        learning.fit(range(len(taught))),
        fsum(chosen) / len(taught),
        fsum(float(its[0]) for its in aims) / len(taught),
        fsum(float(its.max()) for its in aims) / len(taught),
    )


class _Learning:
    """Documents with the ROUGE-L of their sentences."""

    def __init__(self, taught: Sequence[Taught]) -> None:
        self._taught = taught
        self.aims = [_aims(one) for one in taught]
        self._words = [list(words_of(one.document, one.sentences)) for one in taught]
        counts = Counter(word for its in self._words for word in {word for words in its for word in words})
        often = sorted((-count, word) for word, count in counts.items() if count >= LEAST)[:MOST_WORDS]
        self._known = {word: number for number, word in enumerate(sorted(word for _, word in often))}
        self._centre = _centre([one.vectors for one in taught])
        self._seen = [seen(one.vectors, self._centre, 1.0) for one in taught]

    def fit(self, numbers: Sequence[int]) -> SentencesHead:
        """Learn from some documents."""
        x = [_apart(np.hstack([self._seen[number], self._bag(number)])) for number in numbers]
        aims = [self.aims[number] for number in numbers]
        mean = fsum(value for its in aims for value in its.tolist()) / sum(map(len, aims))
        apart = np.concatenate([its - fsum(its.tolist()) / len(its) for its in aims])
        weights, _ = engine.fit_ridge(np.concatenate(x), apart, PENALTY)
        dense = self._seen[0].shape[1]
        found = weights.astype(np.float32)[:, np.newaxis]
        ridge = engine.Logistic(found[:dense], found[dense:] * np.float32(WORD), np.array([mean], np.float32))
        return SentencesHead(self._centre, 1.0, tuple(self._known), ridge)

    def of_best(self, head: SentencesHead, number: int) -> float:
        """The ROUGE-L of the sentence that a head chooses."""
        taught = self._taught[number]
        scores = head.scores(taught.document, taught.sentences, taught.vectors)
        return float(self.aims[number][max(range(len(scores)), key=lambda index: (scores[index], -index))])

    def _bag(self, number: int) -> Vectors:
        """float32 [sentences, words]: WORD where a word stands by a sentence."""
        bags = bags_of(self._words[number], self._known)
        out = np.zeros((len(bags.starts) - 1, len(self._known)), np.float32)
        for row in range(len(out)):
            out[row, bags.words[bags.starts[row] : bags.starts[row + 1]]] = WORD
        return out


def _aims(taught: Taught) -> NDArray[np.float64]:
    """float64 [sentences]: the best ROUGE-L of each sentence with one of the summaries."""
    summaries = [tokens(summary) for summary in taught.summaries]
    its = [tokens(taught.document.text[span.start : span.end]) for span in taught.sentences]
    return np.array([max(rouge_l(words, summary) for summary in summaries) for words in its])


def _apart(x: Vectors) -> Vectors:
    """The rows of a document [n, d] minus their mean."""
    total = np.zeros(x.shape[1])
    for row in x:
        total += row
    return (x - total / len(x)).astype(np.float32)


def _centre(vectors: Sequence[Vectors]) -> Vectors:
    total, count = np.zeros(vectors[0].shape[1]), 0
    for its in vectors:
        for row in its:
            total += row
        count += len(its)
    return (total / max(1, count)).astype(np.float32)
