"""The starts of one job, from the minute in which they are due until it is decided what became of them.

Each start has exactly one outcome. They are written into the log in the order in which they were due, so that the log
says with one moment up to when all of them are decided: what a service that was killed had not decided, the next one
decides. Pure: knows no clock, no log and no scheduler. DECISIONS.md has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from itertools import groupby, takewhile
from typing import Final, NamedTuple

import pipeline
from jobs.config.cron import CronLine, find_zone, next_start, parse_cron
from jobs.config.job import JobConfig
from jobs.config.when import LateBefore, ScheduleConfig

GRACE: Final = timedelta(seconds=90)
"""A start is on time for so long; and a service that notices one later than that was not there when it was due."""
_MOMENT: Final = timedelta(microseconds=1)
_HOUR = timedelta(hours=1)
_SHORTEST = timedelta(minutes=1)  # loading a model for less is no use


class Outcome(StrEnum):
    """An outcome of a start: a word that the log has for what became of it."""

    RAN = "ran"
    JOINED = "joined"
    MISSED = "missed"
    LATE = "late"
    OVERLAPPED = "overlapped"
    SKIPPED = "skipped"
    REFUSED = "refused"
    CHANGED = "changed"


class Decided(NamedTuple):
    """A record of starts that were due by the rule number `era`."""

    era: int
    record: pipeline.records.StartDecided


@dataclass(eq=False)
class Start:
    """One start that was due by the rule number `era` of its job. `missed`: nothing served then; `begun`: its run began
    and was cut off. `outcome` is None until it is decided."""

    due: datetime
    era: int = 0
    missed: bool = False
    begun: bool = False
    outcome: Outcome | None = None
    reason: str = ""
    run: str | None = None

    def decide(self, outcome: Outcome, reason: str, run: str | None = None) -> None:
        """Say what became of it."""
        self.outcome, self.reason, self.run = outcome, reason, run


@dataclass
class Starts:
    """The starts of a job that are due and of which the log does not know yet what became of them, in order.

    `seen` is the moment up to which all starts were taken in, by the rule number `era`; `busy_until` is when the last
    run of the job ended.
    """

    job: str
    schedule: ScheduleConfig | None
    seen: datetime
    era: int = 0
    busy_until: datetime | None = None
    open: list[Start] = field(default_factory=list)

    @property
    def next(self) -> Start | None:
        """The start whose turn it is; None if none waits."""
        return next((start for start in self.open if start.outcome is None), None)

    def take(self, due: Iterable[tuple[datetime, bool]], begun: datetime | None = None) -> None:
        """Take in starts that are due, each with whether nothing served then, in order; none of them twice. A run that
        was cut off and had `begun` was for those that were due by then: they were not missed, and it goes on."""
        missed: list[Start] = []
        skips = self.schedule is not None and self.schedule.overlap == "skip"
        for moment, was_missed in due:
            if moment <= self.seen:
                continue
            self.seen = moment
            waits = self.next is not None
            is_begun = begun is not None and moment <= begun
            was_missed = was_missed and not is_begun
            start = Start(moment, self.era, was_missed, is_begun)
            self.open.append(start)
            if self.schedule and self.schedule.skips(moment.astimezone(find_zone(self.schedule.timezone)).date()):
                start.decide(Outcome.SKIPPED, "the day is one of skip_dates")
            elif was_missed:
                missed.append(start)
            elif skips and (waits or (self.busy_until is not None and moment < self.busy_until)):
                start.decide(Outcome.OVERLAPPED, "the job was still running, or its start before that still waited")
            elif waits:
                start.decide(Outcome.JOINED, "the start before it was still waiting, and takes the same documents")
        self._make_up(missed)

    def left_out(self, start: Start, now: datetime) -> tuple[Outcome, str] | None:
        """Why this start may not be made now any more; None if it may, or if its run had begun."""
        if start.begun:
            return None
        late = self.schedule.late if self.schedule else "run"
        waited = now - start.due
        if isinstance(late, LateBefore) and self.schedule:
            zone = find_zone(self.schedule.timezone)
            if now >= (end := _first_at(late.time.hour, late.time.minute, start.due, zone)):
                return Outcome.LATE, f"it could not begin before {late.before}, which was at {end:%Y-%m-%d %H:%M} UTC"
        elif late == "skip" and not start.missed and waited > GRACE:
            return Outcome.LATE, f"other work kept it waiting for {waited.total_seconds() / 60:,.0f} minutes"
        return None

    def drop(self, reason: str, now: datetime) -> None:
        """Another rule counts from now on: decide of all that still wait that they are not made."""
        for start in self.open:
            if start.outcome is None:
                start.decide(Outcome.CHANGED, reason)
        self.era, self.seen = self.era + 1, now

    def records(self) -> Iterator[Decided]:
        """What is decided, up to the first start that is not; starts that follow each other with the same outcome and
        reason, and without a run, have one record."""
        decided = takewhile(lambda start: start.outcome is not None, self.open)
        for _, group in groupby(decided, lambda start: (start.outcome, start.reason, start.era, start.run and start)):
            yield self._decided(list(group))

    def forget(self, count: int) -> None:
        """The first so many are in the log."""
        del self.open[:count]

    def forget_until(self, last: datetime) -> None:
        """The log says what became of all starts until `last`."""
        while self.open and self.open[0].outcome and self.open[0].due <= last:
            del self.open[0]

    def _make_up(self, missed: list[Start]) -> None:
        """Decide of starts at which nothing served, as far as the schedule says that not each of them is made."""
        policy = self.schedule.missed if self.schedule else "once"
        if policy == "none":
            for start in missed:
                start.decide(Outcome.MISSED, "nothing served at that time, and the job says missed: none")
        elif policy == "once":
            for start in missed[:-1]:
                start.decide(Outcome.JOINED, "nothing served at that time; the last such start makes up for all")

    def _decided(self, group: list[Start]) -> Decided:
        first, last = group[0], group[-1]
        record = pipeline.records.StartDecided(
            of_job=self.job,
            due=first.due.astimezone(UTC).isoformat(),
            last=last.due.astimezone(UTC).isoformat(),
            count=len(group),
            outcome=str(first.outcome),
            reason=first.reason,
            of_run=first.run,
        )
        return Decided(first.era, record)


def rule_of(config: JobConfig) -> pipeline.proof.Rule:
    """By what a job starts, as the log has it."""
    schedule = config.schedule
    if schedule:
        return pipeline.proof.Rule(schedule.cron, schedule.timezone, None)
    return pipeline.proof.Rule(None, None, config.after)


def starts_between(rule: pipeline.proof.Rule, after: datetime, until: datetime) -> Iterator[datetime]:
    """The starts by a cron line that are later than `after` and not later than `until`, in UTC; none by another rule.

    ValueError where this version or this machine does not know the line or the zone any more.
    """
    if rule.cron is None or rule.timezone is None:
        return
    line, zone = parse_cron(rule.cron), find_zone(rule.timezone)
    start = next_start(line, after, zone)
    while start is not None and start <= until:
        yield start.astimezone(UTC)
        start = next_start(line, start, zone)


def _first_at(hour: int, minute: int, due: datetime, zone: tzinfo) -> datetime:
    everyday = frozenset(range(1, 32))
    line = CronLine(
        frozenset({minute}), frozenset({hour}), everyday, frozenset(range(1, 13)), frozenset(range(7)), False
    )
    found = next_start(line, due - _MOMENT, zone)
    assert found is not None, "every day has each time of day"
    return found.astimezone(UTC)


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
        rounds = [(other.round, other.since) for other in left]
        first = next(each for each in left if not any(n < each.round and since <= each.since for n, since in rounds))
        left.remove(first)
        ordered.append(first)
    return ordered


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
