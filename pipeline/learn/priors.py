"""Lessons for a model that writes: how readily it answers each label, and how often its answer is right.

Documents with labels are given as for a model that embeds; documents without one, in no folder of a label or on a line
with an empty `label`, say how readily the model answers too.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import floor, fsum
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.errors import DocumentError
from pipeline.heads.prior import Prior, Shares
from pipeline.learn.classifying import FOLDS, folds_of, temperature_of
from pipeline.learn.examples import Example, ExamplesRefusedError, Mistake, files_of, of_file, refused
from pipeline.learn.lesson import Learned, Progress
from pipeline.learn.reading import Read, read_documents
from pipeline.plan import RunPlan
from pipeline.tasks import ClassifySettings, Writing
from pipeline.tasks.classify import options_of
from pipeline.tasks.writing.options import Options, mean
from pipeline.tasks.writing.windows import cut

LEAST: Final = 10
"""Documents, at least: a mean over fewer is too much like each of them."""
COUNTED: Final = 20
"""Documents with labels, at least, of which it is said how many are right."""
SURE: Final = 50
"""Documents with labels, at least, from which a temperature is found: of 30 it made scores worse than without it."""
_KEYS: Final = "text or document, and label, which may be empty"
_BINS: Final = 10


@dataclass(frozen=True)
class PriorMeasured:
    """Figures from examples that were left out when the prior was learned. `labels`: how many examples each label
    has, `unlabelled`: how many have none; `before` and `right`: the share of those with a label that got it from the
    model alone, and with the prior; `calibration_error`: by how much the scores were wrong on average, by tenths of the
    score; `threshold`: the score from which answers are more often right than wrong. None where too few have labels."""

    labels: dict[str, int]
    unlabelled: int
    before: float | None
    right: float | None
    calibration_error: float | None
    threshold: float | None

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


@dataclass(frozen=True)
class PriorLesson:
    """Documents, some with their labels, for a model that writes."""

    settings: ClassifySettings
    writing: Writing
    read: Sequence[Read[str | None]]
    given: int

    @classmethod
    def of(cls, plan: RunPlan, source: Path, progress: Progress) -> Self:
        """Read the examples of a folder or file. ExamplesRefusedError; OSError."""
        assert isinstance(plan.task, ClassifySettings)
        given = _read_examples(source, [label.name for label in plan.task.labels])
        read = read_documents(
            plan, given, lambda label: "no label" if label is None else f"the label {label!r}", progress
        )
        if len(read) < LEAST:
            raise refused(str(source), f"{len(read)} different documents", f"{LEAST} at least")
        return cls(plan.task, plan.writing or Writing(), read, len(given))

    def teaches(self) -> list[Any]:
        return [one.example.taught for one in self.read]

    def learn(self, model: engine.LanguageModel, progress: Progress) -> Learned:
        names = [label.name for label in self.settings.labels]
        numbers = [None if label is None else names.index(label) for label in self.teaches()]
        found = learned_from(names, self._shares(model, progress), numbers)
        counts = Counter(self.teaches())
        measured = PriorMeasured(
            {name: counts[name] for name in names}, counts[None], found.before, found.right, found.calibration_error,
            found.threshold,
        )  # fmt: skip
        return Learned(found.prior.to_file({}), measured)

    def _shares(self, model: engine.LanguageModel, progress: Progress) -> list[list[float]]:
        """The share that the model gives to each label, and to none of them, for each document."""
        options = options_of(self.settings, model, self.writing)
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
        return [mean(one, [window.tokens for window in its]) for one, its in zip(each, windows, strict=True)]


def _answered(options: Options, completion: engine.Completion, read: Read[Any]) -> list[float]:
    try:
        return options.exact_shares(completion)
    except DocumentError as error:
        raise refused(read.example.place, error.reason, remedy=error.failure.remedy) from error


def _read_examples(source: Path, labels: Sequence[str]) -> list[Example[str | None]]:
    """The examples of a folder or file, in its order, each with one of the labels or with None."""
    if not source.exists():
        expected = f"a folder with documents, or with a folder for each label, or a header with {_KEYS}"
        raise refused(str(source), "there is no such file or folder", expected)
    mistakes = list[Mistake]()
    found = list(_of_folder(source) if source.is_dir() else _of_file(source, mistakes))
    mistakes += [
        Mistake(one.place, f"the label {one.taught!r}", f"a label of the job: {', '.join(labels)}")
        for one in found
        if one.taught is not None and one.taught not in set(labels)
    ]
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return found


def _of_folder(folder: Path) -> Iterator[Example[str | None]]:
    for path, inner in files_of(folder):
        yield Example(str(path), inner.parts[0] if len(inner.parts) > 1 else None, path=path)


def _of_file(file: Path, mistakes: list[Mistake]) -> Iterator[Example[str | None]]:
    for line in of_file(file, ["label", "text", "document"], _KEYS, mistakes):
        label = line.values.get("label")
        if label is None or isinstance(label, str):
            yield Example(line.place, label or None, line.text, line.path)
        else:
            mistakes.append(Mistake(line.place, f"the label {label!r}", _KEYS))


@dataclass(frozen=True)
class Found:
    """A prior, and what was found on documents with labels of which it was learned without them: as `PriorMeasured`."""

    prior: Prior
    before: float | None = None
    right: float | None = None
    calibration_error: float | None = None
    threshold: float | None = None


def learned_from(names: Sequence[str], shares: Sequence[Sequence[float]], numbers: Sequence[int | None]) -> Found:
    """Learn from the shares of the labels, and of none of them, that a model gave to each document; `numbers`: the
    labels that they have."""
    whole = prior_of(names, shares, numbers)
    known = [index for index, number in enumerate(numbers) if number is not None]
    if len(known) < COUNTED:
        return Found(whole)
    truth = np.array([numbers[index] for index in known], np.int32)
    logits = _unseen(names, shares, numbers, known)
    temperature = temperature_of(logits, truth) if len(known) >= SURE else 1.0
    scores = engine.softmax(logits, 1.0 / temperature)[:, : len(names)]
    best, right = scores.max(1), scores.argmax(1) == truth
    before = np.array([np.argmax(shares[index][: len(names)]) for index in known]) == truth
    return Found(
        Prior(whole.labels, whole.shares, temperature), float(before.mean()), float(right.mean()),
        _calibration_error(best, right), threshold_of(best.tolist(), right.tolist()) if len(known) >= SURE else None,
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
) -> Shares:
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


def _calibration_error(scores: NDArray[np.float32], right: NDArray[np.bool_]) -> float:
    """The mean, over tenths of the score and weighted by how many fall there, of |share that is right - mean score|."""
    tenths = np.minimum((scores * _BINS).astype(int), _BINS - 1)
    return sum(
        abs(float(right[one].mean()) - float(scores[one].mean())) * float(one.mean())
        for one in (tenths == number for number in range(_BINS))
        if one.any()
    )
