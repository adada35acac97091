"""`cloister plan`: what waits, when it will be done, and what would finish it tonight."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import pipeline
from jobs.config.load import load_site
from jobs.config.plan import make_plan
from jobs.config.workspace import Workspace, load_job_of
from jobs.nights.ahead import Ahead, remedies, runs_to_come
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place, entries

NIGHTLY = SORT + 'schedule: {{cron: "0 22 * * *", timezone: UTC}}\nwindow: {{until: "06:00"}}\n'
EVENING = datetime(2026, 11, 27, 20, tzinfo=UTC)


def run_once(place: Place, cloister: Cloister, documents: int = 6, prefix: str = "a") -> None:
    """A night with some documents."""
    for number in range(documents):
        place.drop("sort", f"{prefix}{number}.txt", f"{LEASE * (1 + number % 3)} {prefix} {number}")
    assert cloister("run", "sort").code == 0


def test_without_a_run_nothing_is_known_and_that_is_said(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", NIGHTLY)
    ready.drop("sort", "lease.txt", LEASE)
    told = cloister("plan").out
    assert "  waiting   1 file, 87 bytes" in told
    assert ":00 UTC, in its window until" in told
    assert "nothing is known yet: the log has no run of this job with this model" in told
    (job,) = cloister("plan", "--json").json["jobs"]
    assert (job["forecast"], job["earlier"], job["remedies"]) == (None, None, [])
    assert job["memory"]["model"] == (ready.root / "models" / "tiny.gguf").stat().st_size


def test_a_job_after_another_one_has_no_time_and_jobs_beside_are_named_though_not_asked_for(
    ready: Place, cloister: Cloister
) -> None:
    run_once(ready, cloister)
    run_once(ready, cloister, prefix="b")
    ready.job("sort", NIGHTLY)
    ready.job("also", NIGHTLY)
    shutil.copy(ready.drop("sort", "lease.txt", LEASE), ready.root / "inbox" / "also")
    assert cloister("run", "also").code == 0
    ready.drop("also", "more.txt", f"{LEASE} more")
    told = cloister("plan", "sort").out
    assert "  beside    runs of also fall into that time" in told
    ready.job("sort", SORT + "after: also\n")
    assert "  next run  when a run of also has finished; what follows is said as if" in cloister("plan", "sort").out
    assert cloister("plan", "sort", "--json").json["jobs"][0]["after"] == "also"


def test_a_job_that_never_ran_takes_the_pace_of_its_model_in_another_job(ready: Place, cloister: Cloister) -> None:
    run_once(ready, cloister)
    ready.job("new", SORT)
    (ready.root / "inbox" / "new").mkdir(exist_ok=True)
    for number in range(12):
        ready.drop("new", f"{number}.txt", f"{LEASE * 200} {number}")
    told = cloister("plan", "new").out
    assert "by the pace of model tiny in job sort, by 6 documents with " in told
    (job,) = cloister("plan", "new", "--json").json["jobs"]
    assert (job["forecast"]["documents"], job["forecast"]["rests_on"]["job"]) == (12, "sort")
    assert job["forecast"]["seconds"] > 0
    assert job["earlier"] is None
    assert cloister("run", "new").code == 0
    ready.drop("new", "more.txt", LEASE)
    told = cloister("plan", "new").out
    assert "by 12 documents with " in told
    assert "by the pace" not in told


def test_the_pace_of_another_model_is_no_guide(ready: Place, cloister: Cloister) -> None:
    run_once(ready, cloister)
    other = ready.root / "models" / "other.gguf"
    other.write_bytes((ready.root / "models" / "tiny.gguf").read_bytes())
    ready.job("new", SORT.replace("name: tiny", "name: other"))
    (ready.root / "inbox" / "new").mkdir(exist_ok=True)
    ready.drop("new", "a.txt", LEASE)
    assert "nothing is known yet" in cloister("plan", "new").out


def test_after_a_run_it_says_what_waits_and_when_it_is_done(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", NIGHTLY)
    run_once(ready, cloister)
    run_once(ready, cloister, prefix="b")
    for number in range(4):
        ready.drop("sort", f"c{number}.txt", f"{LEASE} c {number}")
    ready.drop("sort", "large.txt", f"{INVOICE * 9} large")
    before = len(entries(ready))
    (job,) = cloister("plan", "sort", "--json").json["jobs"]
    assert len(entries(ready)) == before  # it only reads
    told = job["forecast"]
    assert (job["files"], told["documents"], told["documents_tonight"], told["all_tonight"]) == (5, 5, 5, True)
    assert told["tokens"] > 0
    assert told["slowest"]["path"] == "large.txt"
    assert told["rests_on"]["documents"] == 12
    assert job["start"] < told["done_at"] < job["until"]
    assert job["earlier"]["forecasts"] == 1
    out = cloister("plan").out
    assert "  slowest   large.txt (" in out
    assert "  earlier   1 forecast: off by 0% of the documents and " in out
    status = cloister("status").out
    assert "  forecast all done about " in status
    (shown,) = cloister("status", "--json").json["jobs"]
    assert (shown["forecast"]["documents"], shown["forecast"]["all_tonight"]) == (5, True)


def test_another_model_is_not_foreseen_by_the_runs_of_this_one(ready: Place, cloister: Cloister) -> None:
    run_once(ready, cloister)
    ready.job("sort", SORT.replace("name: tiny", "name: other"))
    shutil.copy(ready.root / "models" / "tiny.gguf", ready.root / "models" / "other.gguf")
    ready.drop("sort", "new.txt", INVOICE)
    assert "nothing is known yet" in cloister("plan", "sort").out


def test_files_that_stay_are_not_counted_again(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", afterwards="keep")
    run_once(ready, cloister)
    ready.drop("sort", "new.txt", INVOICE)
    (job,) = cloister("plan", "sort", "--json").json["jobs"]
    assert (job["files"], job["forecast"]["documents"]) == (1, 1)


def test_jobs_that_fall_into_the_same_time_are_named(ready: Place, cloister: Cloister) -> None:
    ready.job("other")
    run_once(ready, cloister)
    ready.drop("other", "a.txt", LEASE)
    assert cloister("run", "other").code == 0
    ready.drop("other", "b.txt", INVOICE)
    ready.drop("sort", "new.txt", INVOICE)
    told = {job["job"]: job["beside"] for job in cloister("plan", "--json").json["jobs"]}
    assert told["sort"] == ["other"]


def test_a_broken_job_is_told_and_the_others_are_planned(ready: Place, cloister: Cloister) -> None:
    ready.job("broken", "job: broken\nmodel: {{name: tiny}}\n")
    done = cloister("plan")
    assert done.code == 2
    assert "jobs/broken.yaml:" in done.out
    assert "sort\n  waiting   0 files, 0 bytes" in done.out
    assert cloister("plan", "absent").code == 2


@pytest.fixture
def planned(
    ready: Place, cloister: Cloister
) -> tuple[pipeline.RunPlan, Ahead, pipeline.records.JobCosts, pipeline.records.Register]:
    """Ten documents of two hours each, in a window of eight."""
    ready.job("sort", NIGHTLY)
    run_once(ready, cloister)
    workspace = Workspace(ready.root, load_site(ready.root / "site.yaml"))
    job = load_job_of(workspace, workspace.jobs / "sort.yaml")
    costs, register = pipeline.records.AllCosts(), pipeline.records.Register()
    plan = make_plan(workspace, job)
    pipeline.status(plan.site, register, costs)
    its = costs.jobs["sort"]
    known = pipeline.stages.known_costs(plan, costs, register)
    assert known
    files = [pipeline.forecast.File(f"{number}.txt", 1000) for number in range(10)]
    seconds = pipeline.outlook(files, known[1], [pipeline.forecast.Span(0.0)]).seconds
    slow = slower(known[1], 20 * 3600 / seconds)
    start, until = next(runs_to_come(job.config, EVENING))
    spans = [pipeline.forecast.Span((start + day).timestamp(), (until + day).timestamp()) for day in DAYS if until]
    its.machines[plan.model.sha256 or register.models["tiny"], known[0]] = slow
    return plan, Ahead(files, start, until, (known[0], slow), pipeline.outlook(files, slow, spans)), its, register


DAYS = [timedelta(days=number) for number in range(9)]


def slower(costs: pipeline.records.Costs, times: float) -> pipeline.records.Costs:
    """Costs that are so many times as high."""
    kinds = {kind: replace(its, seconds=its.seconds * times) for kind, its in costs.kinds.items()}
    runs = [run._replace(ready=0.0, worked=run.worked * times, said=run.said * times) for run in costs.runs]
    return pipeline.records.Costs(kinds, runs)


Planned = tuple[pipeline.RunPlan, Ahead, pipeline.records.JobCosts, pipeline.records.Register]


def test_what_would_finish_it_tonight_is_what_the_figures_say(planned: Planned) -> None:
    plan, ahead, its, register = planned
    assert ahead.outlook
    assert round(ahead.outlook.tonight) == 3 or round(ahead.outlook.tonight) == 4
    assert not ahead.all_tonight
    assert ahead.done_at
    found = {way.kind: way for way in remedies(plan, ahead, its, register)}
    assert found["window"].sentence.startswith("a window until Sat 18:00")
    assert found["machines"].sentence.startswith("3 machines like this one")
    assert "model" not in found  # there is no other


def test_threads_and_models_are_named_by_what_earlier_runs_took(planned: Planned) -> None:
    plan, ahead, its, register = planned
    assert ahead.known
    threads, slow = ahead.known
    (model, _), *_ = its.machines
    its.machines[model, threads + 14] = slower(slow, 0.1)
    its.machines["f" * 64, threads] = slower(slow, 0.2)
    register.models["small"] = "f" * 64
    (plan.site.models / "small.gguf").write_bytes(plan.model.path.read_bytes())
    found = {way.kind: way for way in remedies(plan, ahead, its, register)}
    assert found["threads"].sentence == f"{threads + 14} threads, as earlier runs had them: done Sat 00:00"
    assert found["model"].sentence == "the model small, by what this job took with it: done Sat 02:00"
    assert found["threads"].measured
    assert found["model"].measured
    its.machines["f" * 64, threads] = slower(slow, 0.9)
    assert "model" not in {way.kind for way in remedies(plan, ahead, its, register)}


def test_a_document_that_no_window_holds_is_not_divided_among_machines(planned: Planned) -> None:
    plan, ahead, its, register = planned
    assert ahead.known
    files = [pipeline.forecast.File("large.txt", 10_000)]
    assert ahead.until
    spans = [pipeline.forecast.Span((ahead.start + day).timestamp(), (ahead.until + day).timestamp()) for day in DAYS]
    alone = replace(ahead, files=files, outlook=pipeline.outlook(files, ahead.known[1], spans))
    assert alone.outlook
    assert alone.outlook.blocking
    assert "machines" not in {way.kind for way in remedies(plan, alone, its, register)}


def test_a_run_to_come_is_the_next_start_or_now_and_then_after_each_window(ready: Place) -> None:
    ready.job("sort", NIGHTLY)
    workspace = Workspace(ready.root, load_site(ready.root / "site.yaml"))
    config = load_job_of(workspace, workspace.jobs / "sort.yaml").config
    (first, second) = (each for each, _ in zip(runs_to_come(config, EVENING), range(2), strict=False))
    assert [f"{start:%d %H} {end:%d %H}" for start, end in (first, second) if end] == ["27 22 28 06", "28 22 29 06"]
    ready.job("sort", SORT)
    config = load_job_of(workspace, workspace.jobs / "sort.yaml").config
    ((start, end),) = runs_to_come(config, EVENING)
    assert (start, end) == (EVENING, None)
