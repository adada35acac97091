"""The gate asks for the same file, settings and arithmetic, and for the floor that the job has now."""

from dataclasses import replace
from pathlib import Path

import pytest

import engine
from pipeline import ModelRefusedError, RunPlan
from pipeline.plan import Quality
from pipeline.quality.documents import eval_digest, read_truths
from pipeline.quality.gate import Qualifications, demand, refuse_unqualified
from pipeline.records.types import Qualified


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An evaluation file."""
    file = tmp_path / "eval.csv"
    file.write_text("text,label\nThe flat,lease\nThe total,invoice\n")
    return file


def record(plan: RunPlan, source: Path, **changes: object) -> Qualified:
    """What was measured."""
    values: dict[str, object] = {
        "of_job": plan.job, "task": "classify", "eval": "eval.csv", "examples": 2, "examples_sha256": "0" * 64,
        "eval_sha256": eval_digest(source, read_truths(source, plan.task)), "job_digest": "1" * 64, "model": "tiny",
        "model_sha256": "2" * 64, "head": None, "head_sha256": None, "numerics": engine.NUMERICS,
        "metrics": {"macro_f1": 0.8, "accuracy": 0.9}, "floor": {}, "passed": True, "said": {"n": 7}, **changes,
    }  # fmt: skip
    return Qualified(**values)  # type: ignore[arg-type]


def refusal(plan: RunPlan, source: Path, found: Qualified | None, floor: dict[str, float]) -> str:
    """Why the plan is refused."""
    known = {found.eval_sha256: found} if found else {}
    with pytest.raises(ModelRefusedError) as refused:
        demand(plan, Quality(source, floor), known)
    return str(refused.value)


def test_what_was_measured_and_reaches_the_floor_passes(plan: RunPlan, source: Path) -> None:
    found = record(plan, source)
    assert demand(plan, Quality(source, {"macro_f1": 0.8}), {found.eval_sha256: found}) is found


def test_why_it_is_refused(plan: RunPlan, source: Path) -> None:
    found = record(plan, source)
    told = refusal(plan, source, None, {"macro_f1": 0.8})
    assert told.endswith("was not measured on eval.csv as it is now; `cloister qualify sort` measures it")
    told = refusal(plan, source, found, {"macro_f1": 0.85, "accuracy": 0.5})
    assert "(entry 7) macro_f1 is 0.8000, and must be 0.85 at least; let the job use another model" in told
    assert "answered could not be measured" in refusal(plan, source, found, {"answered": 0.5})
    other = record(plan, source, numerics="cloister-int-0")
    assert "measured with the arithmetic cloister-int-0" in refusal(plan, source, other, {})
    source.write_text("text,label\nThe flat,lease\nThe total,bill\nThe sum,bill\n")
    told = refusal(plan, source, found, {})
    assert "cannot be used" in told
    assert "eval.csv:3: the label 'bill', and 1 more" in told


def test_only_what_is_demanded_is_refused(plan: RunPlan, source: Path) -> None:
    refuse_unqualified(plan, {})
    refuse_unqualified(replace(plan, quality=Quality(source, {}, require=False)), {})
    with pytest.raises(ModelRefusedError):
        refuse_unqualified(replace(plan, quality=Quality(source, {})), {})


def test_the_last_word_of_the_log_counts(plan: RunPlan, source: Path) -> None:
    known = Qualifications(plan.job, "1" * 64)
    first, last = record(plan, source), record(plan, source, metrics={"macro_f1": 0.1})
    others = [record(plan, source, of_job="other"), record(plan, source, job_digest="9" * 64)]
    for entry in (first, last, *others):
        known.take(entry)
    assert known.by_eval == {first.eval_sha256: last}
