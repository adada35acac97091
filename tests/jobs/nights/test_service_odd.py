"""`cloister serve` where something is odd: a log, a folder, a clock or a share of a window."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import audit
import pipeline
from jobs.nights.served import RETRY_SECONDS
from tests.jobs.conftest import LEASE, SORT, Place, entries
from tests.jobs.nights.conftest import CRON, HOUR, NOON, Bench, served_by_turns

TOLD = 'notify: {command: [sh, -c, "cat >> told"], on: [failure, window_closed]}\n'
TOLD_BY_JOB = TOLD.replace("{", "{{").replace("}", "}}")
YEARS = 11 * 365 * 24 * HOUR


def told(place: Place) -> list[dict[str, Any]]:
    file = place.root / "told"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_log_that_cannot_be_read_when_a_service_begins_ends_it_and_calls(bench: Bench) -> None:
    bench.place.drop("sort", "lease.txt", LEASE)
    bench.turn()
    site = bench.place.root / "site.yaml"
    site.write_text(site.read_text() + TOLD)
    (segment,) = (bench.place.root / "audit" / "entries").iterdir()
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    shutil.rmtree(bench.place.root / "state")  # else what is kept there stands for what was read
    with served_by_turns(bench.place, [NOON]) as later, pytest.raises(audit.AuditError):
        later.turn()
    (call,) = told(bench.place)
    assert (call["cause"], call["job"]) == ("failure", None)
    assert call["sentence"].startswith("The log stopped the service:")


def test_a_folder_of_jobs_that_is_away_for_a_moment_ends_nothing(bench: Bench) -> None:
    bench.turn()
    jobs = bench.place.root / "jobs"
    away = jobs.rename(bench.place.root / "away")
    assert bench.turn() == ["job files cannot be read, the last ones go on"], "once, at two looks"
    bench.place.drop("sort", "lease.txt", LEASE)
    assert "run finished" in bench.turn()
    away.rename(jobs)
    assert bench.turn() == []


def test_a_run_that_cannot_write_somewhere_is_tried_again_and_told(bench: Bench) -> None:
    bench.place.job("sort", SORT + TOLD_BY_JOB)
    outbox = bench.place.root / "outbox" / "sort"
    outbox.write_text("a file in its place")
    bench.place.drop("sort", "lease.txt", LEASE)
    assert bench.turn()[-1] == "run waits: the workspace cannot be read or written"
    assert [call["cause"] for call in told(bench.place)] == ["failure"]
    bench.now[0] += RETRY_SECONDS
    assert "run waits: the workspace cannot be read or written" not in bench.turn(), "it is told once"
    outbox.unlink()
    bench.now[0] += RETRY_SECONDS
    assert "run finished" in bench.turn()


def test_a_clock_that_was_years_ahead_leaves_no_start_out(bench: Bench) -> None:
    bench.place.job("sort", CRON)
    bench.turn()
    bench.now[0] += YEARS
    bench.turn()
    bench.now[0] = NOON + 2 * HOUR
    bench.turn()
    bench.now[0] = NOON + 10 * HOUR
    assert "run finished" in bench.turn()
    bench.service.look()
    assert entries(bench.place, "start.decided")[-1]["due"] == "2027-01-15T22:00:00+00:00"


def test_a_service_that_begins_after_a_clock_was_years_ahead_counts_from_now(ready: Place) -> None:
    ready.job("sort", CRON)
    now = [NOON + YEARS]
    with served_by_turns(ready, now) as bench:
        bench.turn()
        now[0] += 24 * HOUR
        bench.turn()
    now[0] = NOON
    with served_by_turns(ready, now) as bench:
        bench.turn()
        assert any("a clock was wrong" in str(line) for line in bench.lines())
        now[0] += 10 * HOUR
        assert "run finished" in bench.turn()


def test_a_run_that_was_cut_off_goes_on_though_missed_starts_are_not_made_up_for(ready: Place) -> None:
    ready.job("sort", CRON.replace("timezone: UTC", "timezone: UTC, missed: none, late: skip"))
    noon = datetime(2026, 1, 15, 12, tzinfo=UTC).timestamp()  # before the log says that the run began
    now = [noon]
    with served_by_turns(ready, now) as bench:
        bench.turn()
        now[0] = noon + 10 * HOUR + 30
        ready.drop("sort", "lease.txt", LEASE)
        bench.service._stops = lambda: True  # the run begins, and is told to stop
        for _ in range(2):
            bench.service.look()
        assert bench.service.run_next()
        assert entries(ready, "run.finished")[-1]["interrupted"]
    now[0] += HOUR
    with served_by_turns(ready, now) as bench:
        assert "run finished" in bench.turn()
        bench.service.look()
    assert [each["outcome"] for each in entries(ready, "start.decided")] == ["ran"]
    assert len(ready.parts("sort")) == 1


@pytest.fixture
def shares(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[tuple[str, datetime]]]:
    """Two jobs from 22:00 to 06:00, whose every run takes all of its share and leaves something behind."""
    runs: list[tuple[str, datetime]] = []
    for name in ("aa", "bb"):
        late = ", late: skip" if name == "aa" else ""
        text = CRON.replace("timezone: UTC", f"timezone: UTC{late}") + 'window: {{until: "06:00"}}\n'
        bench.place.job(name, text + TOLD_BY_JOB)

    def run(plan: pipeline.RunPlan, **_: object) -> pipeline.RunReport:
        began = datetime.fromtimestamp(bench.now[0], UTC)
        runs.append((plan.job, began))
        end = min(each for each in (plan.share_until, plan.until) if each)
        bench.now[0] = end.timestamp()
        counts = {state.value: 0 for state in pipeline.states.OF_RUNS} | {"done": 3, "failed": 1, "pending": 5}
        report = pipeline.RunReport(
            f"run-{len(runs)}", plan.job, counts, 0, (), 100, 10.0, False, "0" * 64, True, False, (), (), (),
            (("a.txt", "damaged", "why"),), window_closed=True,
        )  # fmt: skip
        return replace(report)

    monkeypatch.setattr("pipeline.run", run)

    def night() -> list[tuple[str, datetime]]:
        runs.clear()
        evening = datetime.fromtimestamp(bench.now[0], UTC).replace(hour=22, minute=0)
        bench.now[0] = evening.timestamp() - 120
        bench.turn()
        bench.turn()
        return list(runs)

    bench.turn()
    return night


def test_jobs_that_skip_late_starts_use_all_rounds_of_their_window(
    bench: Bench, shares: Callable[[], list[tuple[str, datetime]]]
) -> None:
    for _ in range(2):
        runs = shares()
        began = [(name, moment.hour) for name, moment in runs]
        assert began[0][0] == "aa"
        assert [name for name, _ in began][:3] == ["aa", "bb", "aa"]
        assert (bench.now[0] - runs[0][1].timestamp()) / HOUR >= 7.9, "until the end of the window"
        bench.service.look()
        bench.now[0] += HOUR
    outcomes = {each["outcome"] for each in entries(bench.place, "start.decided")}
    assert outcomes == {"ran"}


def test_what_failed_in_a_share_is_told_when_the_window_closes(
    bench: Bench, shares: Callable[[], list[tuple[str, datetime]]]
) -> None:
    runs = shares()
    calls = [call for call in told(bench.place) if call["job"] == "aa"]
    rounds = sum(name == "aa" for name, _ in runs)
    assert rounds >= 2
    assert [call["cause"] for call in calls] == ["failure", "window_closed"]
    assert calls[0]["counts"]["failed"] == rounds
    assert calls[0]["counts"]["done"] == 3 * rounds
    assert calls[0]["counts"]["pending"] == 5


def test_the_reports_of_shares_are_joined() -> None:
    counts = {state.value: 0 for state in pipeline.states.OF_RUNS}
    first = pipeline.RunReport(
        "r1", "sort", counts | {"done": 3, "pending": 4, "ignored": 2}, 2, (), 10, 1.0, False, "0" * 64, True, False,
        (), (), (), (), window_closed=True,
    )  # fmt: skip
    kept = replace(first, run="r2", counts=counts | {"done": 4, "ignored": 5}, known=5, tokens=20, window_closed=False)
    joined = pipeline.report.joined([first, kept])
    assert joined.counts == counts | {"done": 7, "ignored": 2}, "the second run left what the first one had done"
    assert (joined.run, joined.known, joined.tokens, joined.seconds) == ("r2", 2, 30, 2.0)
    assert not joined.window_closed
