"""`cloister status`: refused jobs, refused runs, a run on its way and one that was cut off."""

import json
import os
import re
import shutil
import subprocess
import time
from collections import namedtuple
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import audit
import pipeline
from jobs.config.load import load_job, load_site
from jobs.config.plan import make_plan
from jobs.config.workspace import Workspace
from jobs.progress import LineWatcher, start_logging
from jobs.trust.needs import is_nearly_full
from jobs.visible import moment
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place, entries
from tests.jobs.nights.conftest import CRON, HOUR, served_by_turns
from tests.jobs.nights.test_calling import site
from tests.test_demo import CLOISTER


def plan_of(place: Place) -> pipeline.RunPlan:
    """That of the job `sort`."""
    workspace = Workspace(place.root, load_site(place.root / "site.yaml"))
    return make_plan(workspace, load_job(place.root / "jobs" / "sort.yaml"))


def test_status_says_why_a_job_is_refused(ready: Place, cloister: Cloister) -> None:
    ready.job("absent", SORT.replace("name: tiny", "name: none"))
    ready.job("odd", SORT.replace("name: tiny", "name: odd"))
    ready.job("unread", SORT.replace("name: tiny", "name: unread"))
    ready.job("write", "job: write\nmodel: {{name: tiny}}\ntask: {{type: batch}}\n")
    (ready.root / "models" / "odd.gguf").write_bytes(b"GGUF")
    (ready.root / "models" / "unread.gguf").symlink_to("/proc/self/mem")  # whose first byte not even root can read
    ready.drop("absent", "lease.txt", LEASE)
    jobs = {job["job"]: job for job in cloister("status", "--json").json["jobs"]}
    assert {name for name, job in jobs.items() if job["refused"]} == {"absent", "odd", "unread", "write"}
    assert {name for name, job in jobs.items() if job["state"] == "refused"} == {"absent", "odd", "unread", "write"}
    assert (jobs["absent"]["ready"], jobs["sort"]["state"]) == (1, "idle")
    told = cloister("status").out
    assert "  refused  model none: there is no file " in told
    assert "  waiting  1 file in inbox/absent; none is taken while the job is refused" in told
    assert "  refused  model odd: " in told
    assert "the task batch needs one that writes text" in told
    assert "cannot be read: Input/output error; allow the user who runs cloister to read it" in told
    assert jobs["sort"]["refused"] is None
    done = cloister("run", "unread")
    assert done.code == 3
    assert "cannot be read" in done.err
    assert "the next run goes on" not in done.err


def test_status_says_that_the_last_run_was_refused(answered: Place, cloister: Cloister) -> None:
    (answered.root / "models" / "tiny.gguf").rename(answered.root / "models" / "away.gguf")
    answered.drop("sort", "new.txt", INVOICE)
    for _ in range(2):
        assert cloister("run", "sort").code == 3
    (refused,) = entries(answered, "run.refused")  # once in a night
    assert refused["reason"].startswith("model tiny: there is no file models/tiny.gguf")
    (job,) = cloister("status", "--json").json["jobs"]
    assert (job["last_run"]["state"], job["last_run"]["reason"]) == ("refused", refused["reason"])
    assert (job["run_before"]["state"], job["run_before"]["seen"]) == ("finished", 1)
    told = cloister("status").out
    assert f"  last     refused {moment(refused['time'])}: model tiny: there is no file" in told
    assert "  before   finished 20" in told
    (answered.root / "models" / "away.gguf").rename(answered.root / "models" / "tiny.gguf")
    assert cloister("run", "sort").code == 0
    (job,) = cloister("status", "--json").json["jobs"]
    assert (job["last_run"]["state"], job["refused"]) == ("finished", None)
    assert cloister("audit", "verify").code == 0


def test_status_says_which_run_is_on_its_way_and_how_far(ready: Place, cloister: Cloister) -> None:
    for number in range(3):
        ready.drop("sort", f"{number}.txt", f"{LEASE} {number}")
    looks: list[tuple[Any, str]] = []

    class Looking(LineWatcher):
        """Asks for the status from another process, as the log's lock is asked for there."""

        def look(self) -> None:
            told = subprocess.run([CLOISTER, "status", "--json"], capture_output=True, check=True, text=True).stdout
            words = subprocess.run([CLOISTER, "status"], capture_output=True, check=True, text=True).stdout
            looks.append((json.loads(told), words))

        def found(self, total: int) -> None:
            super().found(total)
            self.look()

        def note(self, event: str, **facts: Any) -> None:
            super().note(event, **facts)
            if event == "part committed":
                self.look()

    run = pipeline.run(replace(plan_of(ready), part_documents=2), observer=Looking(start_logging(), "sort")).run
    assert [told["running"]["total"] for told, _ in looks] == [3, 3, 3]
    assert {told["running"]["run"] for told, _ in looks} == {run}
    assert {told["run"] for told, _ in looks} == {told["running"]["pid"] for told, _ in looks} == {os.getpid()}
    assert all(told["jobs"][0]["last_run"] is None for told, _ in looks)
    assert {told["jobs"][0]["state"] for told, _ in looks} == {"running"}
    assert next((told["running"]["done"], told["running"]["left"]) for told, _ in looks) == (0, 3)
    assert {"rate", "seconds_left"} <= looks[0][0]["running"].keys()
    assert "no documents" not in "".join(words for _, words in looks)
    assert f"run        process {os.getpid()}: sort since 20" in looks[0][1]
    assert ", 0 of 3 documents\n" in looks[0][1]
    assert "  last     this run is its first" in looks[1][1]
    assert "  totals   2 done" in looks[1][1]
    assert not (ready.root / "state" / "running.json").exists()
    assert cloister("status", "--json").json["running"] is None


@pytest.mark.parametrize(
    "body", ["", "{}", "[1]", '{"pid": "x"}', "9" * 5000, '{"pid": 1, "job": "\x1b[2J", "run": [], "since": ""}']
)
def test_what_is_no_file_of_a_run_is_passed_over(ready: Place, cloister: Cloister, body: str) -> None:
    site = load_site(ready.root / "site.yaml")
    (ready.root / "state" / "running.json").write_text(body)
    with audit.Log.open(ready.root / "audit", key_path=ready.root / site.log.key, public_key=site.log.public_key):
        told = cloister("status", "--json")
    assert (told.code, told.json["running"]) == (0, None)


def test_a_run_that_was_cut_off_says_what_it_did(ready: Place, cloister: Cloister) -> None:
    class Dying(LineWatcher):
        """As a process that is killed once a part is committed."""

        def note(self, event: str, **facts: Any) -> None:
            if event == "part committed":
                raise SystemError

    for number in range(3):
        ready.drop("sort", f"{number}.txt", f"{LEASE} {number}")
    with pytest.raises(SystemError):
        pipeline.run(replace(plan_of(ready), part_documents=2), observer=Dying(start_logging(), "sort"))
    told = cloister("status").out
    assert "  last     begun 20" in told
    assert ", not ended: 2 done so far; the next run goes on" in told
    assert cloister("run", "sort").code == 0
    assert "  last     finished 20" in cloister("status").out


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/New_York"])
def test_times_are_of_one_zone_and_whole_minutes(
    answered: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    """Whatever the zones of the jobs are."""
    for name, of in (("berlin", "Europe/Berlin"), ("tokyo", "Asia/Tokyo")):
        answered.job(name, SORT + f'schedule: {{{{cron: "0 22 * * *", timezone: {of}}}}}\n')
    try:
        with monkeypatch.context() as patched:
            patched.setenv("TZ", zone)
            time.tzset()
            own, told = datetime.now().astimezone().strftime("%Z"), cloister("status").out
    finally:
        time.tzset()
    times = re.findall(r"20\d\d-\d\d-\d\d.\d\d:\d\d\S* ?\S*", told)
    assert len(times) == 3
    for each in times:
        assert re.fullmatch(rf"20\d\d-\d\d-\d\d \d\d:\d\d {re.escape(own)}[:,]?", each), each
    assert "(Europe/Berlin), next" in told


def kinds(cloister: Cloister) -> list[tuple[str, str | None]]:
    done = cloister("status", "--check", "--json")
    assert done.code == done.json["exit_code"] == (7 if done.json["needs"] else 0)
    return [(need["kind"], need["job"]) for need in done.json["needs"]]


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk with room, whatever machine this is."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 40, 1 << 39, 1 << 39))


def test_nothing_needs_a_person(answered: Place, cloister: Cloister) -> None:
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
