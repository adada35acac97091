"""Promises about the answers for a field, by what its learned head found in documents that it had not seen.

An answer for a field is a value, or null where no value scores enough. Of a field that may have several, the answer is
all of them: it is right if each is, and as sure as the least sure of them. Null is right if the document lacks the
field, and the surer the less its best candidate scores. Promises are made of values and of nulls apart: among both
together many of one kind could carry many wrong ones of the other. Where the examples bear no promise of nulls, each
null is for review: a field that every example had should not be missing unseen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.heads import HeadFile
from pipeline.tasks.base import TaskRefusedError
from pipeline.tasks.extract.candidates import Candidate
from pipeline.tasks.extract.fields import Field, Found
from pipeline.tasks.extract.head import FieldsHead, Least, least_of
from pipeline.tasks.features import AGAIN
from pipeline.tasks.risk import Accept, NoPromiseError, Promise, Unseen, promise, why_not

_OWN: Final = "task.fields.accept"
FLOOR: Final = 0.05  # further values of a field are kept down to this score


class Scored(NamedTuple):
    """A value that was found: its score, rounded as those of rows are, and whether it is right."""

    score: float
    right: bool


@dataclass(frozen=True)
class Finding:
    """The distinct values that were found for a field in a document, the surest first: it whatever it scores, others
    from `FLOOR` on; none where the document has no candidate. `is_there`: the document has the field."""

    field: int
    values: tuple[Scored, ...]
    is_there: bool

    def given(self, least: Least) -> Sequence[Scored]:
        """The values that are given; none: the answer is null."""
        if not self.values or self.values[0].score < least.best:
            return ()
        further = takewhile(lambda one: one.score >= least.further, self.values[1:] if least.many else ())
        return (self.values[0], *further)


def arrays_of(findings: Sequence[Finding]) -> dict[str, NDArray[Any]]:
    """The arrays of a head's file that keep them."""
    every = [value for one in findings for value in one.values]
    return {
        "finding_fields": np.array([one.field for one in findings], np.int32),
        "finding_there": np.array([one.is_there for one in findings], np.uint8),
        "finding_values": np.array([len(one.values) for one in findings], np.int32),
        "finding_scores": np.array([value.score for value in every], np.float32),
        "finding_right": np.array([value.right for value in every], np.uint8),
    }


def findings_of(head: HeadFile) -> list[Finding]:
    """The inverse of `arrays_of`. KeyError and ValueError for a file without them."""
    names = ("fields", "there", "values", "scores", "right")
    fields, there, counts, scores, right = (head.arrays[f"finding_{name}"] for name in names)
    if not (fields.shape == there.shape == counts.shape == (fields.size,)) or (counts < 0).any():
        raise ValueError("what it found in documents that it had not seen is not of one length")
    if not (scores.shape == right.shape == (int(counts.sum()),)):
        raise ValueError("the values that it found in documents that it had not seen are not of one length")
    pairs = zip(scores.tolist(), right.tolist(), strict=True)
    values = iter([Scored(round(score, 6), bool(its)) for score, its in pairs])
    return [
        Finding(field, tuple(next(values) for _ in range(count)), bool(its))
        for field, its, count in zip(fields.tolist(), there.tolist(), counts.tolist(), strict=True)
    ]


def values_of(findings: Sequence[Finding], least: Least) -> Unseen:
    """The answers for a field that are values, each as sure as its least sure one."""
    given = [its for one in findings if (its := one.given(least))]
    return _unseen([its[-1].score for its in given], [all(value.right for value in its) for its in given])


def nulls_of(findings: Sequence[Finding], least: Least) -> Unseen:
    """The answers for a field that are null, with how sure they are."""
    its = [one for one in findings if not one.given(least)]
    return _unseen([sureness(one.values[0].score if one.values else None) for one in its],
                   [not one.is_there for one in its])  # fmt: skip


def sureness(nearest: float | None) -> float:
    """How sure null is: 1 minus the score of the best candidate, which is None where there is none."""
    return 1.0 if nearest is None else round(1 - nearest, 6)


def promise_values(findings: Sequence[Finding], risk: float, least: Least) -> Promise:
    """The promise about the values of a field. NoPromiseError."""
    return promise(values_of(findings, least), risk, least.further, least.best)


def promise_nulls(findings: Sequence[Finding], risk: float, least: Least) -> Promise:
    """The promise about nulls of a field, by their sureness. NoPromiseError."""
    return promise(nulls_of(findings, least), risk, sureness(least.further), sureness(least.best))


def by_field(findings: Sequence[Finding]) -> Mapping[int, list[Finding]]:
    """The findings of each field."""
    out: dict[int, list[Finding]] = {}
    for one in findings:
        out.setdefault(one.field, []).append(one)
    return out


def _unseen(scores: Sequence[float], right: Sequence[bool]) -> Unseen:
    return Unseen(np.array(scores, np.float64), np.array(right, np.bool_), None)


RIGHT: Final = 0.5  # token F1 of a value with what it should be, from which on it is right
CALIBRATION: Final = 1.0  # the penalty of the regression that gives probabilities
INVENTED: Final = 1.5  # how much a value counts that the document does not have, beside a right one that is not given


@dataclass(frozen=True)
class HeldOut:
    """The finding of a head for a field in a document that it had not seen: a candidate, its logit, and the agreement
    of its text with the answers, 0 to 1. `is_there`: the document has the field; `score`: the probability; `values`:
    the candidate, and further ones that a field of several values would have."""

    document: int
    field: int
    candidate: Candidate | None
    logit: float
    agreement: float
    is_there: bool
    score: float = 0.0
    values: tuple[Scored, ...] = ()

    @property
    def right(self) -> bool:
        """Whether the value is right."""
        return self.agreement >= RIGHT

    @property
    def finding(self) -> Finding:
        """The values as the head's file keeps them."""
        return Finding(self.field, self.values, self.is_there)


def calibrated(unseen: Sequence[HeldOut], fields: int) -> tuple[list[float], list[float]]:
    """The level and slope of the log-odds of being right, by field: one slope, for documents may be few."""
    there = [one for one in unseen if one.candidate]
    x = np.zeros((len(there), fields + 1), np.float32)
    for row, one in zip(x, there, strict=True):
        row[0], row[1 + one.field] = one.logit, 2.0
    truth = np.array([one.right for one in there], np.int32)
    if not there or truth.min() == truth.max():
        return [0.0] * fields, [1.0] * fields
    found = engine.fit_logistic(x, truth, 2, CALIBRATION)
    weights = (found.weights[:, 1] - found.weights[:, 0]).tolist()
    bias = float(found.bias[1] - found.bias[0])
    return [bias + 2.0 * level for level in weights[1:]], [max(0.0, weights[0])] * fields


def thresholds_of(unseen: Sequence[HeldOut], fields: int) -> list[float]:
    """The probabilities from which on the value of a field is given: that it is right must be more probable than that
    the document does not have the field, which counts INVENTED times as much.

    Of the documents in which a head that had not seen them was wrong a share did not have the field. If the best
    candidate is right with p, the field is absent with (1 - p) * share. To each field one document more is added with
    the share of all fields, for documents may be few."""
    wrong = [one for one in unseen if not one.right]
    usual = (sum(not one.is_there for one in wrong) + 1) / (len(wrong) + 1)
    out = list[float]()
    for field in range(fields):
        its = [one for one in wrong if one.field == field]
        odds = INVENTED * (sum(not one.is_there for one in its) + usual) / (len(its) + 1)
        out.append(round(odds / (1 + odds), 6))
    return out


@dataclass(frozen=True)
class PromisedField:
    """Holds what is promised of a field: of its values, and of nulls; `unborne`: why there is no promise of nulls."""

    name: str
    values: Promise
    nulls: Promise | None
    unborne: NoPromiseError | None

    def in_words(self) -> str:
        """The promise for a person who checks the job."""
        made, nulls = self.values, self.nulls
        told = (
            f"{self.name} from a score of {made.score:.3f} on, at most {made.risk:.2%} of its values wrong: "
            f"{made.accepted:,} of {made.examples:,} unseen values, {made.wrong:,} wrong"
        )
        if nulls:
            return (
                f"{told}; null where nothing scores over {1 - nulls.score:.3f}, at most {nulls.risk:.2%} wrong: "
                f"{nulls.accepted:,} of {nulls.examples:,} unseen, {nulls.wrong:,} wrong"
            )
        error = self.unborne
        why = f"of {error.examples:,} unseen too many were wrong" if error else ""
        if error is None or not error.examples:
            why = "none was unseen"
        elif error.examples < error.needed:
            why = f"{error.examples:,} unseen do not bear the promise, which needs {error.needed:,} at least"
        return f"{told}; null is for review: {why}"

    def review(self, found: Sequence[Found], given: Sequence[Found]) -> str | None:
        """Why a person should look at the answer for the field; None if it is accepted. `given`: those of the values
        that were found that are the answer; none: it is null."""
        if given:
            score, made = min(one.score for one in given), self.values
            if score >= made.score:
                return None
            return f"{self.name} scored {score:.3f}; at most {made.risk:.2%} are wrong from {made.score:.3f} on"
        nearest, nulls = max((one.score for one in found), default=None), self.nulls
        if nulls is None:
            return f"{self.name} has no value, of which nothing is promised"
        if sureness(nearest) >= nulls.score:
            return None
        bound = f"at most {nulls.risk:.2%} of such are wrong up to {1 - nulls.score:.3f}"
        return f"{self.name} has no value, and the nearest scored {nearest:.3f}; {bound}"


def promises_of_fields(
    head: HeadFile, known: FieldsHead, asked: Sequence[Field], every: Accept | None
) -> Mapping[str, PromisedField]:
    """The promises of a task: for each field with a rule of its own, or by the rule for `every` other field.
    TaskRefusedError, which names all fields of which the head's examples do not bear it."""
    if not every and not any(one.accept for one in asked):
        return {}
    try:
        found = by_field(findings_of(head))
    except (KeyError, ValueError) as error:
        what = "it does not keep what it found in documents that it had not seen"
        raise TaskRefusedError(f"its head promises nothing: {what}; {AGAIN}") from error
    numbers = {field.name: number for number, field in enumerate(known.fields)}
    out, wrong = dict[str, PromisedField](), list[str]()
    for one, least in zip(asked, least_of(known, asked), strict=True):
        rule, whose = one.accept or every, _OWN if one.accept else "task.accept"
        if rule is None:
            continue
        its = found.get(numbers[one.name], [])
        nulls: Promise | None = None
        unborne: NoPromiseError | None = None
        try:
            values = promise_values(its, rule.risk, least)
            try:
                nulls = promise_nulls(its, rule.risk, least)
            except NoPromiseError as error:
                unborne = error
            out[one.name] = PromisedField(one.name, values, nulls, unborne)
        except NoPromiseError as error:
            other = partial(promise_values, its, least=least)
            told = why_not(error, values_of(its, least), other, "values in unseen examples")
            wrong.append(f"{whose} of {one.name}: {told}")
    if wrong:
        raise TaskRefusedError("; ".join(wrong))
    return out


def reasons(
    promised: Mapping[str, PromisedField],
    names: Sequence[str],
    found: Sequence[Sequence[Found]],
    given: Sequence[Sequence[Found]],
) -> Iterator[str]:
    """Why a person should look at a document in which this was found, and is given, for each field."""
    for name, its, answer in zip(names, found, given, strict=True):
        field = promised.get(name)
        reason = field.review(its, answer) if field else None
        if reason:
            yield reason
