"""Here stands what heads of fields found in documents that they had not seen, and what it tells of a head that has seen
all.

By the logits of the best candidates, and by which of them were right: how probably such a candidate is right, and from
which probability on it is given as the value of its field.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

import engine
from pipeline.heads.candidates import Candidate
from pipeline.heads.findings import Finding, Scored

RIGHT: Final = 0.5  # token F1 of a value with what it should be, from which on it is right
CALIBRATION: Final = 1.0  # the penalty of the regression that gives probabilities
INVENTED: Final = 1.5  # how much a value counts that the document does not have, beside a right one that is not given


@dataclass(frozen=True)
class Unseen:
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


def calibrated(unseen: Sequence[Unseen], fields: int) -> tuple[list[float], list[float]]:
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


def thresholds_of(unseen: Sequence[Unseen], fields: int) -> list[float]:
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
