"""What is ahead of a job: its window, the runs to come, what waits, when it is done, what would do it tonight."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import pipeline
from jobs.config.cron import find_zone, next_start, parse_cron
from jobs.config.job import JobConfig
from jobs.config.load import LoadedJob
from jobs.config.when import ScheduleConfig

_MOMENT = timedelta(seconds=1)
_LOCALTIME = Path("/etc/localtime")
_TICK = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)  # a window is shorter


@dataclass(frozen=True)
class Ahead:
    """What waits for a job, and what is expected of it.

    `files`: the files that wait, in their order. `start` and `until`: of the next run. `known`: what it rests on, with
    the number of threads of the runs that it is of; None where nothing is known, and then `outlook` is None, too.
    `machines`: that work on them at a time.
    """

    files: Sequence[pipeline.forecast.File]
    start: datetime
    until: datetime | None
    known: tuple[int, pipeline.records.Costs] | None
    outlook: pipeline.forecast.Outlook | None
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
    files: Sequence[pipeline.forecast.File],
    known: tuple[int, pipeline.records.Costs] | None,
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


def spans(config: JobConfig, now: datetime) -> Iterator[pipeline.forecast.Span]:
    """Yield the runs to come as the forecast takes them."""
    for start, end in runs_to_come(config, now):
        yield pipeline.forecast.Span(start.timestamp(), math.inf if end is None else end.timestamp())


def with_window(plan: pipeline.RunPlan, config: JobConfig, due: datetime) -> pipeline.RunPlan:
    """The plan of a run that was due at this moment, with the end of the job's window, if it has one."""
    return replace(plan, until=window_end(config, due))


def window_end(config: JobConfig, due: datetime) -> datetime | None:
    """The end of the window of a run that was due at `due`; None for a job without a window.

    It hangs on when the run was due and not on when it begins: a start that waited until the window was over does not
    get that of the next night. A clock that is changed moves it as it moves a start (cron.py).
    """
    if config.window is None:
        return None
    end, zone = config.window.time, zone_of(config.schedule)[0]
    return next_start(parse_cron(f"{end.minute} {end.hour} * * *"), due - _TICK, zone)


def zone_of(schedule: ScheduleConfig | None) -> tuple[tzinfo, str]:
    """The time zone of a window, and its name: that of the schedule, else that of the machine."""
    if schedule is not None:
        return find_zone(schedule.timezone), schedule.timezone
    return _machine_zone()


def _machine_zone(file: Path = _LOCALTIME) -> tuple[tzinfo, str]:
    """The zone that TZ names, else what /etc/localtime is or links to; UTC where there is neither."""
    if named := os.environ.get("TZ", "").removeprefix(":"):
        with suppress(ValueError):
            return find_zone(named), named
    _, of_database, name = str(file.resolve()).rpartition("/zoneinfo/")
    try:
        with file.open("rb") as data:
            return ZoneInfo.from_file(data), name if of_database else "the machine's time zone"
    except (OSError, ValueError):
        return UTC, "UTC"


@dataclass(frozen=True)
class Remedy:
    """One way, by its kind (window, threads, model, machines), in a sentence. `measured`: by what documents of the job
    took that way; else it is the most that can be hoped for, or stands to be measured."""

    kind: str
    sentence: str
    measured: bool


def remedies(
    plan: pipeline.RunPlan, ahead: Ahead, its: pipeline.records.JobCosts, register: pipeline.records.Register
) -> Iterator[Remedy]:
    """Yield what would let the next run be done with all that waits; nothing where it will be, or nothing is known."""
    told, until = ahead.outlook, ahead.until
    if told is None or ahead.known is None or until is None or ahead.all_tonight:
        return
    left = (until - ahead.start).total_seconds() - told.ready
    ends = datetime.fromtimestamp(ahead.start.timestamp() + told.ready + told.seconds, ahead.start.tzinfo)
    if ends - ahead.start < _DAY:
        yield Remedy("window", f"a window until {ends:%a %H:%M}, if that is no other job's time", measured=True)
    yield from _threads(ahead, its, pipeline.stages.model_of(plan, register), left)
    yield from _models(plan, ahead, its, register)
    if told.slowest and 0 < left >= told.slowest[1].seconds:
        machines = math.ceil(told.seconds * ahead.machines / left)
        like = "machines like this one" if plan.cluster is None else f"workers instead of {ahead.machines}"
        yield Remedy("machines", f"{machines} {like}, each with its share of the documents", measured=True)


def _fits(ahead: Ahead, costs: pipeline.records.Costs) -> datetime | None:
    """When all would be done at these costs, if that is before the window ends."""
    assert ahead.until is not None
    span = pipeline.forecast.Span(ahead.start.timestamp(), ahead.until.timestamp())
    at = pipeline.outlook(ahead.files, costs, [span], machines=ahead.machines).done_at
    return None if at is None else datetime.fromtimestamp(at, ahead.start.tzinfo)


def _threads(ahead: Ahead, its: pipeline.records.JobCosts, model: str | None, left: float) -> Iterator[Remedy]:
    assert ahead.known is not None
    assert ahead.outlook is not None
    now, cpus = ahead.known[0], len(os.sched_getaffinity(0))
    for (other, threads), costs in its.machines.items():
        if other == model and threads > now and costs.runs and (at := _fits(ahead, costs)):
            yield Remedy("threads", f"{threads} threads, as earlier runs had them: done {at:%a %H:%M}", measured=True)
            return
    if 0 < now < cpus and ahead.outlook.seconds * now / cpus <= left:
        said = f"all {cpus} CPUs instead of {now} (CLOISTER_THREADS), at best: that was not measured here"
        yield Remedy("threads", said, measured=False)


def _models(
    plan: pipeline.RunPlan, ahead: Ahead, its: pipeline.records.JobCosts, register: pipeline.records.Register
) -> Iterator[Remedy]:
    """Other models of the workspace that this job ran with, and were fast enough; else a smaller one of that kind."""
    own, there = plan.model.path, {path.stem: path for path in sorted(plan.site.models.glob("*.gguf"))}
    measured = {model: costs for (model, _), costs in its.machines.items() if costs.runs}
    known = {name: measured[sha256] for name, sha256 in register.models.items() if name in there and sha256 in measured}
    for name, costs in known.items():
        if name != plan.model.name and (at := _fits(ahead, costs)):
            yield Remedy("model", f"the model {name}, by what this job took with it: done {at:%a %H:%M}", measured=True)
            return
    size = own.stat().st_size
    smaller = [name for name in there if name not in known and there[name].stat().st_size < size]
    other = next((name for name in smaller if pipeline.answer.same_use(own, there[name])), None)
    if other is not None:
        share = there[other].stat().st_size / size
        measured_by = f"cloister qualify {plan.job} --eval FILE --model {other}"
        said = f"the model {other}, whose file has {share:.0%} of this one's size; how fast and how good it is says"
        yield Remedy("model", f"perhaps {said} {measured_by}", measured=False)


def next_start_of(job: LoadedJob) -> datetime | None:
    """The next start by the job's cron line that is not on a skipped date; None for a job without one."""
    schedule = job.config.schedule
    return None if schedule is None else schedule.next_start(datetime.now(UTC))
