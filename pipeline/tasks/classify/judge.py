"""How good labels are: accuracy, precision, recall and F1 of each label, macro-F1, confusion.

Sources: C. J. van Rijsbergen, Information Retrieval (1979), chapter 7, for precision, recall and F1; macro-F1 is the
mean of the F1 of the labels, each counted the same (Manning, Raghavan and Schütze, Introduction to Information
Retrieval, 2008, section 13.6), as scikit-learn's `f1_score(average="macro")` has it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.tasks.judging import Confusion, Floats, Judgement, LabelScore, calibration, measured, weighted_mean


class Classes:
    """The answers to documents with known labels; an answer of None is no label, which is never right."""

    def __init__(self, labels: Sequence[str], truth: Sequence[str], answers: Sequence[str | None]) -> None:
        number = {label: index for index, label in enumerate(labels)}
        self._labels, self._none = tuple(labels), len(labels)
        self._truth = np.array([number[label] for label in truth])
        self._answers = np.array([self._none if label is None else number[label] for label in answers])

    def figures(self, weights: Floats) -> Mapping[str, Floats]:
        """accuracy: the share of documents that got their label; macro_f1: the mean F1 of the labels that a document
        has or got; answered: the share of documents that got a label. Weights float64 [draws, documents]."""
        right = (self._truth == self._answers).astype(np.float64)
        numbers = np.arange(self._none)
        has, got = self._truth[:, None] == numbers, self._answers[:, None] == numbers
        both = weights @ (has & got).astype(np.float64)
        sums = weights @ has.astype(np.float64) + weights @ got.astype(np.float64)
        with np.errstate(invalid="ignore"):
            f1 = 2 * both / sums  # [draws, labels], NaN for a label that no document has or got
        occurs = sums > 0
        macro = np.where(occurs, f1, 0.0).sum(1) / occurs.sum(1)
        answered = (self._answers != self._none).astype(np.float64)
        return {
            "accuracy": weighted_mean(weights, right),
            "macro_f1": macro,
            "answered": weighted_mean(weights, answered),
        }

    def labels(self) -> tuple[LabelScore, ...]:
        """Each label, in the order of the job."""
        return tuple(self._score(index, name) for index, name in enumerate(self._labels))

    def _score(self, index: int, name: str) -> LabelScore:
        has, got = self._truth == index, self._answers == index
        documents, answered, both = int(has.sum()), int(got.sum()), int((has & got).sum())
        f1 = 2 * both / (documents + answered) if documents + answered else 0.0
        precision, recall = both / answered if answered else None, both / documents if documents else None
        return LabelScore(name, documents, answered, precision, recall, f1)

    def confusion(self) -> Confusion:
        """All labels against all labels and none."""
        counts = np.zeros((self._none, self._none + 1), np.int64)
        np.add.at(counts, (self._truth, self._answers), 1)
        return Confusion(self._labels, tuple(tuple(int(count) for count in row) for row in counts))


def judge(labels: Sequence[str], known: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Judgement:
    """The judgement of the rows of documents with these known labels."""
    found = Classes(labels, known, [row.get("label") for row in rows])
    best = [(row["scores"][0], label) for row, label in zip(rows, known, strict=True) if row.get("scores")]
    return Judgement(
        figures=measured(found.figures, len(rows)),
        labels=found.labels(),
        confusion=found.confusion(),
        calibration=calibration([one["score"] for one, _ in best], [one["label"] == label for one, label in best]),
    )
