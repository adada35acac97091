"""A world for a service: a clock that is set, a machine that sleeps, a disk that fills, people who write bad files.

Everything but time and disk is real: the service, its jobs, runs, model and log. A night is one evening to the next.
"""

import errno
import io
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

import audit
import pipeline
from jobs.config.workspace import open_workspace
from jobs.nights.ledger import now_of
from jobs.nights.service import Service
from jobs.nights.wake import Wake
from jobs.progress import start_logging
from jobs.stop import Stop
from tests.jobs.conftest import LEASE, SORT, Place
from tests.jobs.nights.clockwork import Clockwork

BEGIN = datetime(2026, 10, 20, 10, tzinfo=UTC)
DAY = 86_400.0

ZONE = "Europe/Berlin"
JOBS = {
    "nightly": f'schedule: {{cron: "30 2 * * *", timezone: {ZONE}}}\nwindow: {{until: "06:00"}}',
    "often": f'schedule: {{cron: "0 22-23,0-4 * * *", timezone: {ZONE}, overlap: skip, missed: none}}',
    "strict": 'schedule: {cron: "15 3 * * *", timezone: America/New_York, late: skip, missed: none}',
    "until": 'schedule: {cron: "0 21 * * *", timezone: UTC, late: {before: "23:00"}, missed: all}',
    "monthly": 'schedule: {cron: "0 1 L * *", timezone: UTC, skip_dates: ["2026-12-31", "06-30"]}',
    "follows": "after: nightly\npriority: 3",
}
"""The jobs of the world, each with policies of its own."""


class Killed(BaseException):
    """The process is gone, at this very point."""


@dataclass
class World:
    """A workspace and its time. `now` is what the machine's clock shows, `passed` the seconds that really passed."""

    place: Place
    random: random.Random
    now: float = BEGIN.timestamp()
    passed: float = 0.0
    full: bool = False
    kill_at: str = ""
    boots: int = 0
    runs_last: float = 60.0
    asleep: list[tuple[datetime, datetime]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.now, self.passed = self.now + seconds, self.passed + seconds

    def sleep(self, seconds: float) -> None:
        """The machine is suspended: its clock goes on, and nothing runs."""
        begin = now_of(self.now)
        self.wait(seconds)
        self.asleep.append((begin, now_of(self.now)))

    def set_clock(self, seconds: float) -> None:
        """Somebody sets the clock by so many seconds; nobody notices what is passed over until then."""
        begin = now_of(self.now)
        self.now += seconds
        if seconds > 0:
            self.asleep.append((begin, now_of(self.now)))

    def die_at(self, point: str) -> None:
        """Raise Killed where the world says that the process ends at this point."""
        if self.kill_at == point:
            self.kill_at = ""
            raise Killed

    def stamp(self) -> audit.Stamp:
        """What the machine stamps an entry with."""
        uptime = 10**9 + int(self.passed * 1e6)
        time = now_of(self.now).isoformat(timespec="microseconds").replace("+00:00", "Z")
        return audit.Stamp(time=time, boot=f"boot-{self.boots}", uptime_us=uptime, host="simulated", user="nobody")


@contextmanager
def world_of(place: Place, seed: int) -> Iterator[World]:
    """The world of a workspace: its clock and its disk stand in for those of this machine."""
    world, real_run, real_record = World(place, random.Random(seed)), pipeline.run, pipeline.records.record

    def run(plan: pipeline.RunPlan, **options: Any) -> pipeline.RunReport:
        world.die_at("before the run")
        if world.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        report = real_run(plan, **options)
        world.wait(world.runs_last)
        world.die_at("after the run")
        return report

    def record(site: pipeline.Site, *facts: pipeline.records.Record) -> Any:
        world.die_at("before a record")
        if world.full:
            return pipeline.records.Recorded(why="No space left on device")
        recorded = real_record(site, *facts)
        world.die_at("after a record")
        return recorded

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "stamp_now", world.stamp)
        patch.setattr(pipeline, "run", run)
        patch.setattr(pipeline.records, "record", record)
        for name, starts in JOBS.items():
            place.job(name, f"{SORT}{starts.replace('{', '{{').replace('}', '}}')}\n")
        yield world


@dataclass
class Machine:
    """A service that lives and dies in a world."""

    world: World
    service: Service | None = None
    _held: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        """A service begins, if none is there."""
        if self.service is None:
            world, out = self.world, io.StringIO()
            self._held = ExitStack()
            stop, wake = self._held.enter_context(Stop()), self._held.enter_context(Wake())
            scheduler = Clockwork(lambda: world.now, world.asleep)
            place = open_workspace(world.place.root)
            clock: Callable[[], float] = lambda: world.passed  # noqa: E731
            self.service = Service(place, start_logging(out), stop, scheduler, wake, clock, lambda: world.now)

    def turn(self) -> None:
        """The service looks, and runs what is due. Where it is killed, it is gone."""
        if self.service is None:
            return
        try:
            for _ in range(2):  # a file is read when it looked the same twice
                self.service.look()
                self.world.wait(1)
            while self.service.run_next():
                self.service.look()
        except Killed:
            self.gone()

    def gone(self) -> None:
        """The process ends without a word."""
        self._held.close()
        self.service = None

    def stop(self) -> None:
        """The service ends as SIGTERM lets it."""
        if self.service is not None:
            with suppress(Killed):
                self.service.stop.signal = None
                self.service._ledger.close()
            self.gone()


TROUBLES: dict[str, float] = {
    "nothing": 6, "kill": 2, "restart": 2, "down": 2, "sleep": 2, "step": 2, "full": 1, "broken": 1, "model": 1,
    "long": 2, "schedule": 1, "removed": 1,
}  # fmt: skip
"""What may happen in a night, and how often next to the others."""
POINTS = ("before the run", "after the run", "before a record", "after a record")


def live(machine: Machine, nights: int) -> None:
    """Let so many nights pass, with something going wrong in most of them."""
    world = machine.world
    for _ in range(nights):
        trouble = world.random.choices([*TROUBLES], [*TROUBLES.values()])[0]
        world.told.append(trouble)
        begins = world.random.uniform(0, DAY * 0.7)
        documents(world)
        _pass(machine, begins)
        ends = _trouble(machine, trouble)
        _pass(machine, max(DAY - begins, 0.0))
        ends()
        machine.start()
        machine.turn()


def settle(machine: Machine) -> None:
    """A service is there, and does what is left to do."""
    machine.world.kill_at = ""
    machine.start()
    for _ in range(10):
        machine.world.wait(30)
        machine.turn()
    machine.stop()


def documents(world: World) -> None:
    """Some documents arrive."""
    for name in world.random.sample([*JOBS], 2):
        if world.random.random() < 0.2:
            (world.place.root / "inbox" / name / f"{world.passed:.0f}.txt").write_text(f"{LEASE} {world.passed}\n")


def _pass(machine: Machine, seconds: float) -> None:
    """Time passes, in steps as short as nothing of interest needs."""
    end = machine.world.passed + seconds
    while (left := end - machine.world.passed) > 0:
        machine.world.wait(min(left, machine.world.random.choice((60.0, 900.0, 1800.0))))
        machine.turn()


def _trouble(machine: Machine, trouble: str) -> Callable[[], None]:
    """What goes wrong now, and how it is mended in the morning."""
    world, root = machine.world, machine.world.place.root
    hours = world.random.uniform(0.1, 9) * 3600
    match trouble:
        case "kill":
            world.kill_at = world.random.choice(POINTS)
        case "restart":
            machine.stop()
            machine.start()
        case "down":
            machine.gone()
            world.boots += 1
            world.wait(hours * world.random.choice((1, 1, 8)))
            machine.start()
        case "sleep":
            world.sleep(hours)
        case "step":
            world.set_clock(world.random.choice((-1, 1)) * hours)
        case "full":
            world.full = True
            return lambda: setattr(world, "full", False)
        case "broken":
            return _changed(world, lambda text: text + "labels: 3\n")
        case "model":
            model, away = root / "models" / "tiny.gguf", root / "tiny.away"
            shutil.move(model, away)
            return lambda: shutil.move(away, model)
        case "long":
            world.runs_last = hours
            return lambda: setattr(world, "runs_last", 60.0)
        case "schedule":
            return _changed(world, lambda text: text.replace('cron: "', 'cron: "5,'))
        case "removed":
            return _changed(world, None)
    return lambda: None


def _changed(world: World, change: Callable[[str], str] | None) -> Callable[[], None]:
    """Change the file of a job, or remove it; what is returned puts it back."""
    file = world.place.root / "jobs" / f"{world.random.choice([*JOBS])}.yaml"
    text = file.read_text()
    if change:
        file.write_text(change(text))
    else:
        file.unlink()
    return lambda: void(file.write_text(text))


def void(_: object) -> None:
    """Nothing."""
