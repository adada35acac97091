"""What documents took, folded from the log of real runs."""

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import engine
from pipeline import RunPlan
from pipeline.records.costs import AllCosts, JobCosts, MetFiles
from pipeline.records.entries import fold, read_entries
from pipeline.records.plain import from_plain, to_plain
from pipeline.records.types import Document, RunStarted, Worker
from tests.pipeline.test_run import INVOICE, LEASE, entries, go

Drop = Callable[[str, bytes | str], Path]


def costs_of(plan: RunPlan) -> JobCosts:
    return fold(read_entries(plan.site), AllCosts()).jobs[plan.job]


def test_a_run_leaves_what_its_documents_took_by_kind(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE * 4)
    drop("b.txt", INVOICE)
    drop("c.md", LEASE)
    go(plan)
    known = costs_of(plan).of(plan.model.sha256, engine.threads())
    assert known
    threads, costs = known
    assert threads == engine.threads()
    by_extension = {kind.extension for kind in costs.kinds}
    assert (costs.rows, by_extension) == (3, {"txt", "md"})
    documents = entries(plan, "document")
    assert sum(its.tokens for its in costs.kinds.values()) == sum(entry["tokens"] for entry in documents)
    assert sum(its.seconds for its in costs.kinds.values()) == pytest.approx(sum(each["seconds"] for each in documents))
    (finished,) = entries(plan, "run.finished")
    (ran,) = costs.runs
    assert ran.ready == finished["ready_seconds"]
    assert ran.ready + ran.worked == pytest.approx(finished["seconds"])


def test_what_an_archive_brings_counts_as_the_archive(plan: RunPlan, drop: Drop) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(4):
            archive.writestr(f"{number}.txt", f"{LEASE} {number}")
    drop("post.zip", packed.getvalue())
    go(plan)
    known = costs_of(plan).of(plan.model.sha256, engine.threads())
    assert known
    ((kind, its),) = known[1].kinds.items()
    assert (kind.extension, its.files, its.rows, its.bytes) == ("zip", 1, 5, len(packed.getvalue()))
    assert its.tokens > 0


def test_another_model_is_no_guide_and_other_threads_are_told(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    go(plan)
    costs = costs_of(plan)
    assert costs.of("0" * 64, engine.threads()) is None
    other = costs.of(plan.model.sha256, 77)
    assert other
    assert other[0] == engine.threads()


def test_the_second_run_is_held_against_its_forecast(plan: RunPlan, drop: Drop) -> None:
    for night in range(2):
        for number in range(5):
            drop(f"{night}-{number}.txt", f"{LEASE} {night} {number}")
        _, witness = go(plan)
    assert [event for event, _ in witness.notes if event == "expected"] == ["expected"]
    first, second = entries(plan, "run.finished")
    assert first["forecast"] is None
    assert second["forecast"]["documents"] == 5
    (held,) = costs_of(plan).held
    assert (held.expected_documents, held.documents, held.seconds) == (5, 5, second["seconds"])
    assert witness.left[-1] == pytest.approx(0.0)


def test_a_private_log_has_no_forecast_and_what_is_opened_gives_one(plan: RunPlan, drop: Drop) -> None:
    private = replace(plan, private=True)
    for night in range(2):
        drop(f"{night}.txt", f"{LEASE} {night}")
        _, witness = go(private)
    assert "expected" in [event for event, _ in witness.notes]
    assert [entry["forecast"] for entry in entries(plan, "run.finished")] == [None, None]
    assert costs_of(plan).of(plan.model.sha256, engine.threads())


def test_costs_are_the_same_after_json(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    go(plan)
    drop("b.txt", INVOICE)
    go(plan)
    costs = costs_of(plan)
    assert from_plain(JobCosts, json.loads(json.dumps(to_plain(costs)))) == costs


def test_the_paths_that_a_job_has_met_are_those_of_its_last_settings(plan: RunPlan, drop: Drop) -> None:
    kept = replace(plan, input=replace(plan.input, afterwards="keep"))
    drop("a.txt", LEASE)
    go(kept)
    assert fold(read_entries(plan.site), MetFiles({plan.job: set()})).jobs == {plan.job: {"a.txt"}}
    drop("b.txt", INVOICE)
    go(replace(kept, task=replace(plan.task, threshold=0.5)))  # type: ignore[arg-type]
    assert fold(read_entries(plan.site), MetFiles({plan.job: set()})).jobs == {plan.job: {"a.txt", "b.txt"}}
    assert fold(read_entries(plan.site), MetFiles({})).jobs == {}


def test_a_run_that_computed_nothing_says_nothing_of_the_machines(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    go(plan)
    by_one = next(entry for entry in read_entries(plan.site) if isinstance(entry, Document))
    begins = next(entry for entry in read_entries(plan.site) if isinstance(entry, RunStarted))
    costs = JobCosts()
    for worker in ("one", "two"):
        costs.take(replace(by_one, worker=Worker(worker, "host")))
    assert costs.hands == 2
    costs.take(begins)
    costs.take(replace(by_one, tokens=0))
    assert costs.hands == 2
    costs.take(by_one)
    assert costs.hands == 1
