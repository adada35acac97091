"""Whose turn it is: the order in which waiting jobs run, and how those with a window share the time that is left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.config import JobConfig

_HOUR = timedelta(hours=1)
_SHORTEST = timedelta(minutes=1)  # loading a model for less is no use


@dataclass(frozen=True)
class Turn:
    """A job that waits to run since `since`, for what was due at `due`. `round` counts how often its share was over in
    this window; `until`: when its window closes, None for a job without one."""

    job: str
    config: JobConfig
    due: datetime
    since: datetime
    round: int = 0
    until: datetime | None = None


def in_order(turns: Iterable[Turn], now: datetime) -> list[Turn]:
    """The order in which jobs run: by priority, to which each hour of waiting adds one, then by how long they wait. A
    job whose share was over lets those go first that waited at that time."""
    left = sorted(turns, key=lambda each: (-each.config.priority - (now - each.since) // _HOUR, each.since, each.job))
    ordered: list[Turn] = []
    while left:
        first = next(each for each in left if not any(_goes_before(other, each) for other in left))
        left.remove(first)
        ordered.append(first)
    return ordered


def _goes_before(other: Turn, turn: Turn) -> bool:
    return other.round < turn.round and other.since <= turn.since


def share_of(turn: Turn, waiting: Iterable[Turn], now: datetime) -> datetime | None:
    """When the share of a job ends that begins now; None if nobody waits for what is left of its window.

    What is left is shared with those that wait in the same round and whose windows are open. A job whose share is over
    comes again in the next round, so that what others leave is used.
    """
    others = [each for each in waiting if each.job != turn.job and each.round <= turn.round]
    shares = [each.config.window.share for each in others if each.config.window and each.until and each.until > now]
    if turn.until is None or turn.config.window is None or not shares:
        return None
    own = turn.config.window.share
    return now + max((turn.until - now) * own / (own + sum(shares)), _SHORTEST)
