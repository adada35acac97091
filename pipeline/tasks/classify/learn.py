"""Lessons in labels: for a model that embeds, and for one that writes.

Examples are a folder for each label, or a CSV or JSONL file with `label` and `text` or `document`. On a model that
writes it is learned how readily it answers each label, and how often its answer is right: documents without one, in no
folder of a label or on a line with an empty `label`, say how readily the model answers too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from math import floor, fsum
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

import engine
from pipeline.document import Parsed
from pipeline.errors import DocumentError
from pipeline.heads import HeadFile
from pipeline.tasks.classify import fit
from pipeline.tasks.classify.answers import Label, Options, mean_shares
from pipeline.tasks.classify.fit import FOLDS, folds_of, temperature_of
from pipeline.tasks.classify.head import Prior
from pipeline.tasks.examples import (
    SOURCES,
    Example,
    ExamplesRefusedError,
    Learned,
    Lesson,
    Mistake,
    Progress,
    Read,
    Reads,
    files_of,
    of_file,
    refused,
    vectors_of,
)
from pipeline.tasks.features import Vectors, calibration_error, mean
from pipeline.tasks.kinds import Embedder, Writing
from pipeline.tasks.passages import cut, paragraphs
from pipeline.tasks.risk import NoPromiseError, Promise, Unseen, promise

LEAST_OF_LABEL: Final = 2  # examples of a label
OFFERED: Final = (0.01, 0.02, 0.05, 0.1)  # risks that are told of


@dataclass(frozen=True)
class LabelsMeasured:
    """`right`: the share of the examples that got their label from what was learned without them;
    `calibration_error`: by how much their scores were wrong on average, by tenths of the score (Guo et al. 2017);
    `words`: how many words are looked at, 0 where they did not help; `labels`: how many examples each label has.
    `promises`: what `accept` can promise of answers to all labels."""

    labels: dict[str, int]
    right: float
    calibration_error: float
    words: int
    promises: Sequence[Promise]

    def told(self) -> Iterator[tuple[str, str]]:
        """The figures for a person."""
        for name, count in self.labels.items():
            yield f"{count:,}", name
        yield "right", f"{self.right:.1%} of examples that it had not seen"
        yield "scores", f"wrong by {self.calibration_error:.3f} on average"
        yield "looks at", "passages" if not self.words else f"passages and {self.words:,} words"
        for one in self.promises:
            share = one.accepted / one.examples
            yield "accept", f"risk: {one.risk:g} would take {share:.1%} of them, from a score of {one.score:.3f} on"
        if not self.promises:
            yield "accept", f"no risk up to {OFFERED[-1]:g} can be promised by {sum(self.labels.values()):,} examples"


@dataclass(frozen=True, kw_only=True)
class LabelLesson(Lesson[str]):
    """Documents with their labels, for a model that embeds. `least`: the score below which a document abstains."""

    labels: Sequence[Label]
    least: float

    @classmethod
    def of(cls, labels: Sequence[Label], least: float, source: Path, reads: Reads) -> Self:
        """Read the examples of a folder or file. ExamplesRefusedError; OSError."""
        names = [label.name for label in labels]
        given = read_labelled(source, names)
        read = reads(given, lambda label: f"the label {label!r}")
        where = str(source)
        counts = Counter(one.example.taught for one in read)
        mistakes = [
            Mistake(where, f"{counts[name]} different documents with the label {name!r}", f"{LEAST_OF_LABEL} at least")
            for name in names
            if counts[name] < LEAST_OF_LABEL
        ]
        if mistakes:
            raise ExamplesRefusedError(mistakes)
        return cls(labels=labels, read=read, given=len(given), least=least)

    def learn(self, model: Embedder, progress: Progress) -> Learned:
        """Learn a classifier."""
        names = [label.name for label in self.labels]
        said = [(number, text) for number, label in enumerate(self.labels) for text in label.texts]
        documents = [*(Parsed(text, "text/plain", "label") for _, text in said), *(one.document for one in self.read)]
        means = means_of(documents, model, progress)
        numbers = [*(number for number, _ in said), *(names.index(one.example.taught) for one in self.read)]
        texts = [document.text for document in documents]
        learned = fit.learn(fit.Examples(means, texts, np.array(numbers, np.int32), len(said)), names)
        head, counts, right = head_of(learned), Counter(self.teaches()), learned.unseen.argmax(1) == learned.labels
        measured = LabelsMeasured(
            {name: counts[name] for name in names},
            float(right.mean()),
            calibration_error(learned.unseen.max(1), right),
            learned.words,
            list(_promises(head, self.least)),
        )
        return Learned(head, measured)


def means_of(documents: Sequence[Parsed], model: Embedder, progress: Progress) -> Vectors:
    """float32 [documents, d]: the mean of the vectors of each document's paragraphs, of which each has one at least."""
    spans = [paragraphs(document, model) for document in documents]
    return np.stack([mean(vectors) for vectors in vectors_of(documents, spans, model, progress)])


def read_labelled(source: Path, labels: Sequence[str], *, free: bool = False) -> list[Example[Any]]:
    """The examples of a folder or file, in its order, each with one of the labels or, if `free`, with None.
    ExamplesRefusedError; OSError."""
    keys = "text or document, and label, which may be empty" if free else "label, and text or document"
    if not source.exists():
        folder = "a folder with documents, or with a folder" if free else "a folder"
        expected = f"{folder} for each label, or a header with {keys}"
        raise refused(str(source), "there is no such file or folder", expected)
    mistakes = list[Mistake]()
    found = list(_of_folder(source, free) if source.is_dir() else _of_file(source, keys, mistakes, free))
    mistakes += [
        Mistake(one.place, f"the label {one.taught!r}", f"a label of the job: {', '.join(labels)}")
        for one in found
        if one.taught is not None and one.taught not in set(labels)
    ]
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return found


def _of_folder(folder: Path, free: bool) -> Iterator[Example[str | None]]:
    """The files of a folder, each with the name of the folder below it in which it lies."""
    for path, inner in files_of(folder):
        label = inner.parts[0] if len(inner.parts) > 1 else None
        if label is not None or free:
            yield Example(str(path), label, path=path)


def _of_file(file: Path, keys: str, mistakes: list[Mistake], free: bool) -> Iterator[Example[str | None]]:
    for line in of_file(file, ["label", *(SOURCES if free else ())], keys, mistakes):
        label = line.values.get("label")
        if (isinstance(label, str) and label) or (free and label in (None, "")):
            yield Example(line.place, label or None, line.text, line.path)
        else:
            mistakes.append(Mistake(line.place, f"the label {label!r}" if label or free else "no label", keys))


def head_of(learned: fit.Learned) -> HeadFile:
    """The head, with its answers to the examples that it had not seen, their scores, and whether they were right."""
    head = learned.classifier.to_file()
    best, answers = learned.unseen.max(1), learned.unseen.argmax(1).astype(np.int32)
    right = (answers == learned.labels).astype(np.uint8)
    unseen = {"unseen_scores": best, "unseen_right": right, "unseen_answers": answers}
    return HeadFile(head.facts, {**head.arrays, **unseen})


def _promises(head: HeadFile, least: float) -> Iterator[Promise]:
    for risk in OFFERED:
        with suppress(NoPromiseError):
            yield promise(Unseen.of(head), risk, least)


LEAST: Final = 10
"""Documents, at least: a mean over fewer is too much like each of them."""
COUNTED: Final = 20
"""Documents with labels, at least, of which it is said how many are right."""
SURE: Final = 50
"""Documents with labels, at least, from which a temperature is found: of 30 it made scores worse than without it."""


@dataclass(frozen=True)
class PriorMeasured:
    """Figures from examples that were left out when the prior was learned. `labels`: how many examples each label
    has, `unlabelled`: how many have none; `before` and `right`: the share of those with a label that got it from the
    model alone, and with the prior; `calibration_error`: by how much the scores were wrong on average, by tenths of the
    score; `threshold`: the score from which answers are more often right than wrong. None where too few have labels."""

    labels: dict[str, int]
    unlabelled: int
    before: float | None = None
    right: float | None = None
    calibration_error: float | None = None
    threshold: float | None = None

    def told(self) -> Iterator[tuple[str, str]]:
        """The figures for a person."""
        for name, count in self.labels.items():
            yield f"{count:,}", name
        if self.unlabelled:
            yield f"{self.unlabelled:,}", "without a label"
        if self.right is None:
            yield "right", f"not known: {COUNTED} examples with labels would say so"
            return
        yield "right", f"{self.right:.1%} of examples that it had not seen, {self.before:.1%} without what was learned"
        yield "scores", f"wrong by {self.calibration_error:.3f} on average"
        if self.threshold is not None:
            yield "threshold", f"{self.threshold:g}: from there answers are more often right than wrong"


@dataclass(frozen=True, kw_only=True)
class PriorLesson(Lesson[str | None]):
    """Documents, some with their labels, for a model that writes."""

    labels: Sequence[Label]
    writing: Writing

    @classmethod
    def of(cls, labels: Sequence[Label], writing: Writing, source: Path, reads: Reads) -> Self:
        """Read the examples of a folder or file. ExamplesRefusedError; OSError."""
        given = read_labelled(source, [label.name for label in labels], free=True)
        read = reads(given, lambda label: "no label" if label is None else f"the label {label!r}")
        if len(read) < LEAST:
            raise refused(str(source), f"{len(read)} different documents", f"{LEAST} at least")
        return cls(labels=labels, writing=writing, read=read, given=len(given))

    def learn(self, model: engine.LanguageModel, progress: Progress) -> Learned:
        """Learn a prior."""
        names = [label.name for label in self.labels]
        numbers = [None if label is None else names.index(label) for label in self.teaches()]
        prior, measured = learned_from(names, self._shares(model, progress), numbers)
        return Learned(prior.to_file(), measured)

    def _shares(self, model: engine.LanguageModel, progress: Progress) -> list[list[float]]:
        """The share that the model gives to each label, and to none of them, for each document."""
        options = Options(self.labels, model, self.writing)
        windows = [cut(one.document, model, options.room) for one in self.read]
        asked = [
            options.request(one.document.text[window.span.start : window.span.end])
            for one, its in zip(self.read, windows, strict=True)
            for window in its
        ]
        heard = dict[int, engine.Completion]()
        for done, (number, completion) in enumerate(model.generate(asked), start=1):
            heard[number] = completion
            progress(done, len(asked))
        places = chain.from_iterable([index] * len(its) for index, its in enumerate(windows))  # of each request
        each: list[list[list[float]]] = [[] for _ in windows]
        for number, index in enumerate(places):
            each[index].append(_answered(options, heard[number], self.read[index]))
        return [mean_shares(one, [window.tokens for window in its]) for one, its in zip(each, windows, strict=True)]


def _answered(options: Options, completion: engine.Completion, read: Read[Any]) -> list[float]:
    try:
        return options.exact_shares(completion)
    except DocumentError as error:
        raise refused(read.example.place, error.reason, remedy=error.failure.remedy) from error


def learned_from(
    names: Sequence[str], shares: Sequence[Sequence[float]], numbers: Sequence[int | None]
) -> tuple[Prior, PriorMeasured]:
    """Learn from the shares of the labels, and of none of them, that a model gave to each document; `numbers`: the
    labels that they have. What was found on documents with labels, a prior found that had not seen them."""
    whole, counts = prior_of(names, shares, numbers), Counter(numbers)
    measured = PriorMeasured({name: counts[number] for number, name in enumerate(names)}, counts[None])
    known = [index for index, number in enumerate(numbers) if number is not None]
    if len(known) < COUNTED:
        return whole, measured
    truth = np.array([numbers[index] for index in known], np.int32)
    logits = _unseen(names, shares, numbers, known)
    temperature = temperature_of(logits, truth) if len(known) >= SURE else 1.0
    scores = engine.softmax(logits, 1.0 / temperature)[:, : len(names)]
    best, right = scores.max(1), scores.argmax(1) == truth
    before = np.array([np.argmax(shares[index][: len(names)]) for index in known]) == truth
    return replace(whole, temperature=temperature), replace(
        measured, before=float(before.mean()), right=float(right.mean()),
        calibration_error=calibration_error(best, right),
        threshold=threshold_of(best.tolist(), right.tolist()) if len(known) >= SURE else None,
    )  # fmt: skip


def prior_of(names: Sequence[str], shares: Sequence[Sequence[float]], numbers: Sequence[int | None]) -> Prior:
    """The mean share of each label among the labels. Where every label has a document, each label's documents count as
    much as those of any other, for the night may have other numbers of them than the examples."""
    among = [[share / total for share in one[:-1]] for one in shares if (total := fsum(one[:-1]))]
    taught = [number for one, number in zip(shares, numbers, strict=True) if fsum(one[:-1])]
    if not among:
        return Prior(tuple(names), np.full(len(names), 1 / len(names), np.float32))
    groups: list[list[list[float]]] = [
        [one for one, number in zip(among, taught, strict=True) if number == label] for label in range(len(names))
    ]
    parts = [_mean(group) for group in groups] if all(groups) else among
    return Prior(tuple(names), np.array(_mean(parts), np.float32))


def _mean(rows: Sequence[Sequence[float]]) -> list[float]:
    return [fsum(column) / len(rows) for column in zip(*rows, strict=True)]


def _unseen(
    names: Sequence[str], shares: Sequence[Sequence[float]], numbers: Sequence[int | None], known: Sequence[int]
) -> Vectors:
    """float32 [known, labels and none]: the logits of each document by the prior of the other folds."""
    folds = folds_of(np.array([numbers[index] for index in known], np.int32), FOLDS)
    rows = np.zeros((len(known), len(names) + 1), np.float32)
    for fold in range(FOLDS):
        held = [known[at] for at in np.flatnonzero(folds == fold).tolist()]
        rest = [index for index in range(len(shares)) if index not in set(held)]
        prior = prior_of(names, [shares[index] for index in rest], [numbers[index] for index in rest])
        rows[folds == fold] = np.array([prior.logits(shares[index]) for index in held], np.float32)
    return rows


def threshold_of(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """The score from which answers that are right outnumber the wrong ones by most, the least of equals; None where
    they never do. Between the scores of two documents, rounded down to hundredths."""
    ranked = sorted(zip(scores, right, strict=True), key=lambda one: -one[0])
    best, found, gained = 0, None, 0
    for at, (score, is_right) in enumerate(ranked):
        gained += 1 if is_right else -1
        last = at + 1 == len(ranked) or ranked[at + 1][0] < score
        if last and gained > 0 and gained >= best:
            best, found = gained, floor(score * 100) / 100
    return found
