"""Tonight and last night: what runs, what waits, what became of it, and what anybody has to look at."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from starlette.responses import JSONResponse, Response

import audit
import pipeline
from jobs.console.attempt import attempt
from jobs.console.drawing import HEIGHT, WIDTH, Columns, columns
from jobs.console.house import House, Visit
from jobs.console.now import JobNow, RunNow
from jobs.console.page import Page
from jobs.console.pages.queue import divided
from jobs.console.render import duration, render
from jobs.console.rights import Right

_NIGHTS: Final = 14
_MINUTES: Final = 24 * 60
_SPAN: Final = 15
_MANY: Final = 0.1
"""Share of failures from which on a night is red."""


@dataclass(frozen=True)
class Line:
    """A job in the list: its present, the run on its way if it is this job's, and its last run with an end."""

    now: JobNow
    running: RunNow | None
    last: pipeline.RunTold | None
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
class Disk:
    """The file system of the workspace."""

    free: int
    total: int


def _home(visit: Visit) -> Response:
    house = visit.house
    running = attempt(house.present.running)
    lines = attempt(lambda: _lines(house, running.value))
    nights = attempt(lambda: _nights(house))
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
        disk=attempt(lambda: _disk(house)),
        verified=attempt(lambda: verified(house)),
        size=attempt(lambda: audit.read_checkpoint(house.site.audit, house.site.public_key).size),
        behind=attempt(house.indexes.behind),
        served=house.present.served_by(),
        turn=turn(house),
        next_start=min((line.now.next_start for line in lines.value or () if line.now.next_start), default=None),
        works=[work for work in house.works.all() if work.code is None],
    )


def turn(house: House) -> str:
    """A text that changes whenever a run or a command from a page begins or ends."""
    running = house.present.running()
    states = "".join(f"{work.number}{'+' if work.code is None else '-'}" for work in house.works.all()[:9])
    return f"{running.run if running else ''}/{states}"


def _live(visit: Visit) -> Response:
    running = visit.house.present.running()
    told: dict[str, Any] = {"turn": turn(visit.house)}
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
    with house.indexes.opened() as index:
        runs = {job.name: index.runs(job.name, limit=2) for job in house.present.jobs()}
        look = index.counts(pipeline.Filter(states=("review", "abstained"), review="none"), "job")
        failed = index.counts(pipeline.Filter(states=("failed",)), "job")
    return [
        Line(job, running if running and running.job == job.name else None, _last_of(runs[job.name], running),
             look.get(job.name, 0), failed.get(job.name, 0))
        for job in house.present.jobs()
    ]  # fmt: skip


def _last_of(runs: Sequence[pipeline.RunTold], running: RunNow | None) -> pipeline.RunTold | None:
    return next((run for run in runs if running is None or run.run != running.run), None)


def _nights(house: House) -> list[pipeline.Night]:
    with house.indexes.opened() as queue:
        return queue.nights()


def grid(nights: Sequence[pipeline.Night], running: RunNow | None) -> tuple[list[date], dict[str, dict[str, Cell]]]:
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


def _cell(night: pipeline.Night, running: RunNow | None) -> Cell:
    counts, run = night.counts, night.runs[-1]
    rows = sum(number for state, number in counts.items() if state not in ("ignored", "pending"))
    if running and running.run == run:
        return Cell("running", running.done, "running", run)
    if night.state in ("refused", "stopped", "unfinished", "interrupted", "window_closed"):
        return Cell(_LOOKS.get(night.state, night.state), rows, _CUT.get(night.state, night.state), run)
    if failed := counts.get("failed", 0):
        return Cell("failed" if failed > _MANY * rows else "review", rows, f"{failed:,} failed", run)
    if look := counts.get("review", 0) + counts.get("abstained", 0):
        return Cell("review", rows, f"{look:,} to check", run)
    return Cell("done" if rows else "empty", rows, "all done" if rows else "nothing", run)


_LOOKS: Final = {"refused": "failed", "window_closed": "window-closed"}
_CUT: Final = {"unfinished": "cut off", "window_closed": "window closed"}


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
        return sum(number for state, number in self.counts.items() if state not in ("ignored", "pending"))


def _last_night(visit: Visit, nights: Sequence[pipeline.Night]) -> LastNight | None:
    if not nights:
        return None
    night = nights[0].night
    mine = [each for each in nights if each.night == night]
    counts = dict[str, int]()
    for each in mine:
        for state, number in each.counts.items():
            counts[state] = counts.get(state, 0) + number
    with visit.house.indexes.opened() as queue:
        public, private = divided(visit, queue, pipeline.Filter(states=("failed",), night=night))
        failures = queue.counts(public, "failure")
        untold = queue.count(private) if private else 0
    known = {failure.value: failure.remedy for failure in pipeline.Failure}
    told = [(name, number, known.get(name, "")) for name, number in failures.items() if name]
    untold += failures.get("", 0)
    told += [("", untold, "Why is told to those who may open documents.")] if untold else []
    refused = [each.job for each in mine if each.state == "refused"]
    return LastNight(night, len(mine), counts, sum(each.seconds for each in mine), told, refused)


def _throughput(house: House) -> Columns | None:
    until = int(time.time()) // 60 // _SPAN * _SPAN + _SPAN
    with house.indexes.opened() as index:
        found = index.throughput(until - _MINUTES, until, _SPAN)
    return columns(found, until - _MINUTES, _MINUTES, _SPAN)


def _disk(house: House) -> Disk:
    usage = shutil.disk_usage(house.workspace.root)
    return Disk(usage.free, usage.total)


def verified(house: House) -> tuple[pipeline.Verified, str] | None:
    """The last verification that the log tells of, and when it was."""
    with house.indexes.opened() as index:
        last = index.last_of("verified")
    for entry in pipeline.entries_at(house.site, [last.n] if last else []):
        if isinstance(entry, pipeline.Verified):
            return entry, entry.handed.time if entry.handed else entry.time
    return None


PAGES = (
    Page("/", _home, Right.LISTS),
    Page("/live.json", _live, Right.LISTS),
)
