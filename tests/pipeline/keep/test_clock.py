"""The log's own clock, and rules of retention under a machine's clock that is set."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import RunPlan
from pipeline.keep.clock import LogClock
from pipeline.plan import Retention
from tests.pipeline.conftest import Witness
from tests.pipeline.outbox.test_recover import tree

Drop = Callable[[str, bytes | str], Path]
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
LEASE = "The landlord leases the flat to the tenant."
MONTHS = Retention(archive_days=90, rows_days=90)


def read(*looks: tuple[float, str, float]) -> tuple[list[float], list[bool]]:
    """Days by the log's clock after each look, each (days by the machine's clock, boot, days of uptime); and doubts."""
    clock, days, doubts = LogClock(), [], []
    for day, boot, up in looks:
        time = (BEGIN + timedelta(days=day)).isoformat(timespec="microseconds").replace("+00:00", "Z")
        moment = clock.read(audit.Stamp(time, boot, int(up * 86_400_000_000), "host", "user"))
        days.append(round((moment - BEGIN) / timedelta(days=1), 6))
        doubts.append(clock.doubt is not None)
    return days, doubts


CASES: dict[str, tuple[Iterable[tuple[float, str, float]], list[float], list[int]]] = {
    "it runs": ([(0, "a", 1), (1, "a", 2), (91, "a", 92)], [0, 1, 91], []),
    "a reboot": ([(0, "a", 1), (1, "b", 0.1), (2, "b", 1.1)], [0, 1, 2], []),
    "set 100 days ahead": ([(0, "a", 1), (101, "a", 2), (102, "a", 3)], [0, 1, 2], [1]),
    "set ahead and back": ([(0, "a", 1), (101, "a", 2), (2, "a", 3)], [0, 1, 2], [1, 2]),
    "set ahead, then a reboot": ([(0, "a", 1), (101, "a", 2), (102, "b", 0.1), (103, "b", 1.1)], [0, 1, 2, 3], [1]),
    "set back": ([(0, "a", 1), (-99, "a", 2), (-98, "a", 3)], [0, 1, 2], [1]),
    "back at a reboot, then put right": ([(0, "a", 1), (-99, "b", 0), (2, "b", 1), (3, "b", 2)], [0, 0, 1, 2], [1, 2]),
    "ahead at a reboot, then put right": (
        [(0, "a", 1), (101, "b", 0), (2, "b", 1), (3, "b", 2)], [0, 101, 2, 3], [1, 2]
    ),
    "long silences": ([(0, "a", 1), (30, "b", 0), (60, "c", 0), (90, "d", 0)], [0, 30, 60, 90], [1]),
    "a second": ([(0, "a", 1), (1 + 1 / 86_400, "a", 2)], [0, 1.000012], []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_log_s_clock(name: str) -> None:
    looks, days, doubtful = CASES[name]
    assert read(*looks) == (days, [number in doubtful for number in range(len(days))])


@pytest.fixture
def ran(plan: RunPlan, drop: Drop) -> RunPlan:
    drop("lease.txt", LEASE)
    pipeline.run(plan, observer=Witness())
    return replace(plan, retention=MONTHS)


def go(plan: RunPlan) -> list[str]:
    """Run; the reasons why nothing was deleted."""
    witness = Witness()
    pipeline.run(plan, observer=witness)
    return [str(facts["reason"]) for event, facts in witness.notes if event == "nothing is deleted by rule in this run"]


def later(monkeypatch: pytest.MonkeyPatch, days: float, uptime: float, boot: str | None = None) -> None:
    """So many days from now by the machine's clock and by its uptime."""
    now = audit.stamp_now()
    moment = datetime.fromisoformat(now.time) + timedelta(days=days)
    changed: dict[str, Any] = {
        "time": moment.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "uptime_us": now.uptime_us + int(uptime * 86_400_000_000),
    }
    stamp = replace(now, **changed, boot=boot or now.boot)
    monkeypatch.setattr(audit, "stamp_now", lambda: stamp)


def test_a_clock_that_jumped_100_days_deletes_nothing(ran: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    later(monkeypatch, 100, 0)
    (reason,) = go(ran)
    assert reason.startswith("the clock was set 100.0 days ahead since 20")
    assert tree(ran.archive)
    later(monkeypatch, 1, 1)
    assert go(ran) == [], "it is told once"
    assert tree(ran.archive), "one day has passed, whatever the clock says"
    later(monkeypatch, 1, 0, boot="another boot")
    go(ran)
    assert tree(ran.archive)
    assert [entry["type"] for _, entry in audit.read_entries(ran.site.audit, ran.site.public_key)].count(
        "deleted.by_rule"
    ) == 0


def test_days_that_passed_count(ran: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    later(monkeypatch, 89, 89)
    assert go(ran) == []
    assert tree(ran.archive)
    later(monkeypatch, 2, 2)
    assert go(ran) == []
    assert not tree(ran.archive)


def test_after_a_long_silence_and_a_boot_one_run_deletes_nothing(ran: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock may have been wrong since the boot; that a service began before the run does not hide it."""
    later(monkeypatch, 100, 0, boot="another boot")
    pipeline.records.record(ran.site, pipeline.records.ServiceStarted(pid=1, version="0"))
    (reason,) = go(ran)
    assert "100.0 days ahead of the entry of" in reason
    assert tree(ran.archive)
    later(monkeypatch, 0.1, 0.1)
    assert go(ran) == []
    assert not tree(ran.archive), "nobody put the clock right, so the days have passed"


def test_a_clock_that_is_put_right_after_a_boot_leaves_what_was_kept(
    ran: RunPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    later(monkeypatch, 100, 0, boot="another boot")
    go(ran)
    later(monkeypatch, -99, 1)
    assert len(go(ran)) == 1
    later(monkeypatch, 1, 1)
    assert go(ran) == []
    assert tree(ran.archive)
