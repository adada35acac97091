"""Which answers for a field are accepted without a look, by what its learned head found in unseen documents.

The promise is about the values of a field: of those that are accepted, no more than the stated share is wrong. For
null there is the same promise where the examples bear it; where they do not, each null is for review: a field that
every example had should not be missing unseen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pipeline.heads.fields import FieldsHead, Least
from pipeline.heads.file import HeadFile
from pipeline.heads.findings import (
    Finding,
    by_field,
    findings_of,
    promise_nulls,
    promise_values,
    sureness,
    values_of,
)
from pipeline.heads.risk import NoPromiseError, Promise
from pipeline.tasks.base import TaskRefusedError
from pipeline.tasks.embedding.accepted import LEARN, Accept, why_not
from pipeline.tasks.embedding.learned_fields import Asked, least_of
from pipeline.tasks.embedding.scene import Found

_OWN: Final = "task.fields.accept"


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
        return f"{told}; null is for review: {self._unborne()}"

    def _unborne(self) -> str:
        """Why nothing is promised of nulls."""
        error = self.unborne
        if error is None or not error.examples:
            return "none was unseen"
        if error.examples < error.needed:
            return f"{error.examples:,} unseen do not bear the promise, which needs {error.needed:,} at least"
        return f"of {error.examples:,} unseen too many were wrong"

    def review(self, found: Sequence[Found], given: Sequence[Found]) -> str | None:
        """Why a person should look at the answer for the field; None if it is accepted. `given`: those of the values
        that were found that are the answer; none: it is null."""
        if given:
            return self._of_value(min(one.score for one in given))
        return self._of_null(max((one.score for one in found), default=None))

    def _of_value(self, score: float) -> str | None:
        made = self.values
        if score >= made.score:
            return None
        return f"{self.name} scored {score:.3f}; at most {made.risk:.2%} are wrong from {made.score:.3f} on"

    def _of_null(self, nearest: float | None) -> str | None:
        made = self.nulls
        if made is None:
            return f"{self.name} has no value, of which nothing is promised"
        if sureness(nearest) >= made.score:
            return None
        bound = f"at most {made.risk:.2%} of such are wrong up to {1 - made.score:.3f}"
        return f"{self.name} has no value, and the nearest scored {nearest:.3f}; {bound}"


def promises_of_fields(
    head: HeadFile, known: FieldsHead, asked: Sequence[Asked], own: Sequence[Accept | None], every: Accept | None
) -> Mapping[str, PromisedField]:
    """The promises of a task: for each field with a rule of its `own`, or by the rule for `every` other field.
    TaskRefusedError, which names all fields of which the head's examples do not bear it."""
    if not every and not any(own):
        return {}
    try:
        found = by_field(findings_of(head))
    except (KeyError, ValueError) as error:
        what = "it does not keep what it found in documents that it had not seen"
        raise TaskRefusedError(f"its head promises nothing: {what}; {LEARN}") from error
    numbers = {field.name: number for number, field in enumerate(known.fields)}
    out, wrong = dict[str, PromisedField](), list[str]()
    for one, accept, least in zip(asked, own, least_of(known, asked), strict=True):
        rule, whose = accept or every, _OWN if accept else "task.accept"
        if rule is None:
            continue
        its = found.get(numbers[one.sought.name], [])
        try:
            out[one.sought.name] = _promised(one.sought.name, its, rule.risk, least)
        except NoPromiseError as error:
            other = partial(promise_values, its, least=least)
            told = why_not(error, values_of(its, least), other, "values in unseen examples")
            wrong.append(f"{whose} of {one.sought.name}: {told}")
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


def _promised(name: str, found: Sequence[Finding], risk: float, least: Least) -> PromisedField:
    values = promise_values(found, risk, least)
    try:
        return PromisedField(name, values, promise_nulls(found, risk, least), None)
    except NoPromiseError as error:
        return PromisedField(name, values, None, error)
