"""Lessons in labels: a folder for each label, or a CSV or JSONL file with `label` and `text` or `document`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from pipeline.document import Parsed
from pipeline.errors import ModelRefusedError
from pipeline.heads.file import HeadFile
from pipeline.heads.risk import NoPromiseError, Promise, Unseen, promise
from pipeline.learn import classifying
from pipeline.learn.classifying import Examples
from pipeline.learn.examples import Example, ExamplesRefusedError, Mistake, of_file, of_folder, refused
from pipeline.learn.lesson import Learned, Progress
from pipeline.learn.reading import Read, means_of, read_documents
from pipeline.plan import RunPlan
from pipeline.tasks import ClassifySettings, Embedder, Label

LEAST: Final = 2  # examples of a label
_KEYS: Final = "label, and text or document"
_BINS: Final = 10
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


@dataclass(frozen=True)
class LabelLesson:
    """Documents with their labels."""

    labels: tuple[Label, ...]
    read: Sequence[Read[str]]
    given: int
    least: float

    @classmethod
    def of(cls, plan: RunPlan, source: Path, progress: Progress) -> Self:
        """Read the examples of a folder or file. ExamplesRefusedError; ModelRefusedError; OSError."""
        assert isinstance(plan.task, ClassifySettings)
        labels = plan.task.labels
        if not labels:
            raise ModelRefusedError("heads are learned for the labels of a job; labels: from_model are of the model")
        names = [label.name for label in labels]
        given = read_examples(source, names)
        read = read_documents(plan, given, lambda label: f"the label {label!r}", progress)
        _check_counts(str(source), Counter(one.example.taught for one in read), names)
        return cls(labels, read, len(given), plan.task.threshold)

    def teaches(self) -> list[Any]:
        return [one.example.taught for one in self.read]

    def learn(self, model: Embedder, progress: Progress) -> Learned:
        names = [label.name for label in self.labels]
        said = [(number, text) for number, label in enumerate(self.labels) for text in label.texts]
        documents = [*(Parsed(text, "text/plain", "label") for _, text in said), *(one.document for one in self.read)]
        means = means_of(documents, model, progress)
        numbers = [*(number for number, _ in said), *(names.index(one.example.taught) for one in self.read)]
        texts = [document.text for document in documents]
        learned = classifying.learn(Examples(means, texts, np.array(numbers, np.int32), len(said)), names)
        head, counts = head_of(learned), Counter(self.teaches())
        measured = LabelsMeasured(
            {name: counts[name] for name in names},
            _right(learned),
            calibration_error(learned),
            learned.words,
            list(_promises(head, self.least)),
        )
        return Learned(head, measured)


def read_examples(source: Path, labels: Sequence[str]) -> list[Example[str]]:
    """The examples of a folder or file, in its order, each with one of the labels. ExamplesRefusedError; OSError."""
    if not source.exists():
        expected = f"a folder for each label, or a header with {_KEYS}"
        raise refused(str(source), "there is no such file or folder", expected)
    mistakes = list[Mistake]()
    found = list(of_folder(source) if source.is_dir() else _of_file(source, mistakes))
    mistakes += [
        Mistake(one.place, f"the label {one.taught!r}", f"a label of the job: {', '.join(labels)}")
        for one in found
        if one.taught not in set(labels)
    ]
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return found


def _of_file(file: Path, mistakes: list[Mistake]) -> Iterator[Example[str]]:
    for line in of_file(file, ["label"], _KEYS, mistakes):
        label = line.values.get("label")
        if isinstance(label, str) and label:
            yield Example(line.place, label, line.text, line.path)
        else:
            mistakes.append(Mistake(line.place, "no label" if not label else f"the label {label!r}", _KEYS))


def _check_counts(where: str, counts: Counter[str], names: Sequence[str]) -> None:
    mistakes = [
        Mistake(where, f"{counts[name]} different documents with the label {name!r}", f"{LEAST} at least")
        for name in names
        if counts[name] < LEAST
    ]
    if mistakes:
        raise ExamplesRefusedError(mistakes)


def head_of(learned: classifying.Learned) -> HeadFile:
    """The head, with its answers to the examples that it had not seen, their scores, and whether they were right."""
    head = learned.classifier.to_file({})
    best, answers = learned.unseen.max(1), learned.unseen.argmax(1).astype(np.int32)
    right = (answers == learned.labels).astype(np.uint8)
    unseen = {"unseen_scores": best, "unseen_right": right, "unseen_answers": answers}
    return HeadFile(head.facts, {**head.arrays, **unseen})


def _promises(head: HeadFile, least: float) -> Iterator[Promise]:
    """The promises that can be made of answers that score at least so much."""
    for risk in OFFERED:
        with suppress(NoPromiseError):
            yield promise(Unseen.of(head), risk, least)


def _right(learned: classifying.Learned) -> float:
    return float((learned.unseen.argmax(1) == learned.labels).mean())


def calibration_error(learned: classifying.Learned) -> float:
    """The mean, over tenths of the score and weighted by how many fall there, of |share that is right - mean score|."""
    scores, right = learned.unseen.max(1), learned.unseen.argmax(1) == learned.labels
    tenths = np.minimum((scores * _BINS).astype(int), _BINS - 1)
    errors = [
        abs(float(right[one].mean()) - float(scores[one].mean())) * float(one.mean())
        for one in (tenths == number for number in range(_BINS))
        if one.any()
    ]
    return sum(errors)
