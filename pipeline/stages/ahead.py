"""What is ahead of a run: what its documents are expected to take, held against what they do take;
what waits for a job; and the memory that a run takes at most."""

import math
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final

import engine
from pipeline.answer.compute import BATCH_CHARACTERS
from pipeline.answer.converse import CHARACTERS
from pipeline.answer.models import writing_of
from pipeline.forecast import Estimator, File, Outlook, Span, outlook
from pipeline.inbox.discover import Scan
from pipeline.inbox.feed import AHEAD_BYTES
from pipeline.inbox.find import Found
from pipeline.plan import RunPlan
from pipeline.records.costs import AllCosts, Costs
from pipeline.records.history import History
from pipeline.records.register import Register
from pipeline.records.types import Foreseen
from pipeline.stages.open import Opened
from pipeline.stages.window import Window
from pipeline.text.visible import shown

Timer = Callable[[], float]
"""Gives seconds that only ever grow."""

_LIKE: Final = 3  # documents of mean size of this run that the pace of earlier ones counts for
_ENOUGH: Final = 10  # documents, in _SOONEST, after which the run's own pace alone counts
_SOONEST: Final = 1.0  # seconds of work that say something
_FIXED: Final = 16 << 10  # bytes that a file counts beside its own, where nothing is known but those


@dataclass
class Ahead:
    """How far a run is, by the work of its documents and not by their number.

    `forecast`: what was expected when it began; None where nothing is known. `work`: for each source that it takes, the
    seconds that this and all before it are expected to take, or where nothing is known, their bytes and a fixed part
    for each. `ready`: when the documents had their turn, by `timer`.
    """

    begun: float
    work: Sequence[float]
    outlook: Outlook | None = None
    timer: Timer = time.monotonic
    ready: float | None = field(default=None, init=False)

    def begin(self) -> None:
        """Hear that the documents have their turn."""
        self.ready = self.timer()

    @property
    def forecast(self) -> Foreseen | None:
        """The forecast as a member of the run's last record."""
        if self.outlook is None:
            return None
        return Foreseen(round(self.outlook.tonight), round(self.outlook.tonight_seconds, 1))

    @property
    def ready_seconds(self) -> float | None:
        """The seconds from the run's start until its documents had their turn; None if they never had."""
        return None if self.ready is None else round(self.ready - self.begun, 3)

    def seconds_left(self, ended: int, within: float = 0.0) -> float | None:
        """The seconds until the last source is done, of which `ended` are, and of the next one the share `within`; None
        where nobody can say yet.

        At a constant pace it falls as soon as the run knows its own pace: that of earlier runs, which may be wrong,
        counts like a few documents, and no longer than until a few are done.
        """
        if self.ready is None or not self.work:
            return None
        whole, done = self.work[-1], self.work[ended - 1] if ended else 0.0
        if ended < len(self.work):
            done += within * (self.work[ended] - done)
        worked = self.timer() - self.ready
        if not self.outlook and (worked < _SOONEST or not done):
            return None
        ours = min(1.0, ended / _ENOUGH, worked / _SOONEST)
        trust = (1 - ours) * _LIKE * whole / len(self.work) if self.outlook else 0.0
        return (whole - done) * (trust + worked) / (trust + done) if trust + done else None


def look_ahead(opened: Opened, found: Found, window: Window) -> Ahead:
    """What is ahead of a run that takes what was `found`; the observer is told of it."""
    begun, timer = opened.begun, opened.timer
    known = opened.history.costs.of(opened.model_sha256, engine.threads())
    if known is None or not found.sources:
        return Ahead(begun, [*accumulate(float(source.size + _FIXED) for source in found.sources)], timer=timer)
    machines = opened.history.costs.hands if opened.plan.cluster else 1
    met, estimator = _met(opened.plan, opened.history), Estimator(known[1], machines)
    files = [File(source.path, source.size) for source in found.sources]
    new = [file for file in files if shown(file.path) not in met]
    work = [0.0 if shown(file.path) in met else estimator.expect(file).seconds for file in files]
    ends = [end.timestamp() for end in (window.until, window.share_until) if end is not None]
    end = min(ends, default=math.inf)
    span = Span(window.clock() - (timer() - begun), end)
    ahead = Ahead(begun, [*accumulate(work)], outlook(new, known[1], [span], machines=machines), timer)
    if forecast := ahead.forecast:
        whole, seconds = round(ahead.outlook.documents) if ahead.outlook else 0, round(forecast.seconds)
        opened.observer.note("expected", documents=forecast.documents, of=whole, seconds=seconds)
    return ahead


def _met(plan: RunPlan, history: History) -> Container[str]:
    return set(history.done.values()) if plan.keeps and plan.retry is None else ()


def waiting(scan: Scan, met: Container[str]) -> tuple[File, ...]:
    """The files that wait, in the order in which they are taken; without those that a job has `met` which leaves its
    documents where they are."""
    files = (File(each.path, each.size) for each in scan.ready)
    return tuple(file for file in files if not met or shown(file.path) not in met)


def model_of(plan: RunPlan, register: Register) -> str | None:
    """The sha256 of the plan's model, for whom a glance must do: a file that is not pinned is taken for the one that
    the log last saw under its name."""
    return plan.model.sha256 or register.models.get(plan.model.name)


def known_costs(plan: RunPlan, costs: AllCosts, register: Register) -> tuple[int, Costs] | None:
    """What documents of the job took with its model, by preference with as many threads as there are now; and with how
    many. Of a job that did not run with it yet, what those of the other job took that had most of them. None where
    nothing is known."""
    model, threads = model_of(plan, register), _threads()
    if model is None:
        return None
    its = costs.jobs.get(plan.job)
    if its and (own := its.of(model, threads)):
        return own
    others = [(name, found) for name, each in costs.jobs.items() if (found := each.of(model, threads))]
    best = max(others, key=lambda each: (each[1][0] == threads, each[1][1].rows), default=None)
    return None if best is None else (best[1][0], replace(best[1][1], of_job=best[0]))


def machines_of(plan: RunPlan, costs: AllCosts) -> int:
    """The machines that a run of the job would have, as far as the log knows: on a cluster, those that made the
    rows of its last run."""
    its = costs.jobs.get(plan.job)
    return its.hands if its and plan.cluster else 1


def _threads() -> int:
    """The threads that a run would have; 0 where the environment asks for what the machine does not have."""
    try:
        return engine.threads()
    except engine.UnsupportedCpu:
        return 0


_CHARACTER: Final = 4  # bytes of one in memory, at most


@dataclass(frozen=True)
class Memory:
    """The bytes that a run takes at most. `model`: its weights, which runs of the same model share; `texts`: of the
    documents that are read ahead, of a batch, beside the largest one, and of what workers have; `parsers`: what all
    parsers may take together; `cache`: keys and values of a model that writes, None where it takes half of what is
    free, and 0 for others."""

    model: int
    texts: int
    parsers: int
    cache: int | None


def memory_of(plan: RunPlan) -> Memory:
    """The memory of a plan's run, by its settings and the size of its model file. ModelRefusedError and OSError."""
    writing, limits = writing_of(plan), plan.site.limits
    cache = 0 if writing is None else writing.cache_mib and round(writing.cache_mib * 2**20)
    return Memory(
        plan.model.path.stat().st_size,
        AHEAD_BYTES + _CHARACTER * (CHARACTERS if writing else BATCH_CHARACTERS) + _under_way(plan),
        engine.threads() * limits.memory_bytes,
        cache,
    )


def _under_way(plan: RunPlan) -> int:
    """The bytes of texts that the workers of a cluster have, which the head keeps, and of the messages with them."""
    if plan.cluster is None:
        return 0
    from pipeline.cluster.sharing import CHARACTERS as AT_WORKERS

    return 2 * _CHARACTER * AT_WORKERS
