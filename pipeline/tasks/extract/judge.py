"""How good extracted values are: exact, normalised, and by the words that they have in common with the known ones.

Source: Rajpurkar, Zhang, Lopyrev and Liang, SQuAD: 100,000+ questions for machine comprehension of text (2016), section
6.1, and the official evaluation script of SQuAD 2.0 for absent answers: text is compared in lower case, without
punctuation and the articles a, an and the; F1 is over the bag of words; of several known values the best one counts;
where nothing is to be found, no answer has 1 and any answer 0.
"""

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.tasks.extract.fields import Field
from pipeline.tasks.judging import FieldScore, Floats, Judgement, calibration, measured, weighted_mean
from pipeline.text.values import VALUES, Finder, read_habits

Known = Mapping[str, Sequence[str]]
"""The right values of each field of which something is known; none where the document does not have it."""
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)


def normalised(text: str) -> str:
    """The text as SQuAD compares it."""
    kept = "".join(character for character in text.lower() if character not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", kept).split())


def exact_match(answer: str, known: str) -> bool:
    """Whether the two are the same text, as SQuAD compares it."""
    return normalised(answer) == normalised(known)


def token_f1(answer: str, known: str) -> float:
    """F1 of the words of an answer against those of the known value."""
    said, true = normalised(answer).split(), normalised(known).split()
    if not said or not true:
        return float(said == true)
    common = sum((Counter(said) & Counter(true)).values())
    return 2 * common / (len(said) + len(true))


@dataclass(frozen=True)
class Judged:
    """One field in one document: whether it was right, exactly, as SQuAD normalises or as a value of its type, and by
    its words. `present`: whether the document has it; `answered`: whether it got a value; `score`: of that value."""

    exact: float
    normalised: float
    token_f1: float
    present: bool
    answered: bool
    score: float | None = None


def judged(known: Sequence[str], answers: Sequence[str], score: float | None, finder: Finder | None) -> Judged:
    """The judgement of an answer, given in one or several forms (as it stands in the document, and as a value), against
    the known values, any of which is right. `finder` reads a known value as one of the field's type."""
    if not known or not answers:
        right = float(not known and not answers)
        return Judged(right, right, right, bool(known), bool(answers), score)
    pairs = [(answer, one) for answer in answers for one in known]
    exact = any(answer.strip() == one.strip() for answer, one in pairs)
    same = exact or any(exact_match(*pair) for pair in pairs) or _same_value(known, answers, finder)
    overlap = max(token_f1(*pair) for pair in pairs)
    return Judged(float(exact), float(same), max(overlap, float(same)), True, True, score)


def _same_value(known: Sequence[str], answers: Sequence[str], finder: Finder | None) -> bool:
    """Whether a known value, read as the field's type, is one of the answers, such as 7 May 2014 and 2014-05-07."""
    if finder is None:
        return False
    read = (list(finder(text, read_habits(text))) for text in known)
    return any(len(found) == 1 and found[0].value in answers for found in read)


class Fields:
    """The judgements of fields: name -> one for each document, None where its value is not known."""

    def __init__(self, judgements: Mapping[str, Sequence[Judged | None]]) -> None:
        self._judgements = {name: its for name, its in judgements.items() if any(its)}

    def figures(self, weights: Floats) -> Mapping[str, Floats]:
        """exact, normalised, token_f1: the mean over the fields of the mean over their documents; absent_empty: the
        share of absent fields that got no value. Weights float64 [draws, documents]."""
        found = dict[str, Floats]()
        for name in ("exact", "normalised", "token_f1"):
            fields = [self._mean(weights, its, name) for its in self._judgements.values()]
            with np.errstate(invalid="ignore"):
                found[name] = _mean_of_known(np.stack(fields))
        absent = np.array([[one is not None and not one.present for one in its] for its in self._judgements.values()])
        empty = np.array([[one is not None and not one.answered for one in its] for its in self._judgements.values()])
        with np.errstate(invalid="ignore"):
            found["absent_empty"] = (weights @ (absent & empty).sum(0)) / (weights @ absent.sum(0))
        return found

    def _mean(self, weights: Floats, its: Sequence[Judged | None], name: str) -> Floats:
        values = np.array([getattr(one, name) if one else 0.0 for one in its], np.float64)
        return weighted_mean(weights, values, _known(its))

    def fields(self) -> tuple[FieldScore, ...]:
        """Each field, in the order of the job."""
        return tuple(_score(name, [one for one in its if one]) for name, its in self._judgements.items())

    def scored(self) -> tuple[list[float], list[bool]]:
        """The scores of all values that have one, and whether the value is right by the normalised text."""
        pairs = [(one.score, one.normalised == 1.0) for its in self._judgements.values() for one in its
                 if one and one.answered and one.score is not None]  # fmt: skip
        return [score for score, _ in pairs], [right for _, right in pairs]


def _known(its: Sequence[Judged | None]) -> NDArray[np.bool_]:
    return np.array([one is not None for one in its])


def _mean_of_known(values: Floats) -> Floats:
    """float64 [draws]: the mean over the fields [fields, draws] that are no NaN."""
    known = np.isfinite(values)
    return np.where(known, values, 0.0).sum(0) / known.sum(0)  # type: ignore[no-any-return]


def _score(name: str, its: Sequence[Judged]) -> FieldScore:
    present = [one.token_f1 for one in its if one.present]
    return FieldScore(
        name=name,
        documents=len(its),
        present=len(present),
        exact=_mean([one.exact for one in its]),
        normalised=_mean([one.normalised for one in its]),
        token_f1=_mean([one.token_f1 for one in its]),
        present_f1=_mean(present) if present else None,
        absent_answered=sum(one.answered and not one.present for one in its),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def judge(fields: Sequence[Field], known: Sequence[Known], rows: Sequence[Mapping[str, Any]]) -> Judgement:
    """The judgement of the rows of documents with these known values."""
    found = Fields({field.name: _of_field(field, known, rows) for field in fields})
    return Judgement(
        figures=measured(found.figures, len(rows)), fields=found.fields(), calibration=calibration(*found.scored())
    )


def _of_field(field: Field, known: Sequence[Known], rows: Sequence[Mapping[str, Any]]) -> list[Judged | None]:
    finder = None if field.type == "text" else VALUES.get(field.type)
    return [
        None if (values := its.get(field.name)) is None else judged(values, *_answer(row, field.name), finder)
        for its, row in zip(known, rows, strict=True)
    ]


def _answer(row: Mapping[str, Any], name: str) -> tuple[list[str], float | None]:
    """The forms of the value of a field with the best score, as it stands in the document and as it was read."""
    given = [one for one in row.get("fields") or () if one["name"] == name and one["value"] is not None]
    if not given:
        return [], None
    best = max(given, key=lambda one: one["score"] or 0.0)
    return [best[key] for key in ("verbatim", "value") if best[key]], best["score"]
