"""state/running.json: which run is on its way, and how far it is. Only `cloister status` reads it.

It is renamed into place when the run begins, when it knows how many documents there are, and then every few seconds. A
run that is killed leaves it: it counts only while the process that it names holds the log.
"""

import contextlib
import json
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from math import ceil, inf
from pathlib import Path
from typing import Any

from pipeline.outbox.schema import to_text
from pipeline.plan import RunPlan, Site
from pipeline.report import COMPUTING, READING, Observer

_EVERY_SECONDS = 2.0
_WINDOW_SECONDS = 300.0
_MOST_BYTES = 10_000
_MOST_NAME = 300  # characters of a path
_NAME = "running.json"
_OF_WORKERS = {"worker ready": "works", "worker lost": "is gone", "worker refused": "is refused"}
"""What a run notes of workers of a cluster, and the state of theirs that it tells."""


@dataclass(frozen=True)
class Running:
    """A run on its way. `total`: documents that it will look at, None while it does not know; `counts`: states that
    documents have reached, committed or not; `rate`: documents a second in the last minutes, `work_left`: the seconds
    that the others are expected to take; None while nobody can say. `workers`: those of a cluster by name, each with
    its state and since when. `inside`: how far a document is that takes a while: `document` (None where it may not be
    told), what is counted (`pages` or `tokens`), how many are `done` and of how many, if that is known."""

    pid: int
    job: str
    run: str
    since: str
    total: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    rate: float | None = None
    work_left: float | None = None
    workers: dict[str, dict[str, str]] = field(default_factory=dict)
    inside: dict[str, str | int | None] | None = None

    @property
    def done(self) -> int:
        """Documents that have reached a state."""
        return sum(self.counts.values())

    @property
    def left(self) -> int | None:
        """Documents that have not, as far as is known."""
        return None if self.total is None else max(self.total - self.done, 0)

    @property
    def seconds_left(self) -> int | None:
        """Seconds that they will take, by what is known of their sizes, else at this rate."""
        if self.work_left is not None:
            return ceil(self.work_left)
        return None if self.left is None or not self.rate else ceil(self.left / self.rate)

    def to_json(self) -> dict[str, Any]:
        """The run for other programs, with what follows from it."""
        return asdict(self) | {"done": self.done, "left": self.left, "seconds_left": self.seconds_left}


def running(site: Site) -> Running | None:
    """The run that the file tells of; None if there is no file, or it is not ours."""
    try:
        with os.fdopen(os.open(_file(site), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            said = json.loads(file.read(_MOST_BYTES))
        told = Running(**said)
        texts, total, counts = (told.job, told.run, told.since), told.total, told.counts.items()
        others = [text for each in told.workers.values() for text in (each["state"], each["since"])]
        whole = all(isinstance(text, str) for text in (*texts, *others)) and type(told.pid) is int
        known = total is None or type(total) is int
        paced = told.rate is None or (type(told.rate) is float and 0 < told.rate < inf)
        paced &= told.work_left is None or (type(told.work_left) is float and 0 <= told.work_left < inf)
        counted = all(type(number) is int and number >= 0 for _, number in counts)
        return told if whole and known and paced and counted and _is_inside(told.inside) else None
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None


def _is_inside(told: Mapping[str, Any] | None) -> bool:
    """Whether it says how far a document is, as this version does."""
    if told is None:
        return True
    texts = told["document"] is None or isinstance(told["document"], str)
    counted = type(told["done"]) is int and (told["of"] is None or type(told["of"]) is int)
    return texts and counted and told["counts"] in ("pages", "tokens") and len(told) == 4


@contextlib.contextmanager
def announced(
    plan: RunPlan, run: str, observer: Observer, clock: Callable[[], float] = time.monotonic
) -> Iterator[Observer]:
    """The observer of a run that holds the log, which also writes the file; it is gone when the run ends."""
    announcing = _Announcing(plan, run, observer, clock)
    try:
        yield announcing
    finally:
        with contextlib.suppress(OSError):
            _file(plan.site).unlink()


class _Announcing:
    """An observer that passes everything on. A file that cannot be written is no trouble to the run."""

    def __init__(self, plan: RunPlan, run: str, observer: Observer, clock: Callable[[], float]) -> None:
        self._site, self._observer, self._clock = plan.site, observer, clock
        self._begun = Running(os.getpid(), plan.job, run, to_text(datetime.now(UTC)))
        self._total: int | None = None
        self._counts: Counter[str] = Counter()
        self._work_left: float | None = None
        self._inside: dict[str, Any] | None = None
        self._workers: dict[str, dict[str, str]] = {}
        self._marks: deque[tuple[float, int]] = deque()  # when so many documents had reached a state
        self._write()

    def note(self, event: str, **facts: str | int | float | None) -> None:
        if event in _OF_WORKERS:
            self._workers[str(facts["worker"])] = {"state": _OF_WORKERS[event], "since": to_text(datetime.now(UTC))}
            self._write()
        if event in (READING, COMPUTING):
            counts = "pages" if event == READING else "tokens"
            name = facts.get("document")
            document = None if name is None else str(name)[:_MOST_NAME]
            self._inside = {"document": document, "counts": counts, "done": facts[counts], "of": facts["of"]}
            self._write_if_due()
        self._observer.note(event, **facts)

    def found(self, total: int) -> None:
        first, self._total = self._total is None, total
        self._write() if first else self._write_if_due()
        self._observer.found(total)

    def finished(self, path: str, state: str, reason: str | None) -> None:
        self._counts[state] += 1
        self._inside = None
        if not self._marks:
            self._marks.append((self._clock(), self._counts.total()))
        self._write_if_due()
        self._observer.finished(path, state, reason)

    def expects(self, seconds_left: float | None) -> None:
        self._work_left = seconds_left
        self._write_if_due()
        self._observer.expects(seconds_left)

    def _write_if_due(self) -> None:
        if self._clock() - self._written >= _EVERY_SECONDS:
            self._write()

    def _write(self) -> None:
        self._written = self._clock()
        told = asdict(self._begun) | {
            "total": self._total,
            "counts": self._counts,
            "rate": self._rate(),
            "work_left": self._work_left,
            "workers": self._workers,
            "inside": self._inside,
        }
        file = _file(self._site)
        staged = file.with_suffix(".tmp")
        with contextlib.suppress(OSError):
            file.parent.mkdir(exist_ok=True)
            staged.unlink(missing_ok=True)  # what a killed run left, or a link by which another file would be written
            with staged.open("x", encoding="utf-8") as new:
                new.write(json.dumps(told))
            staged.rename(file)

    def _rate(self) -> float | None:
        """Documents a second since the oldest mark, which is some minutes old: what came before, such as the loading of
        the model, does not count, nor does an hour in which documents were shorter."""
        if not self._marks:
            return None
        now, done = self._clock(), self._counts.total()
        self._marks.append((now, done))
        while len(self._marks) > 2 and self._marks[1][0] <= now - _WINDOW_SECONDS:
            self._marks.popleft()
        began, before = self._marks[0]
        return round((done - before) / (now - began), 3) or None if now - began >= 1.0 and done > before else None


def _file(site: Site) -> Path:
    return site.state / _NAME
