"""Rows are held against what is known of their documents, by the measures of their task."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.quality.bootstrap import Figure, measured
from pipeline.quality.calibration import Calibration, calibration
from pipeline.quality.classes import Classes, Confusion, LabelScore
from pipeline.quality.fields import Fields, FieldScore, Judged, judged
from pipeline.quality.reading import Documents
from pipeline.quality.rouge import Compared, Rouge, Summaries, lead, oracle, rouge
from pipeline.quality.truths import Truth
from pipeline.tasks import ClassifySettings, ExtractSettings, Field, SummarizeSettings, Task
from pipeline.text.values import VALUES, Finder

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Judgement:
    """The measurement of rows: figures with their intervals, each label with the confusion, or each field; and the
    calibration of the scores, None where there are none."""

    figures: tuple[Figure, ...]
    labels: tuple[LabelScore, ...] = ()
    confusion: Confusion | None = None
    fields: tuple[FieldScore, ...] = ()
    calibration: Calibration | None = None


Judge = Callable[[Sequence[Row]], Judgement]
"""Judges one row for each document, in order."""


def judge_of(task: Task, documents: Documents) -> Judge:
    """The judge of the rows of these documents; what does not hang on rows is made once."""
    match task:
        case ClassifySettings():
            return lambda rows: _classes(task, documents.truths, rows)
        case ExtractSettings():
            return lambda rows: _fields(task, documents, rows)
        case SummarizeSettings():
            known = [truth.summaries for truth in documents.truths]
            texts = [work.parsed.text for work in documents.works]
            marks = [
                (rouge(lead(text, task), references), rouge(oracle(text, task, references), references))
                for text, references in zip(texts, known, strict=True)
            ]
            return lambda rows: _summaries(rows, known, marks)
    raise ValueError(f"nothing is measured of {type(task).__name__}")


def _classes(task: ClassifySettings, truths: Sequence[Truth], rows: Sequence[Row]) -> Judgement:
    known = [truth.label for truth in truths]
    found = Classes([label.name for label in task.labels], known, [row.get("label") for row in rows])
    best = [(row["scores"][0], label) for row, label in zip(rows, known, strict=True) if row.get("scores")]
    return Judgement(
        figures=measured(found.figures, len(rows)),
        labels=found.labels(),
        confusion=found.confusion(),
        calibration=calibration([one["score"] for one, _ in best], [one["label"] == label for one, label in best]),
    )


def _fields(task: ExtractSettings, documents: Documents, rows: Sequence[Row]) -> Judgement:
    found = Fields({field.name: _of_field(field, documents, rows) for field in task.fields})
    return Judgement(
        figures=measured(found.figures, len(rows)), fields=found.fields(), calibration=calibration(*found.scored())
    )


def _of_field(field: Field, documents: Documents, rows: Sequence[Row]) -> list[Judged | None]:
    finder = _finder(field)
    known = [
        truth.values(field.name, work.parsed.text)
        for truth, work in zip(documents.truths, documents.works, strict=True)
    ]
    return [
        None if values is None else judged(values, *_answer(row, field.name), finder)
        for values, row in zip(known, rows, strict=True)
    ]


def _answer(row: Row, name: str) -> tuple[list[str], float | None]:
    """The forms of the value of a field with the best score, as it stands in the document and as it was read."""
    given = [one for one in row.get("fields") or () if one["name"] == name and one["value"] is not None]
    if not given:
        return [], None
    best = max(given, key=lambda one: one["score"] or 0.0)
    return [best[key] for key in ("verbatim", "value") if best[key]], best["score"]


def _finder(field: Field) -> Finder | None:
    """Return the finder that reads a known value as one of the field's type; None for a type whose values are texts."""
    return None if field.type == "text" else VALUES.get(field.type)


def _summaries(
    rows: Sequence[Row], known: Sequence[tuple[str, ...]], marks: Sequence[tuple[Rouge, Rouge]]
) -> Judgement:
    compared = [
        Compared(rouge(row.get("summary") or "", references), first, best)
        for row, references, (first, best) in zip(rows, known, marks, strict=True)
    ]
    return Judgement(figures=measured(Summaries(compared).figures, len(rows)))
