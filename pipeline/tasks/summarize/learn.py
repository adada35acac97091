"""Lessons in summaries: a CSV or JSONL file with `summary` and `text` or `document`.

It is learned which sentences a person would say in a summary, and how good those are that are chosen in documents that
were not seen.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks.examples import (
    Example,
    ExamplesRefusedError,
    Learned,
    Lesson,
    Mistake,
    Progress,
    Reads,
    check_file,
    of_file,
    refused,
    tokens_of,
    vectors_of,
)
from pipeline.tasks.features import Vectors, bags_of, middle
from pipeline.tasks.kinds import Embedder
from pipeline.tasks.passages import passages
from pipeline.tasks.summarize.answers import candidates
from pipeline.tasks.summarize.head import SentencesHead, seen, words_of
from pipeline.tasks.summarize.judge import rouge_l

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
class SummariesMeasured:
    """The mean ROUGE-L of one sentence of each example: that chosen by a head that had not seen it, the first, and the
    best one that there is. `sentences`: how many were learned from."""

    sentences: int
    rouge_l: float
    rouge_l_of_first: float
    rouge_l_of_best: float

    def told(self) -> Iterator[tuple[str, str]]:
        """The figures for a person."""
        yield "sentences", f"{self.sentences:,}"
        yield "ROUGE-L", f"{self.rouge_l:.3f} of one sentence, on examples that it had not seen"
        yield "", f"{self.rouge_l_of_first:.3f} of the first sentence, {self.rouge_l_of_best:.3f} of the best one"


def fit_sentences(taught: Sequence[Taught]) -> tuple[SentencesHead, SummariesMeasured]:
    """Learn from documents with their summaries, two at least."""
    learning = _Learning(taught)
    folds, chosen = min(FOLDS, len(taught)), list[float]()
    for fold in range(folds):
        head = learning.fit([number for number in range(len(taught)) if number % folds != fold])
        chosen += [learning.of_best(head, number) for number in range(len(taught)) if number % folds == fold]
    count, aims = sum(len(one.sentences) for one in taught), learning.aims
    first, best = fsum(float(its[0]) for its in aims), fsum(float(its.max()) for its in aims)
    measured = SummariesMeasured(count, *(total / len(taught) for total in (fsum(chosen), first, best)))
    return learning.fit(range(len(taught))), measured


class _Learning:
    """Documents with the ROUGE-L of their sentences."""

    def __init__(self, taught: Sequence[Taught]) -> None:
        self._taught = taught
        self.aims = [_aims(one) for one in taught]
        self._words = [list(words_of(one.document, one.sentences)) for one in taught]
        counts = Counter(word for its in self._words for word in {word for words in its for word in words})
        often = sorted((-count, word) for word, count in counts.items() if count >= LEAST)[:MOST_WORDS]
        self._known = {word: number for number, word in enumerate(sorted(word for _, word in often))}
        self._centre = middle([one.vectors for one in taught])
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
    summaries = [tokens_of(summary) for summary in taught.summaries]
    its = [tokens_of(taught.document.text[span.start : span.end]) for span in taught.sentences]
    return np.array([max(rouge_l(words, summary) for summary in summaries) for words in its])


def _apart(x: Vectors) -> Vectors:
    """The rows of a document [n, d] minus their mean."""
    total = np.zeros(x.shape[1])
    for row in x:
        total += row
    return (x - total / len(x)).astype(np.float32)


LEAST_DOCUMENTS: Final = 10  # documents of two sentences or more
_KEYS: Final = "summary, and text or document"


@dataclass(frozen=True, kw_only=True)
class SummaryLesson(Lesson[tuple[str, ...]]):
    """Documents with summaries that people wrote of them."""

    where: str

    @classmethod
    def of(cls, source: Path, reads: Reads) -> Self:
        """Read the examples of a file. ExamplesRefusedError; OSError."""
        given = read_summaries(source)
        read = reads(given, lambda summaries: f"the summary {summaries[0]!r:.80}")
        if len(read) < LEAST_DOCUMENTS:
            raise refused(str(source), f"{len(read)} different documents", f"{LEAST_DOCUMENTS} at least")
        return cls(read=read, given=len(given), where=str(source))

    def teaches(self) -> list[Any]:
        return [list(one.example.taught) for one in self.read]

    def learn(self, model: Embedder, progress: Progress) -> Learned:
        documents = [one.document for one in self.read]
        spans = [passages(document, model) for document in documents]
        vectors = vectors_of(documents, spans, model, progress)
        taught = list[Taught]()
        for one, its, rows in zip(self.read, spans, vectors, strict=True):
            offered = candidates(one.document.text, its)
            if len(offered) > 1:
                sentences: list[Span] = [candidate.span for candidate in offered]
                of = rows[[candidate.vector for candidate in offered]]
                taught.append(Taught(one.document, sentences, of, one.example.taught))
        if len(taught) < LEAST_DOCUMENTS:
            found = f"{len(taught)} documents of two sentences or more"
            raise refused(
                self.where, found, f"{LEAST_DOCUMENTS} at least", "a summary of one sentence is that sentence"
            )
        head, measured = fit_sentences(taught)
        if not measured.rouge_l_of_best:
            raise refused(self.where, "summaries that share no word with their documents", "summaries of the documents")
        return Learned(head.to_file(), measured)


def read_summaries(source: Path) -> list[Example[tuple[str, ...]]]:
    """The examples of a file, in its order, each with one summary or more. ExamplesRefusedError; OSError."""
    check_file(source, _KEYS)
    mistakes, found = list[Mistake](), list[Example[tuple[str, ...]]]()
    for line in of_file(source, ["summary"], _KEYS, mistakes):
        said = line.values.get("summary")
        each: list[Any] = said if isinstance(said, list) else [said]
        if each and all(isinstance(one, str) and one.strip() for one in each):
            found.append(Example(line.place, tuple(each), line.text, line.path))
        else:
            mistakes.append(Mistake(line.place, f"the summary {said!r:.80}", "a text, or a list of texts (JSONL)"))
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return found
