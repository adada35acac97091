"""Each cause of `notify` is provoked, and the command that is called says what it got; metrics are written."""

import io
import json
import re
import stat
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import audit
import jobs.cli.run
import pipeline
from jobs.config.job import JobConfig
from jobs.config.workspace import open_workspace
from jobs.nights.ahead import with_window
from jobs.nights.calling import Calling
from jobs.nights.ledger import Schedules
from jobs.nights.served import RETRY_SECONDS
from jobs.nights.service import Service
from jobs.nights.wake import Wake
from jobs.progress import start_logging
from jobs.stop import Stop
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place, entries
from tests.pages import ROOT

FILE = ROOT / "configs" / "notify" / "file.sh"
FORM = "%Y-%m-%dT%H:%M:%S.%fZ"
ALL = "success, failure, window_closed, refused, nothing_arrived, unlike"
NOTIFY = f"notify: {{{{command: [{FILE}, told.jsonl], on: [{ALL}]}}}}\n"
NIGHTLY = SORT.replace("model:", 'schedule: {{cron: "0 22 * * *", timezone: UTC}}\nmodel:')


def told(place: Place, name: str = "told.jsonl") -> list[dict[str, Any]]:
    """What the command got, and gets no second time."""
    file = place.root / name
    lines = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return [json.loads(line) for line in lines]


def site(place: Place, *lines: str, days: int | None = None) -> None:
    """Adds lines to site.yaml, and to its log the days after which somebody has to verify it."""
    file = place.root / "site.yaml"
    text = file.read_text()
    if days is not None:
        text = text.replace("\nlog:\n", f"\nlog:\n  verify_days: {days}\n")
        assert "verify_days" in text
    file.write_text(text.rstrip() + "\n" + "".join(f"{line}\n" for line in lines))


def test_success_says_what_came_of_the_run(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", SORT + NOTIFY)
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    (said,) = told(ready)
    assert (said["cause"], said["job"], said["workspace"]) == ("success", "sort", str(ready.root))
    assert said["sentence"] == "The one document was answered; none needs a person."
    assert (said["counts"]["done"], said["counts"]["failed"]) == (1, 0)
    assert said["run"] == entries(ready, "run.finished")[0]["run"]
    assert datetime.fromisoformat(said["time"]).tzinfo is not None
    (record,) = entries(ready, "notified")
    assert (record["cause"], record["job"], record["code"], record["problem"]) == ("success", "sort", 0, None)
    assert record["command"] == f"{FILE} told.jsonl"
    assert cloister("run", "sort").code == 0
    assert told(ready) == [], "a job without a schedule that finds nothing is no news"
    assert cloister("audit", "verify").code == 0


def test_failure_by_documents_also_of_a_retry(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", SORT + NOTIFY)
    ready.drop("sort", "broken.pdf", "%PDF-1.7 and nothing else")
    assert cloister("run", "sort").code == 1
    (said,) = told(ready)
    assert (said["cause"], said["counts"]["failed"]) == ("failure", 1)
    assert "1 failed" in said["sentence"]
    assert "broken" not in json.dumps(said), "no name of a document"
    assert cloister("retry", "sort").code == 1
    assert [said["cause"] for said in told(ready)] == ["failure"]


def test_refused_is_a_failure_too(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", SORT + NOTIFY)
    site(ready, f"notify: {{command: [{FILE}, site.jsonl], on: [failure]}}")
    (ready.root / "models" / "tiny.gguf").unlink()
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 3
    for name in ("told.jsonl", "site.jsonl"):
        (said,) = told(ready, name)
        assert (said["cause"], said["job"], said["run"]) == ("refused", "sort", None)
        assert "there is no file" in said["sentence"]


def test_a_job_with_a_mistake_is_told_to_the_site(ready: Place, cloister: Cloister) -> None:
    site(ready, f"notify: {{command: [{FILE}, told.jsonl], on: [refused]}}")
    ready.job("sort", SORT + "more: 1\n")
    assert cloister("run", "sort").code == 2
    (said,) = told(ready)
    assert (said["cause"], said["job"]) == ("refused", "sort")
    assert "unknown key 'more'" in said["sentence"]


def test_a_window_that_closed_is_told_and_is_no_success(
    ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_yesterday(plan: pipeline.RunPlan, config: JobConfig, due: datetime) -> pipeline.RunPlan:
        return with_window(plan, config, due - timedelta(days=1))

    monkeypatch.setattr(jobs.cli.run, "with_window", of_yesterday)
    ready.job("sort", NIGHTLY + NOTIFY + 'window: {{until: "06:00"}}\n')
    ready.drop("sort", "lease.txt", LEASE)
    ready.drop("sort", "invoice.txt", INVOICE)
    assert cloister("run", "sort").code == 6
    (said,) = told(ready)
    assert (said["cause"], said["job"], said["counts"]["pending"]) == ("window_closed", "sort", 2)
    assert said["sentence"] == "The window closed before all documents were done; 2 wait for the next run."
    assert [entry["cause"] for entry in entries(ready, "notified")] == ["window_closed"]


def test_nothing_arrived_is_told_of_jobs_with_a_schedule(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", NIGHTLY + NOTIFY)
    assert cloister("run", "sort").code == 0
    assert [said["cause"] for said in told(ready)] == ["nothing_arrived"]
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    assert [said["cause"] for said in told(ready)] == ["success"]


@pytest.mark.parametrize("private", [False, True])
def test_a_night_unlike_the_others_is_told(
    ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch, private: bool
) -> None:
    nights: list[datetime] = []

    class Clock(datetime):
        """The clock that names runs."""

        @classmethod
        def now(cls, zone: Any = None) -> datetime:
            return nights[-1]

    ready.job("sort", SORT + NOTIFY + f"private: {str(private).lower()}\n")
    import pipeline.run  # noqa: F401

    monkeypatch.setattr(sys.modules["pipeline.run"], "datetime", Clock)
    for night in range(5):
        nights.append(datetime(2026, 11, 20 + night, 22, tzinfo=UTC))
        for number in range(30):
            name, text = ("bad{}.pdf", "%PDF-1.7 no {} {}") if night == 4 else ("lease{}.txt", LEASE + "{} {}\n")
            ready.drop("sort", name.format(number), text.format(night, number))
        assert cloister("run", "sort").code == (1 if night == 4 else 0)
    *_, failure, unlike = told(ready)
    assert [failure["cause"], unlike["cause"]] == ["failure", "unlike"]
    assert unlike["sentence"].startswith("How documents ended is unlike the nights before")
    assert ("instead of" in unlike["sentence"]) is not private


def test_a_log_that_was_not_verified_is_told_once_a_day(ready: Place, cloister: Cloister) -> None:
    site(ready, f"notify: {{command: [{FILE}, told.jsonl], on: [not_verified]}}", days=7)
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    now, warned = [datetime.now(UTC)], list[str]()
    calling = Calling(open_workspace(ready.root), warned.append, now=lambda: now[0])
    calling.look()
    assert told(ready) == []
    now[0] += timedelta(days=8)
    calling.look()
    (said,) = told(ready)
    assert (said["cause"], said["job"]) == ("not_verified", None)
    assert "verify_days: 7" in said["sentence"]
    assert cloister("audit", "verify").code == 0
    now[0] += timedelta(minutes=1)
    calling.look()
    assert (told(ready), warned) == ([], [])


def test_it_is_told_again_the_next_day_only(ready: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp, real = audit.stamp_now(), datetime.now(UTC)
    monkeypatch.setattr(audit, "stamp_now", lambda: replace(stamp, time=f"{real - timedelta(days=3):{FORM}}"))
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    monkeypatch.undo()
    monkeypatch.chdir(ready.root)
    site(ready, f"notify: {{command: [{FILE}, told.jsonl], on: [not_verified]}}", days=1)
    place, now, times = open_workspace(ready.root), [real], []
    for hours in (0, 1, 30):
        now[0] = real + timedelta(hours=hours)
        Calling(place, lambda _: None, now=lambda: now[0]).look()
        times.append(len(told(ready)))
    assert times == [1, 0, 1]


def test_a_command_that_hangs_fails_or_floods_is_a_recorded_warning(ready: Place, cloister: Cloister) -> None:
    for script, seconds in (("sleep 600", 0.3), ("echo no route; exit 9", 30), ("yes", 30)):
        notify = f'notify: {{{{command: [/bin/sh, -c, "{script}"], on: [success], seconds: {seconds}}}}}\n'
        ready.job("sort", SORT + notify)
        ready.drop("sort", "new.txt", f"{LEASE}{script}\n")
        done = cloister("run", "sort")
        assert done.code == 0
        assert "notify, success: /bin/sh -c " in done.err
    hung, failed, flooded = entries(ready, "notified")
    assert (hung["code"], hung["problem"]) == (None, "timed out: it was killed after 0.3 seconds")
    assert (failed["code"], failed["problem"]) == (9, "it ended with exit code 9")
    assert "wrote more than" in flooded["problem"]
    assert "audit" not in cloister("audit", "verify").err
    assert cloister("audit", "verify").code == 0


def test_a_service_tells_of_runs_and_of_a_refusal_once(ready: Place) -> None:
    site(ready, f"notify: {{command: [{FILE}, told.jsonl], on: [success, refused]}}")
    out, now = io.StringIO(), [0.0]
    with Stop() as stop, Schedules() as schedules, Wake() as wake:
        service = Service(open_workspace(ready.root), start_logging(out), stop, schedules, wake, lambda: now[0])

        def turn() -> list[str]:
            for _ in range(2):
                now[0] += RETRY_SECONDS
                service.look()
            while service.run_next():
                pass
            return [said["cause"] for said in told(ready)]

        assert turn() == []
        ready.drop("sort", "lease.txt", LEASE)
        assert turn() == ["success"]
        (ready.root / "models" / "tiny.gguf").unlink()
        ready.drop("sort", "invoice.txt", INVOICE)
        assert turn() == ["refused"]
        assert turn() == []
        ready.job("sort", SORT + "more: 1\n")
        assert turn() == ["refused"]
    assert "somebody may not" not in out.getvalue()


def test_metrics_are_written_after_each_run(ready: Place, cloister: Cloister) -> None:
    site(ready, "metrics: state/cloister.prom")
    ready.drop("sort", "lease.txt", LEASE)
    began = time.time()
    assert cloister("run", "sort").code == 0
    file = ready.root / "state" / "cloister.prom"
    text = file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert text.endswith("\n")
    found = samples(text)
    assert found['cloister_documents{job="sort",state="done"}'] == 1
    assert found['cloister_waiting_files{job="sort"}'] == 0
    assert found["cloister_log_entries"] == len(entries(ready))
    assert began - 2 <= found['cloister_last_success_timestamp_seconds{job="sort"}'] <= time.time() + 2
    assert found['cloister_last_run_seconds{job="sort"}'] > 0
    ready.drop("sort", "broken.pdf", "%PDF-1.7 and nothing else")
    before = found['cloister_last_success_timestamp_seconds{job="sort"}']
    assert cloister("run", "sort").code == 1
    found = samples(file.read_text())
    assert found['cloister_documents{job="sort",state="failed"}'] == 1
    assert found['cloister_last_success_timestamp_seconds{job="sort"}'] == before
    assert cloister("audit", "verify").code == 0
    cloister("run", "sort")
    assert "cloister_last_verified_timestamp_seconds" in samples(file.read_text())


def samples(text: str) -> dict[str, float]:
    """The samples of a text in Prometheus' format, which has a HELP and a TYPE before those of each family."""
    found, family = {}, ""
    for line in text.splitlines():
        if match := re.fullmatch(r"# TYPE (\w+) gauge", line):
            family = match[1]
        elif not re.fullmatch(r"# HELP \w+ [^\n]+", line):
            name, value = line.rsplit(" ", 1)
            assert re.fullmatch(rf'{family}(\{{\w+="[^"\\]*"(,\w+="[^"\\]*")*\}})?', name), line
            found[name] = float(value)
    return found


def test_metrics_that_cannot_be_written_are_a_warning(ready: Place, cloister: Cloister) -> None:
    site(ready, "metrics: none/cloister.prom")
    ready.drop("sort", "lease.txt", LEASE)
    done = cloister("run", "sort")
    assert done.code == 0
    assert "metrics: none/cloister.prom cannot be written: " in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("metrics: state/cloister.txt", "the file 'state/cloister.txt'"),
        ("notify: {command: []}", "at least 1 command"),
        ("notify: {command: mail}", 'put it in brackets: ["mail"]'),
        ("notify: {command: [mail], on: [sucess]}", "did you mean 'success'?"),
        ("notify: {command: [mail], on: [failure, failure]}", "'failure', which is already cause 1"),
        ("notify: {command: [mail], seconds: 0}", "greater than 0"),
    ],
)
def test_mistakes_are_told_with_their_place(ready: Place, cloister: Cloister, line: str, said: str) -> None:
    site(ready, line)
    done = cloister("status")
    assert done.code == 2
    assert re.search(r"^site\.yaml:\d+:\d+: ", done.err, re.M)
    assert said in done.err


def test_a_job_cannot_ask_for_what_concerns_the_site(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", SORT + "notify: {{command: [mail], on: [not_verified]}}\n")
    done = cloister("check", "sort")
    assert done.code == 2
    assert "jobs/sort.yaml:" in done.err + done.out
