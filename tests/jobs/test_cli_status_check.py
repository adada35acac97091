"""`cloister status --check`: one line and exit 7 for each thing that needs a person."""

import shutil
from collections import namedtuple
from datetime import UTC, datetime

import pytest

import pipeline
from jobs.progress import LineWatcher, start_logging
from jobs.trust.needs import is_nearly_full
from tests.jobs.conftest import LEASE, SORT, Cloister, Place
from tests.jobs.nights.conftest import CRON, HOUR, served_by_turns
from tests.jobs.nights.test_calling import site
from tests.jobs.test_cli_status import plan_of


def kinds(cloister: Cloister) -> list[tuple[str, str | None]]:
    done = cloister("status", "--check", "--json")
    assert done.code == done.json["exit_code"] == (7 if done.json["needs"] else 0)
    return [(need["kind"], need["job"]) for need in done.json["needs"]]


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk with room, whatever machine this is."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 40, 1 << 39, 1 << 39))


def test_nothing_needs_a_person(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    done = cloister("status", "--check")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert kinds(cloister) == []


def test_jobs_that_are_broken_or_refused(ready: Place, cloister: Cloister) -> None:
    ready.job("odd", SORT + "more: 1\n")
    ready.job("absent", SORT.replace("name: tiny", "name: none"))
    assert kinds(cloister) == [("refused", "absent"), ("broken", "odd")]
    done = cloister("status", "--check")
    assert done.code == 7
    absent, odd = done.out.splitlines()
    assert absent.startswith("absent: The job is refused: model none: there is no file ")
    assert odd.startswith("odd: The job cannot be run: jobs/odd.yaml:")
    assert "; expected: one of " in odd
    assert "  " not in absent + odd


def test_a_last_run_that_failed(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "broken.pdf", "%PDF-1.7 and nothing else")
    assert cloister("run", "sort").code == 1
    assert kinds(cloister) == [("failed", "sort")]
    assert cloister("status", "--check").out.startswith("sort: 1 document failed in the last run")
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    assert kinds(cloister) == []


def test_a_run_that_was_refused_and_would_not_be_now(ready: Place, cloister: Cloister) -> None:
    model = ready.root / "models" / "tiny.gguf"
    model.rename(ready.root / "away")
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 3
    assert kinds(cloister) == [("refused", "sort")], "told once"
    (ready.root / "away").rename(model)
    assert kinds(cloister) == [("failed", "sort")]


def test_a_run_that_was_cut_off(ready: Place, cloister: Cloister) -> None:
    class Dying(LineWatcher):
        """As a process that is killed once a part is committed."""

        def note(self, event: str, **facts: object) -> None:
            if event == "part committed":
                raise SystemError

    ready.drop("sort", "lease.txt", LEASE)
    with pytest.raises(SystemError):
        pipeline.run(plan_of(ready), observer=Dying(start_logging(), "sort"))
    assert kinds(cloister) == [("cut_off", "sort")]
    assert cloister("run", "sort").code == 0
    assert kinds(cloister) == []


def test_a_log_that_was_not_verified(ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch) -> None:
    import jobs.trust.needs as module

    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    site(ready, days=7)
    assert kinds(cloister) == []

    class Later(module.datetime):
        """The clock in eight days."""

        @classmethod
        def now(cls, zone=None):  # type: ignore[no-untyped-def]
            return module.datetime(2100, 1, 1, tzinfo=zone)

    monkeypatch.setattr(module, "datetime", Later)
    assert kinds(cloister) == [("not_verified", None)]
    assert cloister("status", "--check").out.startswith("site: The log was not verified and it began on ")


def test_a_disk_that_is_nearly_full(ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 40, (1 << 40) - 1000, 1000))
    assert kinds(cloister) == [("disk", None)], "a disk is told once"
    assert cloister("status", "--check").out == "site: The disk of . is nearly full: 0 MiB are free.\n"


def test_what_is_nearly_full() -> None:
    gib = 1 << 30
    assert is_nearly_full(1 * gib, gib // 5)
    assert not is_nearly_full(1 * gib, gib // 3)
    assert is_nearly_full(100 * gib, 4 * gib)
    assert not is_nearly_full(100 * gib, 6 * gib)
    assert is_nearly_full(10_000 * gib, 9 * gib)
    assert not is_nearly_full(10_000 * gib, 11 * gib)


def test_jobs_that_do_not_fit_each_other(ready: Place, cloister: Cloister) -> None:
    ready.job("other", SORT.replace("input: {{", "input: {{folder: inbox/sort, "))
    assert cloister("check").code == 2
    assert kinds(cloister) == [("broken", "other"), ("broken", "sort")]


def test_starts_that_nobody_makes(ready: Place, cloister: Cloister) -> None:
    """A service was there once, and none is now."""
    ready.job("sort", CRON)
    now = [datetime.now(UTC).timestamp() - 26 * HOUR]  # so one daily start is more than an hour late, and hardly a day
    with served_by_turns(ready, now) as bench:
        bench.turn()
    assert kinds(cloister) == [("not_served", "sort")]
    assert cloister("status", "--check").out.startswith("sort: No `cloister serve` runs, and the start of 20")
    now[0] = datetime.now(UTC).timestamp()
    with served_by_turns(ready, now) as bench:
        bench.turn()
        bench.service.look()
    assert kinds(cloister) == []
