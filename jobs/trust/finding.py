"""The contract of all that is looked at: a finding says how something stands, what shows it, and what mends it.

Checks of the doctor stand at a Level, measures of law at a Standing. Figures of a check are held against those of a
baseline, each by a rule that says what changed, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from typing import Generic, TypeGuard, TypeVar

Figure = str | int | float | bool | None | Sequence[str] | Mapping[str, str]
"""A value of JSON that a baseline keeps."""
Compared = Callable[[Figure, Figure], str | None]
"""What to say of a figure of before and that of now; None where nothing has changed that matters."""
_LISTED = 8


class Level(StrEnum):
    """How good a check found something. A warning asks for a look, and a problem for a person."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Standing(Enum):
    """How far a measure holds on this site, and what that means."""

    IN_FORCE = "in force", "it holds here, as the evidence shows"
    AVAILABLE = "available", "people use it here when they need it"
    IN_PART = "in part", "it holds for a part only, or was done too long ago"
    NOT_IN_FORCE = "not in force", "it does not hold here"
    meaning: str

    def __new__(cls, words: str, meaning: str) -> Standing:
        """The words are the value; the meaning stands beside it."""
        made = object.__new__(cls)
        made._value_ = words
        made.meaning = meaning
        return made


S = TypeVar("S", Level, Standing)


@dataclass(frozen=True)
class Finding(Generic[S]):
    """How something stands, and what shows it, in words; the remedy in plain words unless it is in order. `figures` are
    kept in a baseline. `stops`: until that is mended no run begins, or none is as it was asked for."""

    state: S
    evidence: str
    remedy: str | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    stops: bool = False


Found = Finding[Level]
Evidence = Finding[Standing]


def ok(sentence: str, **figures: Figure) -> Found:
    """Make the finding that something is in order."""
    return Finding(Level.OK, sentence, None, figures)


def warning(sentence: str, remedy: str, **figures: Figure) -> Found:
    """Make the finding of something that a person should look at some day."""
    return Finding(Level.WARNING, sentence, remedy, figures)


def problem(sentence: str, remedy: str, **figures: Figure) -> Found:
    """Make the finding of something that needs a person now."""
    return Finding(Level.PROBLEM, sentence, remedy, figures)


def stop(sentence: str, remedy: str, **figures: Figure) -> Found:
    """Make the finding of a problem because of which no run begins."""
    return Finding(Level.PROBLEM, sentence, remedy, figures, stops=True)


def found_or(found: Sequence[Found], in_order: str, **figures: Figure) -> Iterator[Found]:
    """Tell what was found, or the sentence that all is in order; the first finding has the figures."""
    first, *others = found or [ok(in_order)]
    yield replace(first, figures=figures)
    yield from others


def shown_bytes(size: float) -> str:
    """Bytes for people: `12 MiB`, `3.4 GiB`."""
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.0f} MiB"


def same(before: Figure, now: Figure) -> str | None:
    """Any change matters. Of several values those are named that came, went or changed."""
    if before == now:
        return None
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        return _listed([_changed(name, before.get(name), now.get(name)) for name in names])
    if _is_list(before) and _is_list(now):
        gone, new = [each for each in before if each not in now], [each for each in now if each not in before]
        return _listed([*(f"{each} is gone" for each in gone), *(f"{each} is new" for each in new)])
    return f"was {_shown(before)}, is {_shown(now)}"


def less_bytes(share: float) -> Compared:
    """Make the rule that so many bytes less than before matter, as a share of what there was."""

    def compare(before: Figure, now: Figure) -> str | None:
        if not (_is_number(before) and _is_number(now)) or now >= before * (1 - share):
            return None
        return f"were {shown_bytes(before)}, are {shown_bytes(now)}"

    return compare


def fewer(before: Figure, now: Figure) -> str | None:
    """Less than before matters: what is counted can only grow, or should not shrink."""
    if not (_is_number(before) and _is_number(now)) or now >= before:
        return None
    return f"were {before:,}, are {now:,}"


def slower(factor: float, least: float) -> Compared:
    """Make the rule that milliseconds matter which are `factor` times those of before, and `least` more."""

    def compare(before: Figure, now: Figure) -> str | None:
        if not (_is_number(before) and _is_number(now)) or now < before * factor or now < before + least:
            return None
        times = f"{now / before:,.1f} times as long" if before else "longer"
        return f"took {before:.2f} ms, and take {now:.2f} ms now: {times}"

    return compare


def _changed(name: str, before: str | None, now: str | None) -> str:
    if now is None:
        return f"{name} {before} is gone"
    return f"{name} {now} is new" if before is None else f"{name} was {before}, is {now}"


def _listed(changes: Sequence[str]) -> str | None:
    more = f"; and {len(changes) - _LISTED:,} more" if len(changes) > _LISTED else ""
    return "; ".join(changes[:_LISTED]) + more if changes else None


def _shown(value: Figure) -> str:
    if value is None:
        return "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _is_number(value: Figure) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: Figure) -> TypeGuard[Sequence[str]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
