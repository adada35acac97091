"""A learned prior: how readily a model that writes answers each label whatever it reads, and how sure it may be.

A language model prefers some names to others before it reads anything. Batch calibration (Zhou et al. 2024) divides
the probability of each label by its mean over a batch of documents; here over documents that were learned from, so that
no row depends on what else comes in a night. Logits are then divided by a temperature (Guo et al. 2017).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.heads.file import HeadFile

KIND: Final = "prior"
LEAST: Final = 1e-9
"""The least share of a label that is told apart from none."""
_DIGITS: Final = Context(prec=17)

Shares = NDArray[np.float32]


@dataclass(frozen=True)
class Prior:
    """The labels that a model was asked for, and the mean share that it gave to each, float32 [labels], of sum 1."""

    labels: tuple[str, ...]
    shares: Shares
    temperature: float = 1.0

    def logits(self, shares: Sequence[float]) -> list[float]:
        """The logits of a document's labels and of "none of them", the last, from the shares that the model gave to
        each. A share that is as the label's mean is one label's part of the whole; that of no label stays as it is."""
        size = len(self.labels)
        weighed = [share / max(size * usual, LEAST) for share, usual in zip(shares, self.shares.tolist(), strict=False)]
        return [_ln(max(weight, LEAST)) for weight in [*weighed, *shares[size:]]]

    def scores(self, shares: Sequence[float]) -> list[float]:
        """The probabilities of the labels, and of none of them."""
        row = np.array([self.logits(shares)], np.float32)
        return [float(score) for score in engine.softmax(row, 1.0 / self.temperature)[0]]

    def to_file(self, facts: dict[str, Any]) -> HeadFile:
        """The file of this head, with further facts of it."""
        own = {"kind": KIND, "labels": list(self.labels), "temperature": self.temperature}
        return HeadFile({**facts, **own}, {"shares": self.shares})

    @classmethod
    def from_file(cls, head: HeadFile) -> Self:
        """The inverse of `to_file`. ValueError, KeyError and TypeError for a file whose parts do not go together."""
        facts, shares = head.facts, head.arrays["shares"]
        if facts["kind"] != KIND:
            raise ValueError(f"it is a head for the task {facts['kind']!r}")
        labels = tuple(map(str, facts["labels"]))
        if shares.shape != (len(labels),) or not (shares >= 0).all():
            raise ValueError(f"the array shares has the shape {shares.shape}, expected {(len(labels),)}, none below 0")
        if not facts["temperature"] > 0:
            raise ValueError(f"the temperature is {facts['temperature']}")
        return cls(labels, shares, facts["temperature"])


def _ln(number: float) -> float:
    """The natural logarithm, rounded correctly: that of the C library has other last bits on other processors."""
    return float(_DIGITS.ln(Decimal(number)))
