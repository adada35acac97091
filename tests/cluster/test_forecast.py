"""What a cluster's runs took is a guide to those on other numbers of machines, and `cloister plan` counts with them."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import engine
from jobs.nights.cluster import ask, see
from pipeline import RunPlan, run
from pipeline.cluster.sharing import CHARACTERS
from pipeline.plan import Cluster
from pipeline.records.costs import AllCosts
from pipeline.records.entries import fold, read_entries
from pipeline.stages.ahead import memory_of
from tests.cluster.processes import COMMAND, Machines, machines
from tests.cluster.test_night import fill
from tests.jobs.conftest import SORT, Cloister, Place
from tests.pipeline.conftest import Witness


@pytest.mark.usefixtures("ready_first")
def test_what_a_run_took_is_held_with_the_machines_that_made_its_rows(two: Machines, plan: RunPlan) -> None:
    fill(plan.input.folder)
    run(replace(plan, cluster=two.cluster), observer=Witness())
    costs = fold(read_entries(plan.site), AllCosts()).jobs[plan.job]
    known = costs.of(plan.model.sha256, engine.threads()) or costs.of(plan.model.sha256, 1)
    assert known
    (ran,) = known[1].runs
    assert ran.machines == costs.hands
    assert costs.makers <= {"one", "two"}
    assert ran.worked_by_each == ran.machines * ran.worked


def test_who_is_ready_is_counted(two: Machines) -> None:
    seen = see(two.cluster, ask(two.cluster), 7)
    assert (seen.machines, seen.problem) == (2, None)


def test_where_nobody_answers_those_of_the_last_run_are_counted(two: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.cluster.calls.CONNECT_SECONDS", 0.5)
    nowhere = replace(two.cluster, scheduler="tls://127.0.0.1:1")
    found = ask(nowhere)
    seen = see(nowhere, found, 7)
    assert seen.machines == 7
    assert see(nowhere, found, 3).machines == 3, "of another job"
    assert "no scheduler answers there" in str(seen.problem)
    assert "as many as in the last run are counted" in str(seen.problem)


def test_without_a_worker_this_machine_is_counted(tmp_path: Path) -> None:
    with machines(tmp_path / "cluster") as found:
        seen = see(found.cluster, ask(found.cluster), 7)
    assert (seen.machines, seen.problem) == (
        1,
        "no worker is ready (none is listed): this machine would work alone",
    )


def test_a_plan_says_with_how_many_it_counts(two: Machines, ready: Place, cloister: Cloister) -> None:
    ready.job("sort", SORT)
    shutil.copytree(two.head.parent, ready.root / "keys" / "cluster")
    with (ready.root / "site.yaml").open("a") as site:
        site.write(f'\ncluster: {{scheduler: "{two.address}"}}\n')
    assert f"  cluster   2 machines by {two.address}\n" in cloister("plan").out
    told = cloister("plan", "--json").json["jobs"][0]["cluster"]
    assert told == {"address": two.address, "machines": 2, "problem": None}


def test_who_is_not_ready_is_named(tmp_path: Path) -> None:
    one = {"worker": "one", "state": "ready", "why": None}
    two = {"worker": "two", "state": "refused", "why": "its cloister is 9.9"}
    seen = see(Cluster("tls://a:1", tmp_path), [one, two], 7)
    assert (seen.machines, seen.problem) == (1, "not counted: two: its cloister is 9.9")


def test_a_scheduler_by_its_name(two: Machines, ready: Place) -> None:
    """In a process of its own, which is held away from networks but for who speaks to a cluster."""
    shutil.copytree(two.head.parent, ready.root / "keys" / "cluster")
    asked = ["cluster", "status", "--cluster", f"tls://localhost:{two.port}", "--workspace", str(ready.root)]
    done = subprocess.run([*COMMAND, *asked], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 listed" in done.stdout


def test_a_machine_that_cannot_run_the_engine_cannot_say_who_would_work(
    two: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOISTER_ISA", "another")
    assert "CLOISTER_ISA is 'another', expected one of" in str(see(two.cluster, ask(two.cluster), 7).problem)


def test_a_head_needs_memory_for_what_its_workers_have(plan: RunPlan, tmp_path: Path) -> None:
    alone, together = (memory_of(replace(plan, cluster=one)) for one in (None, Cluster("tls://a:1", tmp_path)))
    assert together.texts - alone.texts == 8 * CHARACTERS
