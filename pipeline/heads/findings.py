"""Here stands what a learned head of fields found in documents that it had not seen, which its file keeps: promises
rest on it.

An answer for a field is a value, or null where no value scores enough. Of a field that may have
several, the answer is all of them: it is right if each is, and as sure as the least sure of them. Null is right if the
document lacks the field, and the surer the less its best candidate scores. Promises are made of values and of nulls
apart: among both together many of one kind could carry many wrong ones of the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.heads.fields import Least
from pipeline.heads.file import HeadFile
from pipeline.heads.risk import Promise, Unseen, promise

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
