"""`cloister serve`: what starts a job, what keeps it from starting, and how the service ends."""

import errno
import hashlib
import json
import re
import shutil
import signal
import time
from datetime import UTC, datetime

import pytest

import audit
from jobs.config.workspace import open_workspace
from jobs.nights.served import QUIET_SECONDS, RETRY_SECONDS
from jobs.nights.service import Service
from jobs.nights.wake import Wake
from jobs.progress import start_logging
from jobs.stop import Stop
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place, entries
from tests.jobs.nights.clockwork import Clockwork
from tests.jobs.nights.conftest import CRON, HOUR, Bench
from tests.jobs.nights.serving import serve, wait_for


def test_a_file_starts_its_job_and_only_a_new_one_starts_it_again(bench: Bench) -> None:
    assert bench.turn() == ["job read"]
    bench.place.drop("sort", "lease.txt", LEASE)
    assert "run finished" in bench.turn()
    assert len(bench.place.parts("sort")) == 1
    assert bench.turn() == []
    bench.place.drop("sort", "invoice.txt", INVOICE)
    assert "run finished" in bench.turn()
    assert len(bench.place.parts("sort")) == 2
    assert bench.service.totals["sort"] == {"runs": 2, "done": 2} | dict.fromkeys(
        ("abstained", "review", "failed", "duplicate", "ignored", "pending"), 0
    )


def test_files_that_stay_do_not_start_it_again(bench: Bench) -> None:
    bench.place.job("sort", afterwards="keep")
    kept = bench.place.drop("sort", "lease.txt", LEASE)
    assert "run finished" in bench.turn()
    assert kept.exists()
    assert bench.turn() == []
    kept.write_text(INVOICE)
    assert "run finished" in bench.turn()


def test_word_of_a_change_makes_the_next_look_come_early(bench: Bench) -> None:
    inbox = bench.place.root / "inbox" / "sort"
    end = time.monotonic() + 100
    while bench.turn() or not bench.service.wake.tells(inbox):
        assert time.monotonic() < end
    while bench.service.wake.stirred() or bench.turn():
        assert time.monotonic() < end
    bench.place.drop("sort", "lease.txt", LEASE)
    begun = bench.now[0]
    while not bench.service.run_next():
        assert time.monotonic() < end
        bench.now[0] += 1e-3
        bench.service.look()
    assert bench.now[0] - begun < QUIET_SECONDS
    assert len(bench.place.parts("sort")) == 1


def test_a_batch_is_waited_for_and_one_that_may_be_cut_off_is_run_once(bench: Bench) -> None:
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in (("a", LEASE), ("b", INVOICE))}
    bench.place.drop("sort", "manifest.sha256", "".join(f"{digest}  {name}\n" for name, digest in digests.items()))
    bench.place.drop("sort", "a", LEASE)
    assert "run finished" in bench.turn()  # at first only a run can tell whether b is processed
    assert bench.turn() == []
    assert bench.service.totals["sort"]["pending"] == 1
    bench.place.drop("sort", "b", LEASE)
    assert "run finished" in bench.turn()  # that it is not the right one
    assert bench.turn() == []
    bench.place.drop("sort", "b", INVOICE)
    assert "run finished" in bench.turn()
    assert bench.service.totals["sort"]["done"] == 2


def test_a_bad_file_is_reported_and_its_job_does_not_run_while_others_do(bench: Bench) -> None:
    bench.place.job("other")
    bench.place.job("sort", SORT.replace("labels", "lables"))
    bench.place.drop("sort", "lease.txt", LEASE)
    bench.place.drop("other", "lease.txt", LEASE)
    events = bench.turn()
    assert events.count("job file refused, the job is not run") == 2  # a line for each problem
    refused = [line["problem"] for line in bench.lines() if line["event"] == "job file refused, the job is not run"]
    assert refused[1].startswith("jobs/sort.yaml:7:3: unknown key 'lables' in task (expected: one of ")
    assert refused[1].endswith("; remedy: did you mean 'labels'?)")
    assert (len(bench.place.parts("sort")), len(bench.place.parts("other"))) == (0, 1)
    assert bench.turn() == []  # told once
    bench.place.job("sort")
    assert "run finished" in bench.turn()
    assert [(each["job"], each["kept"]) for each in entries(bench.place, "job.broken")] == [("sort", False)]
    assert [each["job"] for each in entries(bench.place, "job.mended")] == ["sort"]


def test_the_last_good_version_of_a_job_goes_on_while_its_file_is_broken(bench: Bench) -> None:
    assert bench.turn() == ["job read"]
    file = bench.place.job("sort", SORT.replace("labels", "lables"))
    bench.place.drop("sort", "lease.txt", LEASE)
    events = bench.turn()
    assert events[0] == "job file broken, its last good version goes on"
    assert "run finished" in events
    assert len(bench.place.parts("sort")) == 1
    assert entries(bench.place, "job.broken")[0]["kept"]
    file.unlink()
    bench.place.drop("sort", "invoice.txt", INVOICE)
    assert bench.turn() == ["job file gone"]


def test_a_file_that_is_being_saved_is_not_read_by_halves(bench: Bench) -> None:
    bench.turn()
    file = bench.place.job("sort", "job: sort\n")
    bench.service.look()
    file.write_text(SORT.format(name="sort", afterwards="keep"))
    assert bench.turn() == ["job read"]


def test_a_refused_model_is_told_once_and_tried_again_when_it_changed(bench: Bench) -> None:
    model = bench.place.root / "models" / "tiny.gguf"
    shutil.copy(model, bench.place.root / "kept.gguf")
    model.write_bytes(b"no model")
    bench.place.drop("sort", "lease.txt", LEASE)
    assert bench.turn()[-1] == "job refused until its files change"
    assert bench.turn() == []
    shutil.copy(bench.place.root / "kept.gguf", model)
    assert "run finished" in bench.turn()


def test_a_job_that_demands_quality_runs_once_it_was_measured(bench: Bench, cloister: Cloister) -> None:
    (bench.place.root / "eval.csv").write_text("text,label\nThe rent of the flat,lease\nPlease pay the total,invoice\n")
    bench.place.job("sort", SORT + "quality: {{eval: eval.csv, floor: {{answered: 0.5}}}}\n")
    bench.place.drop("sort", "lease.txt", LEASE)
    assert bench.turn()[-1] == "job refused until its files change"
    assert bench.turn() == []
    assert cloister("qualify", "sort").code == 0
    bench.turn()
    assert len(bench.place.parts("sort")) == 1


def test_a_job_whose_model_is_revoked_is_tried_again_when_that_is_decided_otherwise(
    bench: Bench, cloister: Cloister
) -> None:
    assert cloister("model", "revoke", "tiny", "--reason", "a doubt").code == 0
    bench.place.drop("sort", "lease.txt", LEASE)
    assert bench.turn() == ["job read", "job refused until its files change"]
    assert "a doubt" in bench.lines()[-1]["problem"]
    assert bench.turn() == []
    assert cloister("model", "admit", "tiny", "--licence", "MIT", "--origin", "here", "--again").code == 0
    assert "run finished" in bench.turn()
    assert cloister("model", "revoke", "tiny", "--reason", "another doubt").code == 0
    bench.place.drop("sort", "invoice.txt", INVOICE)
    assert bench.turn()[-1] == "job refused until its files change"
    assert (bench.place.root / "inbox" / "sort" / "invoice.txt").exists()
    assert bench.turn() == []


def test_what_would_keep_a_job_from_running_tonight_is_told_today(bench: Bench) -> None:
    bench.place.job("sort", CRON.replace("name: tiny", "name: absent"))
    assert bench.turn() == ["job read", "job refused until its files change"]
    bench.now[0] += 10 * HOUR
    assert bench.turn() == []
    assert bench.turn() == ["start left out"]
    (decided,) = entries(bench.place, "start.decided")
    assert (decided["due"], decided["outcome"]) == ("2027-01-15T22:00:00+00:00", "refused")


def test_a_missing_folder_is_told_once_and_the_job_runs_when_it_comes(bench: Bench) -> None:
    folder = bench.place.root.parent / "mounted"
    file = bench.place.root / "jobs" / "sort.yaml"
    file.write_text(re.sub(r"settle_seconds: 0,", f"settle_seconds: 0, folder: {folder},", file.read_text()))
    assert bench.turn() == ["job read", "job refused until its files change"]
    assert bench.turn() == []
    folder.mkdir()
    (folder / "lease.txt").write_text(LEASE)
    assert "run finished" in bench.turn()


def test_a_held_workspace_is_waited_for(bench: Bench) -> None:
    site = bench.service.workspace.site.log
    root = bench.place.root
    bench.place.drop("sort", "lease.txt", LEASE)
    with audit.Log.open(root / "audit", key_path=root / site.key, public_key=site.public_key):
        assert bench.turn()[-1] == "run waits: the workspace is held"
        assert not bench.service.run_next()  # not before some seconds have passed
    bench.now[0] += RETRY_SECONDS
    assert bench.service.run_next()
    assert len(bench.place.parts("sort")) == 1


def test_a_full_disk_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    bench.place.drop("sort", "lease.txt", LEASE)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.run", full)
        assert bench.turn()[-1] == "run waits: the workspace cannot be read or written"
    assert "run finished" in bench.turn()


def test_a_cron_line_starts_a_job_once_and_files_do_not(bench: Bench) -> None:
    bench.place.job("sort", CRON)
    bench.place.drop("sort", "lease.txt", LEASE)
    assert bench.turn() == ["job read"]
    assert bench.lines()[0]["next_start"] == "2027-01-15T22:00:00+00:00"
    bench.now[0] += 10 * HOUR
    assert bench.turn().count("run finished") == 1
    assert bench.turn() == []
    (decided,) = entries(bench.place, "start.decided")
    (started,) = entries(bench.place, "run.started")
    assert (decided["due"], decided["outcome"], decided["of_run"]) == (
        "2027-01-15T22:00:00+00:00",
        "ran",
        started["run"],
    )


def test_a_long_log_is_read_bit_by_bit_and_then_starts_are_found_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.place.job("sort", CRON)
    bench.turn()
    monkeypatch.setattr("jobs.nights.service.READ_SECONDS", 0.0)
    root, now = bench.place.root, bench.now
    now[0] += 10 * HOUR
    with Stop() as stop, Clockwork(lambda: now[0]) as schedules, Wake() as wake:
        log = start_logging(bench.out)
        later = Service(open_workspace(root), log, stop, schedules, wake, lambda: now[0], lambda: now[0])
        later.look()
        assert not later.run_next()
        for _ in range(2):
            later.look()
        assert later.run_next()  # the start of 22:00, at which no service was there
        later.look()
    assert [each["outcome"] for each in entries(bench.place, "start.decided")] == ["ran"]


def test_a_log_that_cannot_be_trusted_ends_the_service(bench: Bench) -> None:
    bench.place.drop("sort", "lease.txt", LEASE)
    (bench.place.root / "audit" / "checkpoint").write_text("")
    with pytest.raises(audit.AuditError):
        bench.turn()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_two_jobs_served_until_a_signal(ready: Place, cloister: Cloister, number: signal.Signals) -> None:
    ready.job("other")
    with serve(ready) as served:
        wait_for(served, "job read", "sort")
        ready.drop("other", "lease.txt", LEASE)
        wait_for(served, "run finished", "other")
        ready.drop("sort", "invoice.txt", INVOICE)
        wait_for(served, "run finished", "sort")
        assert cloister("status", "--json").json["serve"] == served.pid
        begun = time.monotonic()
        served.send_signal(number)
        out, _ = served.communicate(timeout=300)
    assert served.returncode == 0
    assert time.monotonic() - begun < 60
    assert json.loads(out)["jobs"]["other"]["done"] == 1
    assert len(cloister("results", "--json").json) == 2
    assert cloister("audit", "verify").code == 0


def test_a_signal_during_a_run_commits_what_is_computed(ready: Place, cloister: Cloister) -> None:
    for n in range(300):
        ready.drop("sort", f"{n:03}.txt", f"{LEASE} Flat {n}.")
    with serve(ready) as served:
        wait_for(served, "documents found")
        served.terminate()
        wait_for(served, "run stopped, the rest stays pending")
        out, err = served.communicate(timeout=600)
    assert served.returncode == 0, err
    done = json.loads(out)["jobs"]["sort"]["done"]
    assert len(list((ready.root / "inbox" / "sort").iterdir())) == 300 - done
    assert cloister("audit", "verify").code == 0


def test_a_bad_log_ends_the_service_with_4(ready: Place, cloister: Cloister) -> None:
    (ready.root / "audit" / "checkpoint").write_text("")
    ready.drop("sort", "lease.txt", LEASE)
    with serve(ready) as served:
        out, err = served.communicate(timeout=600)
    assert served.returncode == 4, err
    assert json.loads(out)["exit_code"] == 4


def test_a_job_without_a_schedule_waits_for_the_end_of_the_window_that_closed(bench: Bench) -> None:
    """The files that are left would start it again at once, and once more, until the window is over."""
    bench.place.job("sort", SORT + 'window: {{until: "06:00"}}\n')
    midnight = datetime(2026, 11, 27, tzinfo=UTC).astimezone()
    morning = midnight.replace(hour=6, minute=0).timestamp() + 86400
    times = iter([morning - 100] * 2)
    bench.service.now = lambda: next(times, morning - 20)
    bench.place.drop("sort", "lease.txt", LEASE)
    bench.turn()
    assert len(bench.place.parts("sort")) == 1  # the window was open, and nothing known yet
    times = iter([morning - 100] * 1)
    bench.service.now = lambda: next(times, morning)
    bench.place.drop("sort", "invoice.txt", INVOICE)
    assert bench.turn()[-1] == "window closed, the rest is first in the next run"
    bench.service.now = lambda: morning + 60
    assert "run finished" in bench.turn()
    assert len(bench.place.parts("sort")) == 2


def test_a_start_that_waited_beyond_its_window_does_not_get_the_next_one(bench: Bench) -> None:
    bench.place.job("sort", CRON + 'window: {{until: "22:30"}}\n')
    bench.place.drop("sort", "lease.txt", LEASE)
    bench.turn()
    bench.now[0] += 11 * HOUR
    assert "window closed, the rest is first in the next run" in bench.turn()
    assert bench.place.parts("sort") == []
    assert entries(bench.place, "run.finished")[-1]["window_closed"]
