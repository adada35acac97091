"""A service whose loop a test turns."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from jobs.config.workspace import open_workspace
from jobs.nights.service import Service
from jobs.nights.wake import Wake
from jobs.progress import start_logging
from jobs.stop import Stop
from tests.jobs.conftest import SORT, Place
from tests.jobs.nights.clockwork import Clockwork

CRON = SORT.replace("model:", 'schedule: {{cron: "0 22 * * *", timezone: UTC}}\nmodel:')
NOON = datetime(2027, 1, 15, 12, tzinfo=UTC).timestamp()
HOUR = 3600.0


@dataclass
class Bench:
    """A service whose loop the test turns, with a clock of its own, which begins at a noon in January."""

    place: Place
    service: Service
    out: io.StringIO
    now: list[float]

    def turn(self) -> list[str]:
        """Two looks (a file is read when it looked the same twice) and all runs; the events that were told."""
        self.out.seek(0)
        self.out.truncate()
        for _ in range(2):
            self.now[0] += 60
            self.service.look()
        while self.service.run_next():
            pass
        return [line["event"] for line in self.lines()]

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.getvalue().splitlines()]


@contextmanager
def served_by_turns(place: Place, now: list[float]) -> Iterator[Bench]:
    """A service of the workspace, by the clock `now`."""
    out = io.StringIO()
    with Stop() as stop, Clockwork(lambda: now[0]) as schedules, Wake() as wake:
        service = Service(
            open_workspace(place.root), start_logging(out), stop, schedules, wake, lambda: now[0], lambda: now[0]
        )
        yield Bench(place, service, out, now)


@pytest.fixture
def bench(ready: Place) -> Iterator[Bench]:
    with served_by_turns(ready, [NOON]) as bench:
        yield bench
