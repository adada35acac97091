"""A promise about answers that are accepted: with a confidence of 95%, no more than a stated share of them is wrong.

It rests on examples that a head had not seen: how it scored its answer to each, and whether that was right. Some
scores, which are fixed before anything is looked at, are tried as the least one of an accepted answer. How many of the
examples above such a score are wrong is binomial; the score holds if so few would be wrong in at most 5 of 100 draws of
examples, shared among all scores that are tried (Bonferroni), where the true share is as stated or more (Clopper and
Pearson 1934). The lowest score that holds is taken: it is too low in at most 5 of 100 draws, whatever the scores are
worth (Geifman and El-Yaniv 2017, "Selective classification"; Angelopoulos et al. 2021, "Learn then test"). All sums are
of 40 decimal digits, for the C library has other last bits on other processors.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.heads import HeadFile
from pipeline.tasks.base import TaskRefusedError
from pipeline.tasks.features import AGAIN
from pipeline.tasks.settings import FROM_MODEL, Key, Settings, SettingsError

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


_OFFERED = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3)
_RISK = "the share of accepted answers that may be wrong, above 0 and at most 0.5; it holds with a confidence of 95%"


@dataclass(frozen=True)
class Accept(Settings):
    """Which answers are accepted without a look."""

    risk: Annotated[float, Key(_RISK, least=0, most=1)]

    def check(self) -> None:
        if not 0 < self.risk <= 0.5:
            raise SettingsError(f"the risk {self.risk:g}", "above 0 and at most 0.5, such as 0.02", at=("risk",))


class Bar(NamedTuple):
    """The least score of an accepted answer, and the risk for which it stands."""

    score: float
    risk: float


class Promised(NamedTuple):
    """A promise, and the labels of whose answers it is made."""

    labels: tuple[str, ...]
    promise: Promise


def promises(
    head: HeadFile, labels: Sequence[str], own: Sequence[Accept | None], every: Accept | None, least: float
) -> list[Promised]:
    """The promises of a task about answers that score at least `least`: one for each label with a rule of its `own`,
    and one of the rule for `every` other label. TaskRefusedError where the head's examples do not bear one."""
    rest = [number for number, accept in enumerate(own) if accept is None]
    groups: list[tuple[tuple[int, ...], Accept]]
    groups = [((number,), accept) for number, accept in enumerate(own) if accept]
    groups += [(tuple(rest), every)] if every and rest else []
    if not groups:
        return []
    try:
        unseen = Unseen.of(head)
    except (KeyError, ValueError) as error:
        raise TaskRefusedError(f"its head promises nothing: {error}; {AGAIN}") from error
    return [
        Promised(tuple(labels[number] for number in numbers), _of_group(unseen, numbers, labels, accept, least))
        for numbers, accept in groups
    ]


def bars_of(promised: Sequence[Promised]) -> Mapping[str, Bar]:
    """The bar of each label of which something is promised."""
    return {label: Bar(one.promise.score, one.promise.risk) for one in promised for label in one.labels}


def in_words(promised: Promised, of: int) -> str:
    """A promise for a person who checks the job, whose task has `of` labels."""
    made = promised.promise
    whose = "answers" if len(promised.labels) == of else f"answers {' or '.join(promised.labels)}"
    return (
        f"{whose} from a score of {made.score:.3f} on, at most {made.risk:.2%} of them wrong: "
        f"{made.accepted:,} of {made.examples:,} unseen examples, {made.wrong:,} wrong"
    )


def without_accept(settings: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a task's settings without the key `accept` where nothing is said of it: such a job has the digest
    that it had before there was the key."""
    labels = settings["labels"]
    return _without(settings) | {"labels": labels if labels == FROM_MODEL else [_without(label) for label in labels]}


def _without(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != "accept" or value is not None}


def _of_group(unseen: Unseen, numbers: Sequence[int], labels: Sequence[str], accept: Accept, least: float) -> Promise:
    whose = "task.accept"
    if len(numbers) < len(labels):
        whose = "task.accept" if len(numbers) > 1 else f"task.labels.accept of {labels[numbers[0]]}"
        if unseen.answers is None:
            raise TaskRefusedError(f"{whose}: its head does not keep which label it said of which example; {AGAIN}")
        unseen = unseen.of_answers(np.isin(unseen.answers, np.array(numbers, np.int32)))
    try:
        return promise(unseen, accept.risk, least)
    except NoPromiseError as error:
        raise TaskRefusedError(f"{whose}: {why_not(error, unseen, partial(promise, unseen, least=least))}") from error


def why_not(error: NoPromiseError, unseen: Unseen, other: Callable[..., Promise], of: str = "examples") -> str:
    """Tell in words what was found, what a promise needs, and what can be done; `other` promises another `risk`."""
    found = f"a risk of {error.risk:g} cannot be promised by {error.examples:,} {of}"
    offered = next((risk for risk in _OFFERED if risk > error.risk and _can(other, risk)), None)
    instead = f", or promise {offered:g}, which they bear" if offered else ""
    if error.examples < error.needed:
        return f"{found}; it needs {error.needed:,} at least, all of them right: learn from more{instead}"
    wrong = int((~unseen.right).sum())
    return f"{found}, of which {wrong:,} were wrong, too many at high scores: learn from more of them{instead}"


def _can(other: Callable[..., Promise], risk: float) -> bool:
    try:
        other(risk=risk)
    except NoPromiseError:
        return False
    return True
