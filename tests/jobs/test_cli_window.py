"""A job with a window on the command line: exit code 6, and what is told of it."""

from datetime import datetime, timedelta

import pytest

import jobs.cli.run
import pipeline
from jobs.config.job import JobConfig
from jobs.console.pages.home import grid
from jobs.nights.ahead import with_window
from tests.jobs.conftest import LEASE, SORT, Cloister, Place

WINDOW = SORT + 'window: {{until: "06:00"}}\n'


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are given a day too late for the window that was meant."""

    def of_yesterday(plan: pipeline.RunPlan, config: JobConfig, due: datetime) -> pipeline.RunPlan:
        return with_window(plan, config, due - timedelta(days=1))

    monkeypatch.setattr(jobs.cli.run, "with_window", of_yesterday)


@pytest.mark.usefixtures("late")
def test_a_window_that_closed_is_exit_6_and_no_failure_wherever_it_is_told(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", WINDOW)
    ready.job("open")
    path = ready.drop("sort", "lease.txt", LEASE)
    ready.drop("open", "lease.txt", LEASE)
    done = cloister("run", "sort", "open")
    assert done.code == 6
    assert "sort: the window closed before the first document was finished" in done.out
    assert "the rest is first in the next run" in done.out
    assert path.exists()
    assert len(ready.parts("open")) == 1  # the window of one job is not that of another
    told = cloister("run", "sort", "--json").json
    assert told["exit_code"] == 6
    assert (told["runs"][0]["window_closed"], told["runs"][0]["interrupted"]) == (True, False)
    assert "  last     window closed 20" in cloister("status").out
    last = next(job for job in cloister("status", "--json").json["jobs"] if job["job"] == "sort")["last_run"]
    assert (last["state"], last["counts"]["pending"]) == ("window_closed", 1)
    ready.drop("sort", "empty.txt", "")
    assert cloister("retry", "sort").code == 0  # it takes nothing from the folder, and nothing has failed


@pytest.mark.usefixtures("late")
def test_documents_that_failed_before_wait_for_the_next_window_too(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "empty.txt", "")
    assert cloister("run", "sort").code == 1
    ready.job("sort", WINDOW)
    assert cloister("retry", "sort").code == 6
    assert (ready.root / "failed" / "sort" / "empty.txt").exists()


def test_check_says_until_when_the_next_run_may_compute(
    ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready.job("sort", WINDOW + 'schedule: {{cron: "0 22 24 12 *", timezone: Europe/Berlin}}\n')
    told = cloister("check", "sort").out
    assert "  window  until 06:00 (Europe/Berlin); from the next start, until " in told
    assert "-12-25 06:00 CET" in told
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    ready.job("sort", WINDOW)
    assert "  window  until 06:00 (Asia/Tokyo); if it began now, until " in cloister("check", "sort").out
    ready.job("sort")
    assert "  window " not in cloister("check", "sort").out


def test_check_refuses_a_window_that_excludes_every_start(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", WINDOW + 'schedule: {{cron: "0 6 * * 1-5", timezone: UTC}}\n')
    done = cloister("check", "sort")
    assert done.code == 2
    assert "jobs/sort.yaml:10:17: a window until 06:00 for a job that only starts at 06:00" in done.out


def test_the_console_shows_a_night_whose_window_closed_as_no_failure() -> None:
    night = pipeline.Night(
        "2026-11-27", "sort", "window_closed", None, ("r",), "", None, 1.0, {"done": 3, "failed": 1, "pending": 9}
    )
    _, cells = grid([night], None)
    cell = cells["sort"]["2026-11-27"]
    assert (cell.look, cell.number, cell.says) == ("window-closed", 4, "window closed")
