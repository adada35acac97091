"""A promise about answers that are accepted: with a confidence of 95%, no more than a stated share of them is wrong.

It rests on examples that a head had not seen: how it scored its answer to each, and whether that was right. Some
scores, which are fixed before anything is looked at, are tried as the least one of an accepted answer. How many of the
examples above such a score are wrong is binomial; the score holds if so few would be wrong in at most 5 of 100 draws of
examples, shared among all scores that are tried (Bonferroni), where the true share is as stated or more (Clopper and
Pearson 1934). The lowest score that holds is taken: it is too low in at most 5 of 100 draws, whatever the scores are
worth (Geifman and El-Yaniv 2017, "Selective classification"; Angelopoulos et al. 2021, "Learn then test").

All sums are of 40 decimal digits, for the C library has other last bits on other processors.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipeline.heads.file import HeadFile

DOUBT: Final = Decimal("0.05")
_STEPS: Final = (Fraction(1), Fraction(3, 2))  # of an octave: with twice as many a promise needs a tenth more examples
_DIGITS: Final = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)


@dataclass(frozen=True)
class Unseen:
    """Answers of a head to examples that it had not seen: their scores, float64 [n], rounded as those of rows are,
    whether each was right, bool [n], and which label it was, int32 [n]; None in files of old versions."""

    scores: NDArray[np.float64]
    right: NDArray[np.bool_]
    answers: NDArray[np.int32] | None

    @classmethod
    def of(cls, head: HeadFile) -> "Unseen":
        """Read the answers that a head's file keeps. KeyError and ValueError for a file without them."""
        scores, right, answers = (head.arrays.get(name) for name in ("unseen_scores", "unseen_right", "unseen_answers"))
        if scores is None or right is None:
            raise KeyError("unseen_scores")
        if scores.ndim != 1 or right.shape != scores.shape or (answers is not None and answers.shape != scores.shape):
            raise ValueError("what it said of examples that it had not seen is not of one length")
        return cls(np.array([round(score, 6) for score in scores.tolist()]), right.astype(bool), answers)

    def of_answers(self, wanted: NDArray[np.bool_]) -> "Unseen":
        """Keep the answers that are wanted: `wanted` is bool [n]."""
        answers = None if self.answers is None else self.answers[wanted]
        return Unseen(self.scores[wanted], self.right[wanted], answers)


@dataclass(frozen=True)
class Promise:
    """The least score of an answer that is accepted, the stated risk, and how many of how many unseen examples would
    have been accepted, and were wrong."""

    score: float
    risk: float
    accepted: int
    examples: int
    wrong: int


class NoPromiseError(Exception):
    """The examples do not bear the promise. `examples`: how many there are; `needed`: with fewer there can be none."""

    def __init__(self, risk: float, examples: int, needed: int) -> None:
        super().__init__(f"{examples} examples do not bear the risk {risk:g}")
        self.risk, self.examples, self.needed = risk, examples, needed


def promise(unseen: Unseen, risk: float, least: float, given: float = 0.0) -> Promise:
    """The lowest score, at least `least`, from which on the promise holds. NoPromiseError. `given`: from which score on
    answers are given, if the same examples taught it. It must not choose the scores that are tried: those below it are
    left out, and it is tried itself only if no other is left."""
    tried = list(scores_tried(risk, least))
    doubt, best = doubt_of(tried), None
    for score in [one for one in tried if one >= given] or [given]:
        over = unseen.scores >= score
        accepted = int(over.sum())
        wrong = accepted - int(unseen.right[over].sum())
        if wrong <= allowed(accepted, risk, doubt):
            best = Promise(score, risk, accepted, unseen.scores.size, wrong)
    if best is None:
        raise NoPromiseError(risk, unseen.scores.size, needed(risk, doubt))
    return best


def doubt_of(tried: Sequence[float]) -> Decimal:
    """The share of the doubt that each of so many scores has."""
    return _DIGITS.divide(DOUBT, Decimal(len(tried)))


def scores_tried(risk: float, least: float) -> Iterator[float]:
    """The scores that are tried, from the highest to `least`: 1 minus the risk, 1 minus 1.5, 2, 3, 4, 6... times the
    risk. A head whose scores are true has accepted more than it may long before the last of them."""
    share, octave = Fraction(str(risk)), 1
    while True:
        for step in _STEPS:
            score = 1 - share * step * octave
            if score <= Fraction(str(least)):
                yield float(least)
                return
            yield float(score)
        octave *= 2


def allowed(count: int, risk: float, doubt: Decimal) -> int:
    """The most answers of `count` that may be wrong, so that a share of the risk or more is refuted: as few would come
    with a probability of at most `doubt`. -1 where not even none will do."""
    share = Decimal(str(risk))
    rest = _DIGITS.subtract(Decimal(1), share)
    odds, term = _DIGITS.divide(share, rest), _power(rest, count)
    total = term
    wrong = -1
    while total <= doubt and wrong < count:
        wrong += 1
        times = _DIGITS.divide(_DIGITS.multiply(odds, Decimal(count - wrong)), Decimal(wrong + 1))
        term = _DIGITS.multiply(term, times)
        total = _DIGITS.add(total, term)
    return wrong


@cache
def needed(risk: float, doubt: Decimal) -> int:
    """How many accepted answers must all be right, at least."""
    low, high = 0, 1
    while allowed(high, risk, doubt) < 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(middle, risk, doubt) < 0 else (low, middle)
    return high


def _power(base: Decimal, exponent: int) -> Decimal:
    """base ** exponent by squares: each product is rounded correctly, which `**` does not promise."""
    result = Decimal(1)
    while exponent:
        if exponent & 1:
            result = _DIGITS.multiply(result, base)
        base, exponent = _DIGITS.multiply(base, base), exponent >> 1
    return result
