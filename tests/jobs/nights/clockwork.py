"""A scheduler by a clock of the test: it notes the same starts as APScheduler's thread does, when the test says so."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from apscheduler.triggers.base import BaseTrigger

from jobs.nights.ledger import Due, Schedules, now_of


@dataclass
class Clockwork(Schedules):
    """The scheduler of a machine that is awake, but for the spans of `asleep` (from, to), after which it notices what
    was due in them. `now` gives the seconds since 1970."""

    now: Callable[[], float]
    asleep: list[tuple[datetime, datetime]] = field(default_factory=list)
    _triggers: dict[str, tuple[BaseTrigger, datetime]] = field(default_factory=dict)

    def set(self, job: str, trigger: BaseTrigger, now: datetime) -> datetime | None:
        """As in Schedules."""
        self.remove(job)
        first: datetime | None = trigger.get_next_fire_time(None, now)
        if first is not None:
            self._triggers[job] = (trigger, first)
        return first

    def remove(self, job: str) -> None:
        """As in Schedules."""
        self._triggers.pop(job, None)

    def due(self) -> Iterator[Due]:
        """As in Schedules."""
        now = now_of(self.now())
        for job, (trigger, first) in list(self._triggers.items()):
            moment: datetime | None = first
            while moment is not None and moment <= now:
                yield Due(job, moment, self._noticed(moment))
                moment = trigger.get_next_fire_time(moment, now)
            self.remove(job)
            if moment is not None:
                self._triggers[job] = (trigger, moment)

    def _noticed(self, moment: datetime) -> datetime:
        return next((end for begin, end in self.asleep if begin <= moment < end), moment)

    def __exit__(self, *_: object) -> None:
        """It has no thread."""
