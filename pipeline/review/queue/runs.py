"""The runs of the log, and the nights to which they belong."""

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from pipeline.records.nights import night_of as evening_of
from pipeline.records.nights import night_of_run
from pipeline.records.types import Document, Record, RunEmpty, RunFinished, RunRefused, RunStarted, RunStopped


@dataclass
class Run:
    """A run, as far as its entries were read. `first` is the number of the first of them."""

    run: str
    job: str
    first: int
    started_at: str
    state: str = "unfinished"
    finished_at: str | None = None
    reason: str | None = None
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)

    def take(self, entry: Record) -> None:
        """Take in the next entry of the run."""
        match entry:
            case Document():
                self.counts[entry.state] += 1
            case RunStopped():
                self.state = "stopped"
            case RunRefused():
                self.state, self.finished_at, self.reason = "refused", entry.time, entry.reason
            case RunEmpty():
                self.state, self.finished_at, self.counts = "empty", entry.time, Counter(entry.counts)
            case RunFinished():
                self.state = entry.how
                self.finished_at, self.counts, self.seconds = entry.time, Counter(entry.counts), entry.seconds

    def to_text(self) -> str:
        """The run as JSON."""
        return json.dumps(vars(self))

    @classmethod
    def from_text(cls, text: str) -> "Run":
        """The inverse of `to_text`."""
        told: dict[str, Any] = json.loads(text)
        return cls(**{**told, "counts": Counter(told["counts"])})


BEGINS = (Document, RunStarted, RunEmpty, RunFinished, RunRefused, RunStopped)
"""The records that tell of runs."""


@lru_cache(maxsize=1024)
def night_of(run: str, time: str) -> str:
    """The date of the evening to which a run belongs; `time`, of an entry, serves where the run's name does not say
    when it began."""
    return (night_of_run(run) or evening_of(datetime.fromisoformat(time))).isoformat()
