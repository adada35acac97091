"""Requests for runs: which are taken up, when their runs begin, and what is said to whoever follows them."""

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

import audit
import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace, open_workspace
from jobs.errors import Ending, ExitCode, Problem
from jobs.nights.follow import Follower
from jobs.nights.ledger import Schedules
from jobs.nights.requests import (
    Answer,
    Handed,
    Requests,
    format_request,
    leave_request,
    make_folder,
    new_request,
    read_answer,
    runs_of,
    write_answer,
)
from jobs.nights.service import Service
from jobs.nights.wake import Wake
from jobs.progress import LineWatcher, start_logging
from jobs.stop import Stop
from tests.jobs.conftest import LEASE, SORT, Place, entries, held

YEARLY = SORT.replace("model:", 'schedule: {{cron: "0 0 1 1 *", timezone: UTC}}\nmodel:')
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to another user")
HOLD = "import sys; from pathlib import Path; from jobs.stop import service_lock\n"
HOLD += "with service_lock(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
REPORT = pipeline.RunReport(
    run="20261127T000000Z-abcdef",
    job="sort",
    counts={"done": 1, "failed": 2},
    known=0,
    parts=(Path("outbox/sort/a.parquet"),),
    tokens=7,
    seconds=1.5,
    interrupted=False,
    model_sha256="0" * 64,
    pinned=True,
    retried=False,
    lost=(("a.jsonl", "gone"),),
    ignored=(("b", "hidden"),),
    pending=(("c\udcff.txt", "settling"),),
    failed=(("d", "empty", "no text"), ("e", "timeout", "60 s")),
    isolation=pipeline.records.Isolation("best_effort", ("user",)),
    report=Path("outbox/sort/night.html"),
    unlike=("More failed than before.",),
)


@dataclass
class Bench:
    """A service whose loop the test turns."""

    place: Place
    service: Service
    out: io.StringIO

    @property
    def site(self) -> pipeline.Site:
        return make_site(self.service.workspace)

    def ask(self, job: str = "sort") -> Handed:
        """Leave a request for a run of the job."""
        handed = new_request(self.site, job)
        leave_request(self.site, handed)
        return handed

    def turn(self) -> list[str]:
        """Two looks and all runs that may begin; the events that were told."""
        self.out.seek(0)
        self.out.truncate()
        for _ in range(2):
            self.service.look()
        while self.service.run_next():
            pass
        return [json.loads(line)["event"] for line in self.out.getvalue().splitlines()]


@pytest.fixture
def bench(ready: Place) -> Iterator[Bench]:
    """A service of the job `sort`, which starts it only when it is asked to."""
    ready.job("sort", YEARLY)
    out = io.StringIO()
    with Stop() as stop, Schedules() as schedules, Wake() as wake:
        service = Service(open_workspace(ready.root), start_logging(out), stop, schedules, wake, lambda: 0.0)
        yield Bench(ready, service, out)


def left(bench: Bench) -> list[str]:
    return sorted(path.name for path in runs_of(bench.site).path.iterdir())


def requests_of(bench: Bench) -> list[list[str]]:
    """For each run that the log knows, the ids of the requests that it was for."""
    return [[each["id"] for each in entry["requests"]] for entry in entries(bench.place, "run.started")]


def test_requests_that_wait_together_have_one_run(bench: Bench) -> None:
    bench.place.drop("sort", "lease.txt", LEASE)
    asked = [bench.ask() for _ in range(2)]
    assert bench.turn().count("run finished") == 1
    assert [sorted(each) for each in requests_of(bench)] == [sorted(each.id for each in asked)]
    (began,) = [
        entry for entry in pipeline.records.read_entries(bench.site) if isinstance(entry, pipeline.records.RunStarted)
    ]
    assert began.says() == f"sort: a run began with 1 file and the model tiny, as {began.user} asked."
    assert left(bench) == []
    assert bench.turn() == []


def test_a_request_whose_run_ended_before_the_service_was_killed_is_not_run_again(bench: Bench) -> None:
    """Killed between the last entry of the run and the removal of the request."""
    bench.place.drop("sort", "lease.txt", LEASE)
    handed = bench.ask()
    bench.turn()
    kept = bench.place.drop("sort", "later.txt", LEASE)
    for name in (f"{handed.id}.json", f"{handed.id}.taken"):
        (runs_of(bench.site).path / name).write_bytes(format_request(handed))
        again = Requests(bench.service.workspace, bench.site, bench.service.log)
        assert again.take({}, {}) == {}
        assert not again.asks("sort")
    assert left(bench) == []
    assert kept.exists()


def test_one_that_was_cut_off_is_run_again(bench: Bench) -> None:
    handed = bench.ask()
    first = Requests(bench.service.workspace, bench.site, bench.service.log)
    first.take({}, {})
    assert left(bench) == [f"{handed.id}.taken"]
    next_ = Requests(bench.service.workspace, bench.site, bench.service.log)
    assert next_.asks("sort")


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("x.json", b"{}", "not what a command writes"),
        ("0" * 32 + ".json", b"no json", None),
        ("0" * 32 + ".json", b'{"v": 1}' * 1000, "longer than 4,096 bytes"),
        ("0" * 32 + ".taken", b"[]", "not what a command writes"),
    ],
)
def test_what_is_no_request_is_set_aside_once(bench: Bench, name: str, data: bytes, reason: str | None) -> None:
    make_folder(bench.site)
    (runs_of(bench.site).path / name).write_bytes(data)
    requests = Requests(bench.service.workspace, bench.site, bench.service.log)
    assert requests.take({}, {}) == requests.take({}, {}) == {}
    (told,) = [json.loads(line) for line in bench.out.getvalue().splitlines()]
    assert (told["event"], told["file"]) == ("request for a run refused", name)
    assert reason is None or told["reason"] == reason
    assert left(bench) == [f"{Path(name).stem}.refused"]


@pytest.mark.parametrize(
    ("member", "value"),
    [("id", "1" * 32), ("job", "../sort"), ("job", "a/b"), ("job", 1), ("at", "2026-11-27"), ("size", -1), ("v", 2)],
)
def test_each_value_of_a_request_is_looked_at(bench: Bench, member: str, value: object) -> None:
    handed = new_request(bench.site, "sort")
    said = json.loads(format_request(handed)) | {member: value}
    (runs_of(bench.site).path / f"{handed.id}.json").write_bytes(audit.canonical(said))
    bench.turn()
    assert left(bench) == [f"{handed.id}.refused"]
    assert requests_of(bench) == []


def test_links_are_not_followed(bench: Bench, tmp_path: Path) -> None:
    handed = new_request(bench.site, "sort")
    real = tmp_path / "real"
    real.write_bytes(format_request(handed))
    (runs_of(bench.site).path / f"{handed.id}.json").symlink_to(real)
    bench.turn()
    assert left(bench) == [f"{handed.id}.refused"]
    assert (real.exists(), requests_of(bench)) == (True, [])


@as_root
def test_a_request_of_another_user_is_refused(bench: Bench) -> None:
    handed = bench.ask()
    os.chown(runs_of(bench.site).path / f"{handed.id}.json", NOBODY, NOBODY)
    bench.turn()
    assert left(bench) == [f"{handed.id}.refused"]
    assert "who may not ask for runs" in bench.out.getvalue()


@as_root
def test_another_user_is_told_as_whom_to_ask(bench: Bench) -> None:
    place = Workspace(Path(), bench.service.workspace.site)  # reached from here, whoever may enter the folders above
    for folder in (bench.site.root, bench.site.state):
        folder.chmod(0o711)  # those with a role pass through it (configs/systemd/roles.conf)
    with Stop() as stop:
        follower = Follower(place, "sort", LineWatcher(bench.service.log, "sort"), stop)
        os.seteuid(NOBODY)
        try:
            ended = follower.run()
        finally:
            os.seteuid(0)
    assert isinstance(ended, Ending)
    assert ended.code == ExitCode.WORKSPACE_HELD
    assert "takes requests of root alone, as whom it runs" in ended.message
    assert left(bench) == []


def test_a_request_for_a_job_without_a_file_is_refused(bench: Bench) -> None:
    bench.ask("nosuch")
    bench.turn()
    assert left(bench) == []


def test_a_held_workspace_is_waited_for_and_a_full_disk_is_not(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    bench.place.drop("sort", "lease.txt", LEASE)
    handed = bench.ask()
    with held(bench.place):
        assert bench.turn()[-1] == "run waits: the workspace is held"
        assert left(bench) == [f"{handed.id}.taken"]
    second = bench.ask()  # who asks again does not wait for the next attempt
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.run", full)
        assert bench.turn()[-1] == "run waits: the workspace cannot be read or written"
    assert left(bench) == []
    third = bench.ask()
    bench.turn()
    assert requests_of(bench) == [[third.id]]
    assert second.id != third.id


def test_a_request_for_a_job_that_does_not_fit_the_others_any_more_is_refused(bench: Bench) -> None:
    bench.place.job("other", YEARLY)
    bench.turn()
    bench.ask()
    bench.place.job("sort", YEARLY.replace("input: {{", "input: {{folder: inbox/other, "))
    told = bench.turn()
    assert "job file broken, its last good version goes on" in told
    assert "run finished" not in told
    assert left(bench) == []


def test_the_window_of_a_run_that_was_asked_for_counts_from_then(bench: Bench) -> None:
    bench.place.job("sort", YEARLY + 'window: {{until: "06:00"}}\n')
    bench.place.drop("sort", "lease.txt", LEASE)
    handed = new_request(bench.site, "sort")
    request = replace(handed.request, at="2026-11-26T05:00:00.000000Z")
    bench.service.now = datetime(2026, 11, 26, 7, tzinfo=UTC).timestamp
    leave_request(bench.site, replace(handed, request=request))
    assert bench.turn()[-1] == "window closed, the rest is first in the next run"


def test_an_answer_comes_back_as_it_was(bench: Bench) -> None:
    ending = Ending(ExitCode.BAD_CONFIG, "a mistake", (Problem("jobs/a.yaml", "found", "expected", "remedy", 1, 2),))
    for answer in (Answer(), Answer(report=REPORT), Answer(ending=ending)):
        write_answer(bench.site, "0" * 32, answer)
        assert read_answer(bench.site, "0" * 32) == answer
    assert read_answer(bench.site, "1" * 32) is None


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"v": 2}', b'{"v": 1, "report": {"run": "r"}, "ending": null}', b"\xff"]
)
def test_an_answer_of_another_version_is_no_answer(bench: Bench, data: bytes) -> None:
    (runs_of(bench.site).path / f"{'0' * 32}.answer").write_bytes(data)
    with pytest.raises(ValueError):  # noqa: PT011
        read_answer(bench.site, "0" * 32)


@pytest.mark.parametrize("has_folder", [False, True])
def test_a_service_that_takes_no_requests_is_told_and_the_request_taken_back(ready: Place, has_folder: bool) -> None:
    """As one of an earlier version does."""
    place = open_workspace(ready.root)
    if has_folder:
        make_folder(make_site(place))
    command = [sys.executable, "-c", HOLD, str(place.log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with Stop() as stop, LineWatcher(start_logging(), "sort") as watcher:
            times = iter(range(1000))
            ended = Follower(place, "sort", watcher, stop, 2.0, lambda: float(next(times))).run()
        other.communicate()
    assert isinstance(ended, Ending)
    assert ended.code == ExitCode.WORKSPACE_HELD
    told = f"sort: the service (process {other.pid}) did not take the request up within 2 seconds, so it was taken back"
    assert ended.message.startswith(told)
    assert list(runs_of(make_site(place)).path.glob("*")) == []
