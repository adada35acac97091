"""What is ahead of a run: what its documents are expected to take, held against what they do take."""

import math
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

import engine
from pipeline.forecast.expected import Estimator, File
from pipeline.forecast.outlook import Outlook, Span, outlook
from pipeline.inbox.find import Found
from pipeline.plan import RunPlan
from pipeline.records.history import History
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
    """The paths of documents that were answered before, of a folder in which they stay."""
    return set(history.done.values()) if plan.keeps and plan.retry is None else ()
