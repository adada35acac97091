"""Classify: the label that fits a document best, each label with a score.

On a model that embeds: the label whose description and examples are nearest in meaning to what a document says. A
passage is as like a label as it is to the nearest of the label's texts: its name with description, and each example. A
document is as like a label as the mean of two: the most similar of its first four passages, where titles stand, and the
mean of the three most similar anywhere. Scores are a softmax over the labels and a likeness of 0.25 that stands for
"none of them"; pipeline/DECISIONS.md has the measurements behind these numbers.

With a head that was learned from examples (`cloister learn`): the label that the head finds most probable, by the mean
of the passages' vectors and perhaps by the words; its score is how often such an answer was right. `accept` sends the
answers to review of which too many could be wrong (`head.py`).

On a model that classifies texts itself, with `labels: from_model`: its own labels, by its outputs over the windows of
the document (`answers.py`).

On a model that writes: the label that it would answer, by the exact probability of each. Nothing is written and nothing
is parsed. The probabilities of the labels, and of a further one that stands for "none of them", are made to sum to 1. A
small model likes some names better than others whatever it reads: with a prior that was learned (`cloister learn`) each
label's probability is divided by its mean over the documents that were learned from, with `calibrate` by its share for
a document of nothing, which is asked for once a run. A document that is read in windows has the mean of their
probabilities, each window by its tokens. The evidence is the passage that the model, asked once more, quotes for the
label.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar

import pyarrow as pa

import engine
from pipeline.document import Row
from pipeline.heads import HeadFile
from pipeline.tasks.base import HeadAnswers, Line, Task, TaskRefusedError
from pipeline.tasks.classify.answers import (
    ByMeaning,
    ByProbability,
    Label,
    Learned,
    OwnLabels,
    check_labels,
    check_own_labels,
)
from pipeline.tasks.classify.head import PRIOR, Classifier, Prior
from pipeline.tasks.classify.judge import judge
from pipeline.tasks.classify.learn import LabelLesson, PriorLesson, read_labelled
from pipeline.tasks.correcting import ReviewRefusedError, only
from pipeline.tasks.examples import Example, Lesson, Reads, refused
from pipeline.tasks.features import read_as
from pipeline.tasks.judging import Judge
from pipeline.tasks.kinds import EMBEDDING, SEQUENCE, TEXT, Embedder, Headed, Writer, Writing
from pipeline.tasks.risk import Accept, Promised, bars_of, in_words, promises, without_accept
from pipeline.tasks.settings import FROM_MODEL, Key, Steps, check_unique

Known = TypeVar("Known", Classifier, Prior)
CALIBRATED: Final = 1.5  # times what each of the labels, and none of them, would have if all were as probable


@dataclass(frozen=True)
class ClassifySettings(Task):
    """One label for each document."""

    labels: Annotated[
        tuple[Label, ...],
        Key(
            f"the labels, at least 2; {FROM_MODEL}: those of a model that classifies texts itself",
            least=2,
            word=FROM_MODEL,
        ),
    ]
    threshold: Annotated[
        float,
        Key(
            "a best score below it makes the document abstained; 0.3 if left out, "
            "with `calibrate` at most 1.5 / (labels + 1)",
            least=0,
            most=1,
            silent=True,
        ),
    ] = 0.3
    calibrate: Annotated[
        bool, Key("divide a label's probability by its share for an empty document: for small models that write")
    ] = False
    accept: Annotated[
        Accept | None,
        Key("with a learned head: which answers are accepted; the others keep their label, for a person to review"),
    ] = None

    unreviewed: ClassVar[str | None] = None
    purpose: ClassVar[str] = "one label for each document"
    hints: ClassVar[Mapping[str, str]] = MappingProxyType(
        {SEQUENCE: f"write labels: {FROM_MODEL} into the task to use the model's own labels"}
    )
    texts: ClassVar[tuple[str, ...]] = ("label",)
    learned_on: ClassVar[tuple[str, ...]] = (EMBEDDING, TEXT)
    figures: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "accuracy": "documents with the right label",
            "macro_f1": "mean F1 of the labels",
            "answered": "documents that got a label",
        }
    )
    measures: ClassVar[tuple[str, ...]] = ("macro_f1", "accuracy", "answered")
    columns: ClassVar[tuple[pa.Field, ...]] = (
        pa.field("label", pa.string()),
        pa.field("score", pa.float64()),
        pa.field("scores", pa.list_(pa.struct([("label", pa.string()), ("score", pa.float64())]))),
    )

    @classmethod
    def from_keys(cls, keys: Mapping[str, Any], model: str) -> Self:
        if keys.get("calibrate") and "threshold" not in keys:
            usual = round(CALIBRATED / (len(keys["labels"]) + 1), 3)
            return cls.from_json({**keys, "threshold": min(usual, cls.threshold)})
        return cls.from_json(keys)

    def check(self) -> None:
        check_unique((label.name for label in self.labels), "labels", "label")

    def in_words(self) -> str:
        return f"classify as {', '.join(label.name for label in self.labels) or 'the model does'}"

    @property
    def kinds(self) -> tuple[str, ...]:
        return super().kinds if self.labels else (SEQUENCE,)

    @property
    def variant(self) -> str:
        return "" if self.labels else f" with labels: {FROM_MODEL}"

    @property
    def writing_only(self) -> str | None:
        return "task.calibrate" if self.calibrate else None

    def on_embedding(self, model: Embedder) -> ByMeaning:
        return ByMeaning(self.labels, self.threshold, model)

    def to_json(self) -> dict[str, Any]:
        return without_accept(super().to_json())

    def check_own_head(self, head: "engine.Head") -> None:
        check_own_labels(head)

    def on_own_head(self, model: Headed) -> OwnLabels:
        return OwnLabels(model, self.threshold)

    def head_only(self) -> tuple[Steps, ...]:
        said = [("accept",)] if self.accept else []
        return (*said, *(("labels", index, "accept") for index, label in enumerate(self.labels) if label.accept))

    def check_head(self, head: HeadFile) -> None:
        if head.facts.get("kind") != PRIOR:
            self._known(Classifier.from_file, head)
            self._promises(head)
        elif self.head_only():
            raise TaskRefusedError("it knows how readily the model answers each label, and not how often answers are "
                                   "right: remove accept, or use a model that gives embeddings")  # fmt: skip
        elif self.calibrate:
            raise TaskRefusedError("it says how readily the model answers each label, as task.calibrate does: remove "
                                   "task.calibrate")  # fmt: skip
        else:
            self._known(Prior.from_file, head)

    def promises(self, head: HeadFile) -> Iterator[str]:
        return (in_words(promised, len(self.labels)) for promised in self._promises(head))

    def on_head(self, model: Embedder, head: HeadFile) -> Learned:
        classifier, bars = self._known(Classifier.from_file, head), bars_of(self._promises(head))
        return Learned(classifier, model, self.threshold, bars)

    @property
    def _names(self) -> list[str]:
        return [label.name for label in self.labels]

    def _promises(self, head: HeadFile) -> list[Promised]:
        if not self.head_only():
            return []
        return promises(head, self._names, [label.accept for label in self.labels], self.accept, self.threshold)

    def on_writing(self, model: Writer, writing: Writing) -> ByProbability:
        return ByProbability(self.labels, self.threshold, model, writing, calibrate=self.calibrate)

    def on_prior(self, model: Writer, writing: Writing, head: HeadFile) -> ByProbability:
        return ByProbability(self.labels, self.threshold, model, writing, self._known(Prior.from_file, head))

    def _known(self, read: Callable[[HeadFile], Known], head: HeadFile) -> Known:
        """What was learned, by a head's file. TaskRefusedError if it is none, or knows other labels than these."""
        found = read_as(read, head)
        check_labels(found.labels, self._names)
        return found

    def own_examples(self) -> Sequence[str]:
        return [text for label in self.labels for text in label.examples]

    def lesson(self, source: Path, read: Reads, writing: Writing | None, *, skip: bool) -> Lesson[Any]:
        if writing is not None:
            return PriorLesson.of(self.labels, writing, source, read)
        if not self.labels:
            raise TaskRefusedError(f"heads are learned for the labels of a job; labels: {FROM_MODEL} are of the model")
        return LabelLesson.of(self.labels, self.threshold, source, read)

    @classmethod
    def head_answers(cls, head: HeadFile) -> HeadAnswers:
        classifier = Classifier.from_file(head)
        return lambda model, texts: iter([classifier.probabilities(model.embed(texts), texts)])

    def truths(self, source: Path) -> Sequence[Example[Any]]:
        if not self.labels:
            raise refused(str(source), f"a job whose answers are {FROM_MODEL}", "one that names its labels or fields")
        found = read_labelled(source, self._names)
        if len({one.taught for one in found}) == 1:
            told = f"only the label {found[0].taught!r}, of {len(found)} examples"
            raise refused(str(source), told, "documents of two labels at least")
        return found

    def judge(self, truths: Sequence[Example[Any]], texts: Sequence[str]) -> Judge:
        return partial(judge, self._names, [truth.taught for truth in truths])

    def correct(self, row: Row, text: str | None, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        label, names = only(answer, "label"), self._names or [each["label"] for each in row.get("scores") or ()]
        if label not in names:
            raise ReviewRefusedError(f"the job had no label {label!r} when it made this row; it had {', '.join(names)}")
        return {"label": label, "score": row["score"] if label == row.get("label") else None}

    def taught(self, row: Row, *, placed: bool) -> Mapping[str, Any] | None:
        return {"label": row["label"]} if row["label"] in self._names else None

    @classmethod
    def scores(cls, row: Row) -> tuple[float | None, float | None]:
        scores = sorted((each["score"] for each in row.get("scores") or ()), reverse=True)
        return row.get("score"), scores[0] - scores[1] if len(scores) > 1 else row.get("score")

    @classmethod
    def topics(cls, row: Row) -> Iterator[str]:
        if row.get("label") is not None:
            yield row["label"]

    @classmethod
    def lines(cls, row: Row) -> Iterator[Line]:
        if row.get("label") is not None:
            score = row["score"]  # None where a person gave the label
            yield Line("", row["label"] if score is None else f"{row['label']} ({score:.2f})")
