"""Which answers of a learned head are accepted without a look: those of which no more than a stated share is wrong."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from pipeline.heads.file import HeadFile
from pipeline.heads.risk import NoPromiseError, Promise, Unseen, promise
from pipeline.tasks.base import TaskRefusedError
from pipeline.tasks.settings import FROM_MODEL, Key, Settings, SettingsError

LEARN = "learn it again with `cloister learn`"
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
        raise TaskRefusedError(f"its head promises nothing: {error}; {LEARN}") from error
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
            raise TaskRefusedError(f"{whose}: its head does not keep which label it said of which example; {LEARN}")
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
