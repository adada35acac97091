"""`cloister run` beside `cloister serve`: it hands the work over and follows it, whoever of them is killed when."""

import contextlib
import hashlib
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.conftest import LEASE, SORT, Cloister, Place, entries
from tests.jobs.nights.serving import serve, started, wait_for
from tests.thorough import part

YEARLY = SORT.replace("model:", 'schedule: {{cron: "0 0 1 1 *", timezone: UTC}}\nmodel:')
"""A job that the service does not start by itself."""
OWN = {"run", "seconds", "report"}
"""The members of a report that are another run's in each run."""


@pytest.fixture
def served(ready: Place) -> Iterator["subprocess.Popen[str]"]:
    """The service of the workspace `ready`, whose job `sort` it starts only when it is asked to."""
    ready.job("sort", YEARLY)
    with serve(ready) as process:
        wait_for(process, "job read", "sort")
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=600)


def left(place: Place) -> list[str]:
    """The files of requests."""
    return sorted(path.name for path in (place.root / "state" / "runs").iterdir())


@contextlib.contextmanager
def standing_still(process: "subprocess.Popen[str]") -> Iterator[None]:
    """The process does nothing meanwhile, however long the others take."""
    process.send_signal(signal.SIGSTOP)
    yield
    process.send_signal(signal.SIGCONT)


def fill(place: Place, job: str, count: int = 300) -> None:
    for n in range(count):
        place.drop(job, f"{n:03}.txt", f"{LEASE} Flat {n}.")


def asked_for(place: Place) -> list[list[dict[str, Any]]]:
    """For each run that the log knows, the requests that it was for."""
    return [entry["requests"] for entry in entries(place, "run.started")]


def ended(process: "subprocess.Popen[str]") -> tuple[int, dict[str, Any], str]:
    """The exit code of a command, its JSON and what else it said."""
    out, err = process.communicate(timeout=600)
    return process.returncode, json.loads(out), err


def test_a_run_by_the_service_is_told_as_one_of_the_command_itself(
    ready: Place, served: "subprocess.Popen[str]", cloister: Cloister
) -> None:
    ready.job("here", YEARLY)
    for job in ("sort", "here"):
        ready.drop(job, "lease.txt", LEASE)
        ready.drop(job, "empty.txt", "")
    done = cloister("run", "sort", "--json")
    (run,) = done.json["runs"]
    assert (done.code, done.json["exit_code"], done.json["errors"]) == (1, 1, [])
    assert next(json.loads(line)["event"] for line in done.err.splitlines()) == "handed over to the service"
    (request,) = asked_for(ready)[0]
    assert request["user"] == entries(ready, "run.started")[0]["user"]
    assert wait_for(served, "run finished", "sort")["run"] == run["run"]
    assert left(ready) == []
    served.send_signal(signal.SIGTERM)
    served.communicate(timeout=600)
    assert (ready.root / run["parts"][0]).is_file()
    (alone,) = cloister("run", "here", "--json").json["runs"]
    assert asked_for(ready)[1:] == [[]]
    of_here = json.loads(json.dumps(run).replace("/sort/", "/here/")) | {"job": "here"}
    drop = {*OWN, "parts"}
    assert {k: v for k, v in of_here.items() if k not in drop} == {k: v for k, v in alone.items() if k not in drop}


def test_the_report_in_words_is_that_of_a_run(
    ready: Place, served: "subprocess.Popen[str]", cloister: Cloister
) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    done = cloister("run", "sort")
    assert done.code == 0
    assert "sort: 1 document in" in done.out
    assert "report   " in done.out
    assert "nothing to do: no file lies there" in cloister("run", "sort").out
    assert served.poll() is None


def test_several_jobs_are_run_in_order_and_a_file_elsewhere_is_run_by_the_command(
    ready: Place, served: "subprocess.Popen[str]", cloister: Cloister, tmp_path: Path
) -> None:
    ready.job("other", YEARLY)
    for job in ("sort", "other"):
        ready.drop(job, "lease.txt", LEASE)
    (ready.root / "inbox" / "else").mkdir()
    ready.drop("else", "lease.txt", LEASE)
    elsewhere = tmp_path / "elsewhere.yaml"
    elsewhere.write_text(SORT.format(name="else", afterwards="archive"))
    done = cloister("run", "other", elsewhere, "jobs/sort.yaml", "--json")
    assert (done.code, [run["job"] for run in done.json["runs"]]) == (0, ["other", "else", "sort"])
    assert [len(each) for each in asked_for(ready)] == [1, 0, 1]
    assert served.poll() is None


def test_what_is_wrong_with_a_job_ends_as_without_a_service(
    ready: Place, served: "subprocess.Popen[str]", cloister: Cloister
) -> None:
    ready.job("broken", SORT.replace("labels", "lables"))
    ready.job("pinned", YEARLY.replace("name: tiny", f"name: tiny, sha256: {'0' * 64}"))
    wait_for(served, "job refused until its files change", "pinned")
    ready.drop("pinned", "lease.txt", LEASE)
    done = cloister("run", "broken", "pinned", "sort", "--json")
    assert (done.code, [run["job"] for run in done.json["runs"]]) == (3, ["sort"])
    broken, pinned = (error["message"] for error in done.json["errors"])
    assert "jobs/broken.yaml:7:3: unknown key 'lables' in task" in broken
    assert pinned.startswith("Model refused: model tiny: ")
    assert cloister("run", "broken").code == 2
    assert served.poll() is None


def test_a_job_runs_as_its_file_is_when_somebody_asks(
    ready: Place, served: "subprocess.Popen[str]", cloister: Cloister
) -> None:
    """The service reads a file when it looked the same twice, which may be later."""
    changed = YEARLY.replace("name: lease,", "name: rental,").format(name="sort", afterwards="archive")
    (ready.root / "jobs" / "sort.yaml").write_text(changed)
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    assert entries(ready, "run.started")[0]["job_file_sha256"] == hashlib.sha256(changed.encode()).hexdigest()
    ready.job("new", YEARLY)
    ready.drop("new", "lease.txt", LEASE)
    assert cloister("run", "new").code == 0
    assert served.poll() is None


def test_what_a_request_waits_for_is_told_and_its_run_comes_after_that(
    ready: Place, served: "subprocess.Popen[str]"
) -> None:
    ready.job("other", YEARLY)
    fill(ready, "other")
    ready.drop("sort", "lease.txt", LEASE)
    with started(ready, "run", "other") as first:
        wait_for(served, "documents found", "other")
        with standing_still(served):
            second = started(ready, "run", "sort")
            wait_for(second, "waiting for the service, which runs other", "sort")
        with second:
            assert wait_for(first, "documents found", "other")["total"] == 300
            assert ended(second)[0] == ended(first)[0] == 0
    assert [entry["job"] for entry in entries(ready, "run.started")] == ["other", "sort"]


@pytest.mark.parametrize("number", [*part([signal.SIGINT, signal.SIGTERM], 2), signal.SIGKILL])
def test_who_follows_may_go_and_the_service_goes_on(
    ready: Place, served: "subprocess.Popen[str]", cloister: Cloister, number: signal.Signals
) -> None:
    fill(ready, "sort")
    ready.drop("sort", "empty.txt", "")
    with started(ready, "run", "sort") as follower:
        wait_for(served, "documents found", "sort")
        wait_for(follower, "documents found", "sort")
        follower.send_signal(number)
        if number != signal.SIGKILL:
            code, told, err = ended(follower)
            assert (code, told["exit_code"], told["runs"]) == (130, 130, [])
            assert "sort: followed no longer; the service goes on with the run. cloister status shows how" in err
    finished = wait_for(served, "run finished", "sort")
    assert (finished["done"], finished["failed"]) == (300, 1)
    assert cloister("run", "sort").code == 0
    assert left(ready) == []  # what a killed one left is gone too, and its answer, which names documents
    assert [len(each) for each in asked_for(ready)] == [1]


def test_a_service_that_is_stopped_tells_what_came_of_the_run(ready: Place, served: "subprocess.Popen[str]") -> None:
    fill(ready, "sort")
    with started(ready, "run", "sort") as follower:
        wait_for(served, "documents found", "sort")
        served.send_signal(signal.SIGTERM)
        code, told, _ = ended(follower)
    (run,) = told["runs"]
    assert (code, run["interrupted"], run["seen"]) == (130, True, 300)
    assert run["counts"]["pending"] > 0
    assert (served.wait(60), left(ready)) == (0, [])


def test_a_request_outlives_the_service_and_is_run_once(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", YEARLY + "output: {{part_documents: 50}}\n")
    fill(ready, "sort")
    with serve(ready) as first:
        wait_for(first, "job read", "sort")
        with started(ready, "run", "sort") as follower:
            wait_for(first, "part committed", "sort")
            first.kill()
            code, told, err = ended(follower)
    assert (code, told["exit_code"], told["runs"]) == (5, 5, [])
    assert f"sort: the service (process {first.pid}) ended before the run that it was asked for." in err
    assert "the request is kept" in err
    assert [Path(name).suffix for name in left(ready)] == [".taken"]
    with serve(ready) as second:
        assert wait_for(second, "run asked for")["job"] == "sort"
        wait_for(second, "run finished", "sort")
        second.kill()  # it may have removed the request, or not
        second.communicate(timeout=600)
    with serve(ready) as third:
        wait_for(third, "job read", "sort")
        assert "nothing to do: no file lies there" in cloister("run", "sort").out
        third.send_signal(signal.SIGTERM)
        third.communicate(timeout=600)
    assert len(cloister("results", "sort", "--limit", "1000", "--json").json) == 300
    once, again = asked_for(ready)
    assert [each["id"] for each in once] == [each["id"] for each in again]
    assert cloister("audit", "verify").code == 0
    assert left(ready) == []


def test_a_request_that_was_left_while_the_service_was_busy_is_taken_up_by_the_next(
    ready: Place, served: "subprocess.Popen[str]"
) -> None:
    ready.job("other", YEARLY)
    fill(ready, "other")
    ready.drop("sort", "lease.txt", LEASE)
    with started(ready, "run", "other") as first:
        wait_for(served, "documents found", "other")
        with standing_still(served):
            with started(ready, "run", "sort") as second:
                wait_for(second, "waiting for the service, which runs other", "sort")
                second.send_signal(signal.SIGINT)
                assert "the service has not begun the run yet, and will" in ended(second)[2]
            served.kill()
        assert ended(first)[0] == 5
    with serve(ready) as next_:
        finished = [wait_for(next_, "run finished")["job"] for _ in range(2)]
        next_.send_signal(signal.SIGTERM)
        next_.communicate(timeout=600)
    assert finished == ["other", "sort"]
    assert left(ready) == []
    assert len(ready.parts("sort")) == 1
