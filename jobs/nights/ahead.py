"""What is ahead of a job: the runs that will come, what waits for them, and when it will be done."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pipeline
from jobs.config import JobConfig
from jobs.nights.window import window_end, zone_of

_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True)
class Ahead:
    """What waits for a job, and what is expected of it.

    `files`: the files that wait, in their order. `start` and `until`: of the next run. `known`: what it rests on, with
    the number of threads of the runs that it is of; None where nothing is known, and then `outlook` is None, too.
    `machines`: that work on them at a time.
    """

    files: Sequence[pipeline.File]
    start: datetime
    until: datetime | None
    known: tuple[int, pipeline.Costs] | None
    outlook: pipeline.Outlook | None
    machines: int = 1

    @property
    def bytes(self) -> int:
        """The bytes of all files that wait."""
        return sum(file.size for file in self.files)

    @property
    def done_at(self) -> datetime | None:
        """When all of them will be done, in the time zone of the start; None if that cannot be foreseen."""
        at = self.outlook.done_at if self.outlook else None
        return None if at is None else datetime.fromtimestamp(at, self.start.tzinfo)

    @property
    def all_tonight(self) -> bool:
        """Whether the next run is expected to be done with all of them."""
        told = self.outlook
        return told is not None and told.done_at is not None and round(told.tonight) >= round(told.documents)


def look_ahead(
    config: JobConfig,
    files: Sequence[pipeline.File],
    known: tuple[int, pipeline.Costs] | None,
    now: datetime,
    machines: int = 1,
) -> Ahead:
    """What is ahead of a job for which `files` wait, on so many machines, by what is known of others."""
    start, until = next(runs_to_come(config, now))
    outlook = pipeline.outlook(files, known[1], spans(config, now), machines=machines) if known else None
    return Ahead(files, start, until, known, outlook, machines)


def runs_to_come(config: JobConfig, now: datetime) -> Iterator[tuple[datetime, datetime | None]]:
    """Yield the start of each run to come, and the end of its window, if it has one. A job without a schedule runs now,
    and again when its window has passed."""
    if config.schedule is None:
        start: datetime | None = now.astimezone(zone_of(None)[0])
    else:
        start = config.schedule.next_start(now)
    while start is not None:
        end = window_end(config, start)
        yield start, end and end.astimezone(start.tzinfo)
        if config.schedule is not None:
            start = config.schedule.next_start(start)
        else:
            start = None if end is None else end.astimezone(start.tzinfo) + _MOMENT


def spans(config: JobConfig, now: datetime) -> Iterator[pipeline.Span]:
    """Yield the runs to come as the forecast takes them."""
    for start, end in runs_to_come(config, now):
        yield pipeline.Span(start.timestamp(), math.inf if end is None else end.timestamp())
