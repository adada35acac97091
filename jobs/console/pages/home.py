"""Tonight and last night: what runs, what waits, what became of it, and what anybody has to look at; and the commands
that somebody started from a page."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from starlette.responses import JSONResponse, Response

import pipeline
from jobs.console.attempt import RefusedError, attempt
from jobs.console.house import House, Visit
from jobs.console.now import JobNow, RunNow
from jobs.console.page import page
from jobs.console.pages.queue import divided, is_hidden
from jobs.console.render import duration, render
from jobs.console.rights import Right

_NIGHTS: Final = 14
_MINUTES: Final = 24 * 60
_SPAN: Final = 15
_MANY: Final = 0.1
"""Share of failures from which on a night is red."""
_MOST_LINES: Final = 300
WIDTH: Final = 960.0
HEIGHT: Final = 170.0
_LEFT: Final = 44.0
_TOP: Final = 8.0
_BOTTOM: Final = 24.0
_HOURS: Final = 3
_ENDED: Final = {
    "refused": ("failed", "refused"),
    "stopped": ("stopped", "stopped"),
    "unfinished": ("unfinished", "cut off"),
    "interrupted": ("interrupted", "interrupted"),
    "window_closed": ("window-closed", "window closed"),
}
"""How a night ended before its time -> its class of the stylesheet, and what a cell says."""


@dataclass(frozen=True)
class Line:
    """A job in the list: its present, the run on its way if it is this job's, and its last run with an end."""

    now: JobNow
    running: RunNow | None
    last: pipeline.index.RunTold | None
    look: int
    failed: int

    @property
    def state(self) -> str:
        """Return what to say of it in a word."""
        if self.running:
            return "running"
        if self.now.problems or self.now.refused or (self.last and self.last.state == "refused"):
            return "refused"
        return "waiting" if self.now.waiting else "idle"

    @property
    def why(self) -> str | None:
        """Why it is refused."""
        if self.running:
            return None
        refused = self.last.reason if self.last and self.last.state == "refused" else None
        return self.now.problems or self.now.refused or refused


@dataclass(frozen=True)
class Cell:
    """A job in one night: the class of the stylesheet, how many documents came, and a word or two."""

    look: str
    number: int
    says: str
    run: str


@dataclass(frozen=True)
class LastNight:
    """Holds what came of the last night: sums of all jobs, and failures by class with what to do about them."""

    night: str
    jobs: int
    counts: dict[str, int]
    seconds: float
    failures: list[tuple[str, int, str]]
    refused: list[str]

    @property
    def rows(self) -> int:
        """How many documents got a row."""
        return _rows(self.counts)


@dataclass(frozen=True)
class Bar:
    """A column of the drawing; `bad`: it stands for failures. `says` is what it shows, in words."""

    x: float
    y: float
    width: float
    height: float
    bad: bool
    says: str


@dataclass(frozen=True)
class Columns:
    """Columns over a span of time, the failures on top of the others; `says` is all of it in a sentence."""

    bars: tuple[Bar, ...]
    across: tuple[pipeline.pages.Tick, ...]
    up: tuple[pipeline.pages.Tick, ...]
    base: float
    says: str


@page("/", Right.LISTS)
def _home(visit: Visit) -> Response:
    house = visit.house
    running = attempt(house.present.running)
    lines = attempt(lambda: _lines(house, running.value))
    nights = attempt(lambda: house.ask(lambda index: index.nights()))
    return render(
        visit,
        "home.html",
        running=running.value,
        lines=lines,
        nights=attempt(lambda: grid(nights.value or [], running.value)) if nights.why is None else nights,
        last=attempt(lambda: _last_night(visit, nights.value or [])),
        plot=attempt(lambda: _throughput(house)),
        width=WIDTH,
        height=HEIGHT,
        disk=attempt(lambda: shutil.disk_usage(house.workspace.root)),
        verified=attempt(lambda: verified(house)),
        size=attempt(house.log_size),
        behind=attempt(house.indexes.behind),
        served=house.present.served_by(),
        next_start=min((line.now.next_start for line in lines.value or () if line.now.next_start), default=None),
        works=[work for work in house.works.all() if work.code is None],
    )


@page("/live.json", Right.LISTS)
def _live(visit: Visit) -> Response:
    running = visit.house.present.running()
    told: dict[str, Any] = {"turn": visit.house.turn()}
    if running:
        told |= {
            "done": running.done,
            "far": f"{running.done:,}" + (f" of {running.total:,}" if running.total is not None else ""),
            "run_failed": f"{running.failed:,}",
            "left": duration(running.seconds_left) if running.seconds_left is not None else "not known yet",
            "pace": f"{running.a_minute:,}" if running.a_minute else "not known yet",
        }
    for work in visit.house.works.all():
        if (far := work.progress()) and work.code is None:
            told[f"work-{work.number}"] = f"{far[0]:,} of {far[1]:,}"
    return JSONResponse(told)


def _lines(house: House, running: RunNow | None) -> list[Line]:
    jobs = house.present.jobs()
    with house.indexes.opened() as index:
        runs = {job.name: index.runs(job.name, limit=2) for job in jobs}
        look = index.counts(pipeline.index.Filter(states=("review", "abstained"), review="none"), "job")
        failed = index.counts(pipeline.index.Filter(states=("failed",)), "job")
    lines = []
    for job in jobs:
        own = running if running and running.job == job.name else None
        last = next((run for run in runs[job.name] if running is None or run.run != running.run), None)
        lines.append(Line(job, own, last, look.get(job.name, 0), failed.get(job.name, 0)))
    return lines


def grid(
    nights: Sequence[pipeline.index.Night], running: RunNow | None
) -> tuple[list[date], dict[str, dict[str, Cell]]]:
    """The nights that are shown, the newest first, and job -> night -> what became of it."""
    if not nights:
        return [], {}
    first, last = date.fromisoformat(nights[-1].night), date.fromisoformat(nights[0].night)
    shown = [last - timedelta(days=back) for back in range(min(_NIGHTS, (last - first).days + 1))]
    rows = dict[str, dict[str, Cell]]()
    for night in sorted(nights, key=lambda each: each.job):
        if night.night >= shown[-1].isoformat():
            rows.setdefault(night.job, {})[night.night] = _cell(night, running)
    return shown, rows


def _cell(night: pipeline.index.Night, running: RunNow | None) -> Cell:
    counts, run = night.counts, night.runs[-1]
    rows = _rows(counts)
    if running and running.run == run:
        return Cell("running", running.done, "running", run)
    if night.state in _ENDED:
        look, says = _ENDED[night.state]
        return Cell(look, rows, says, run)
    if failed := counts.get("failed", 0):
        return Cell("failed" if failed > _MANY * rows else "review", rows, f"{failed:,} failed", run)
    if to_check := counts.get("review", 0) + counts.get("abstained", 0):
        return Cell("review", rows, f"{to_check:,} to check", run)
    return Cell("done" if rows else "empty", rows, "all done" if rows else "nothing", run)


def _rows(counts: Mapping[str, int]) -> int:
    """How many documents got a row."""
    return sum(number for state, number in counts.items() if state not in ("ignored", "pending"))


def _last_night(visit: Visit, nights: Sequence[pipeline.index.Night]) -> LastNight | None:
    if not nights:
        return None
    night = nights[0].night
    mine = [each for each in nights if each.night == night]
    counts = dict[str, int]()
    for each in mine:
        for state, number in each.counts.items():
            counts[state] = counts.get(state, 0) + number
    with visit.house.indexes.opened() as queue:
        public, private = divided(visit, queue, pipeline.index.Filter(states=("failed",), night=night))
        failures = queue.counts(public, "failure")
        untold = queue.count(private) if private else 0
    known = {failure.value: failure.remedy for failure in pipeline.Failure}
    told = [(name, number, known.get(name, "")) for name, number in failures.items() if name]
    untold += failures.get("", 0)
    told += [("", untold, "Why is told to those who may open documents.")] if untold else []
    refused = [each.job for each in mine if each.state == "refused"]
    return LastNight(night, len(mine), counts, sum(each.seconds for each in mine), told, refused)


def _throughput(house: House) -> Columns | None:
    """How many rows came in each quarter of an hour of the last day; None if none did."""
    until = int(time.time()) // 60 // _SPAN * _SPAN + _SPAN
    since = until - _MINUTES
    found = house.ask(lambda index: index.throughput(since, until, _SPAN))
    sums = [sum(each.counts.values()) for each in found]
    if not any(sums):
        return None
    base, across = HEIGHT - _BOTTOM, (WIDTH - _LEFT) / _MINUTES
    up = pipeline.pages.axis([0.0, max(sums)], base, _TOP, least=1.0)
    bars, hours = list[Bar](), list[pipeline.pages.Tick]()
    for each, number in zip(found, sums, strict=True):
        x = round(_LEFT + across * (each.start / 60 - since), 1)
        failed = each.counts.get(pipeline.State.FAILED, 0)
        at = f"{datetime.fromtimestamp(each.start).astimezone():%a %H:%M}"
        says = f"{at}: {number - failed:,} answered" + (f", {failed:,} failed" if failed else "")
        for below, above, bad in ((0, number - failed, False), (number - failed, number, True)):
            if above > below:
                y, height = up.place(above), up.place(below) - up.place(above)
                bars.append(Bar(x, round(y, 1), round(across * _SPAN - 1, 1), round(max(height, 0.5), 1), bad, says))
    for minute in range(-(-since // 60) * 60, until, 60):
        moment = datetime.fromtimestamp(minute * 60).astimezone()
        if moment.hour % _HOURS == 0:
            hours.append(pipeline.pages.Tick(round(_LEFT + across * (minute - since), 1), f"{moment:%H:%M}"))
    says = f"{sum(sums):,} rows in {_MINUTES // 60} hours, at most {max(sums):,} in {_SPAN} minutes."
    return Columns(tuple(bars), tuple(hours), up.ticks, base, says)


def verified(house: House) -> tuple[pipeline.records.Verified, str] | None:
    """The last verification that the log tells of, and when it was."""
    last = house.ask(lambda index: index.last_of("verified"))
    for entry in pipeline.records.entries_at(house.site, [last.n] if last else []):
        if isinstance(entry, pipeline.records.Verified):
            return entry, entry.handed.time if entry.handed else entry.time
    return None


@page("/works/{number:int}", Right.LISTS)
def _work(visit: Visit) -> Response:
    work = visit.house.works.get(int(visit.path["number"]))
    asked = Right.OPERATE if work.job else Right.LOG
    if work.person != visit.name and not visit.may(asked):
        raise RefusedError(403, "What others started is shown to those who may start it themselves.")
    hidden = work.job is not None and is_hidden(visit, work.job)
    lines = work.notes().splitlines()
    return render(
        visit,
        "work.html",
        work=work,
        far=work.progress(),
        notes=[] if hidden else [_in_words(line) for line in lines[-_MOST_LINES:] if line.strip()],
        output="" if hidden else work.output(),
        hidden=hidden,
    )


def _in_words(line: str) -> str:
    """A line that a command said while it went on; one of its log without its JSON."""
    try:
        said = json.loads(line)
        event, facts = said.pop("event"), {k: v for k, v in said.items() if k not in ("level", "timestamp", "job")}
    except (ValueError, KeyError, AttributeError, TypeError):
        return line
    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items())
    return f"{event}: {told}" if told else str(event)
