"""One document cannot take the night: whole runs, their retry and their replay."""

import shutil
from dataclasses import replace

import pipeline
from pipeline import Failure, RunPlan
from pipeline.plan import Bounds
from tests.pipeline.test_run import INVOICE, LEASE, Drop, go


def test_a_document_beyond_the_tokens_is_told_and_taken_up_when_the_limit_is_raised(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE * 40)
    drop("b.txt", INVOICE)
    bound = replace(plan, site=replace(plan.site, bounds=Bounds(tokens=200)))
    report, witness = go(bound)
    assert witness.states == {"a.txt": "failed", "b.txt": "done"}
    ((path, failure, reason),) = report.failed
    assert (path, failure) == ("a.txt", "too_long")
    assert reason.startswith("its text has ")
    assert reason.endswith("the limit is 200 (limits.document_tokens in site.yaml): split it, or raise the limit")
    assert (plan.failed / "a.txt").exists()
    told = replay(bound)
    assert told == {"a.txt": "unreplayable", "b.txt": "identical"}
    _, again = go(replace(plan, retry=frozenset({Failure.TOO_LONG})))
    assert again.states == {"a.txt": "done"}
    assert not (plan.failed / "a.txt").exists()


def test_the_clock_stops_a_document_and_no_replay(plan: RunPlan, drop: Drop) -> None:
    """Two hours a look at the clock: all that is computed is beyond a limit of a minute, and is done again without."""
    drop("a.txt", LEASE)
    clock = iter(range(0, 10**9, 7200))
    bound = replace(plan, site=replace(plan.site, bounds=Bounds(seconds=60.0)))
    report, _ = go(bound, timer=lambda: float(next(clock)))
    ((_, failure, reason),) = report.failed
    assert (failure, "(limits.document_seconds in site.yaml)" in reason) == ("too_long", True)
    (row,) = pipeline.results(plan.site, plan.job)
    assert (row["state"], row["label"]) == ("failed", None)
    assert replay(plan) == {"a.txt": "unreplayable"}
    go(replace(plan, retry=frozenset({Failure.TOO_LONG})))
    assert replay(plan) == {"a.txt": "identical"}  # by its last row


def test_rows_made_under_a_limit_in_seconds_are_replayed_without_it(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    slow = replace(plan, site=replace(plan.site, bounds=Bounds(seconds=1e-9)))
    go(slow, timer=lambda: 0.0)  # a clock that stands
    assert replay(slow) == {"a.txt": "identical"}


def replay(plan: RunPlan) -> dict[str, str]:
    """How each row compares with the same made again."""
    plan.site.models.mkdir(exist_ok=True)
    shutil.copy(plan.model.path, plan.site.models / f"{plan.model.name}.gguf")
    return {told.path: told.verdict.value for told in pipeline.replay(plan.site, pipeline.Choice()).rows}
