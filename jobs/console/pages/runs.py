"""Runs, jobs and models: what became of them, what changed in a job's settings, and what an operator may start."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

import pipeline
from jobs.console.attempt import RefusedError, attempt
from jobs.console.house import House, Visit
from jobs.console.page import page
from jobs.console.pages.queue import hidden_jobs, is_hidden, named_most
from jobs.console.render import render
from jobs.console.rights import Right

_LIMIT: Final = 50
_MOST_HAPPENINGS: Final = 200
_RUNS_OF_JOB: Final = 20
_RUNS_OF_MODEL: Final = 30
_MOST_LABELS: Final = 50
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


@page("/runs", Right.LISTS, asks=("job", "before"))
def _runs(visit: Visit) -> Response:
    house, job, before = visit.house, visit.query.get("job") or None, visit.number("before")
    return render(
        visit,
        "runs.html",
        runs=attempt(lambda: house.ask(lambda index: index.runs(job, before, _LIMIT))),
        jobs=attempt(lambda: sorted(each.name for each in house.present.jobs())),
        job=job,
        before=before,
        limit=_LIMIT,
        running=house.present.running(),
        behind=attempt(house.indexes.behind),
    )


@page("/runs/{run:str}", Right.LISTS)
def _run(visit: Visit) -> Response:
    house = visit.house
    with house.indexes.opened() as index:
        run = index.run(str(visit.path["run"]))
        numbers = [each.n for each in index.happenings(run.first, run.last, _MOST_HAPPENINGS) if each.run == run.run]
    running = house.present.running()
    nights = attempt(lambda: house.ask(lambda index: index.nights(run.job)))
    return render(
        visit,
        "run.html",
        run=run,
        state="running" if running and running.run == run.run else run.state,
        settings=attempt(lambda: pipeline.records.settings_in_words(_settings_of(house, run.job_digest))),
        change=attempt(lambda: _change_of(house, run)),
        night=next((night.night for night in nights.value or () if run.run in night.runs), None),
        happened=attempt(
            lambda: [(each.n, each.time, each.says()) for each in pipeline.records.entries_at(house.site, numbers)]
        ),
    )


def _settings_of(house: House, digest: str | None) -> Mapping[str, Any]:
    """The settings of a digest, as the log keeps them; none if there is no digest."""
    if digest is None:
        return {}
    first = house.ask(lambda index: index.settings_at(digest))
    if first is None:
        raise LookupError(f"The log does not have the settings {digest[:12]}.")
    return pipeline.records.read_settings(house.site, first, digest)


@dataclass(frozen=True)
class Change:
    """Holds what changed in the settings since the last run of the job with others. `before` is that run; `same`:
    nothing that determines results did; `file`: the job's file did all the same."""

    before: pipeline.index.RunTold | None
    differences: Sequence[pipeline.records.Difference]
    same: bool
    file: bool


def _change_of(house: House, run: pipeline.index.RunTold) -> Change | None:
    """Return what changed since the run of the job before this one that had settings; None if this one has none."""
    if run.job_digest is None:
        return None
    runs = house.ask(lambda index: index.runs(run.job, run.first, 200))
    earlier = next((each for each in runs if each.job_digest), None)
    if earlier is None:
        return Change(None, (), False, False)
    files = earlier.job_file_sha256, run.job_file_sha256
    file = None not in files and files[0] != files[1]
    if earlier.job_digest == run.job_digest:
        return Change(earlier, (), True, file)
    before, after = _settings_of(house, earlier.job_digest), _settings_of(house, run.job_digest)
    return Change(earlier, pipeline.records.differences(before, after), False, file)


@dataclass(frozen=True)
class Counted:
    """The job's documents that are current, by state, label and class of failure."""

    states: dict[str, int]
    labels: dict[str, int]
    failures: dict[str, int]


@page("/jobs/{job:str}", Right.LISTS)
def _job(visit: Visit) -> Response:
    house, name = visit.house, str(visit.path["job"])
    now = next((job for job in house.present.jobs() if job.name == name), None)
    runs = attempt(lambda: house.ask(lambda index: index.runs(name, None, _RUNS_OF_JOB)))
    if now is None and not runs.value and not runs.why:
        raise LookupError(f"There is no job {name!r}: neither a file jobs/{name}.yaml nor a run in the log.")
    digest = next((run.job_digest for run in runs.value or () if run.job_digest), None)
    running = house.present.running()
    return render(
        visit,
        "job.html",
        name=name,
        now=now,
        running=running if running and running.job == name else None,
        busy=running is not None,
        runs=runs,
        counted_all=attempt(lambda: house.ask(lambda index: _counted(visit, index, name))),
        settings=attempt(lambda: pipeline.records.settings_in_words(_settings_of(house, digest))),
        behind=attempt(house.indexes.behind),
    )


def _counted(visit: Visit, index: pipeline.index.Index, job: str) -> Counted:
    """Of documents that the person may not open, without what stands in them, or why they failed."""
    mine, failed = pipeline.index.Filter(jobs=(job,)), pipeline.index.Filter(jobs=(job,), states=("failed",))
    states = index.counts(mine, "state")
    if job in hidden_jobs(visit, index):
        return Counted(states, {}, {})
    return Counted(states, named_most(index.counts(mine, "label"), _MOST_LABELS), index.counts(failed, "failure"))


@page("/jobs/{job:str}/run", Right.OPERATE, "POST")
def _start(visit: Visit) -> Response:
    name = _known(visit)
    started = start(visit, f"run {name} now", ("run", name), f"/jobs/{name}", name)
    visit.house.present.look_again()
    return started


@page("/jobs/{job:str}/retry", Right.OPERATE, "POST")
def _retry(visit: Visit) -> Response:
    name, failure = _known(visit), visit.form.get("failure", "")
    if failure and failure not in {each.value for each in pipeline.Failure}:
        raise RefusedError(422, f"There is no class of failures {failure!r}.")
    if failure and is_hidden(visit, name):  # how many of a class there are would tell why each failed
        raise RefusedError(403, f"Why documents of {name} failed is told to those who may open them; take up all.")
    command = ("retry", name, *(("--class", failure) if failure else ()))
    title = f"take up again what failed in {name}" + (f" as {failure}" if failure else "")
    return start(visit, title, command, f"/jobs/{name}", name)


def _known(visit: Visit) -> str:
    """The name of a job that has a file: nothing else ever stands in a command."""
    name = str(visit.path["job"])
    if name not in {job.name for job in visit.house.present.jobs()}:
        raise LookupError(f"There is no job {name!r}.")
    return name


def start(visit: Visit, title: str, command: tuple[str, ...], link: str, job: str | None = None) -> Response:
    """Start a command of `cloister`, and lead to its page. RefusedError."""
    work = visit.house.works.start(visit.name, title, command, job=job, link=link)
    return RedirectResponse(f"/works/{work.number}", 303)


@page("/models", Right.LISTS)
def _models(visit: Visit) -> Response:
    house = visit.house
    return render(
        visit,
        "models.html",
        models=attempt(lambda: house.ask(lambda index: index.models())),
        decisions=attempt(lambda: house.present.admissions().last),
        required=house.site.require_admission,
        behind=attempt(house.indexes.behind),
    )


@page("/models/{sha256:str}", Right.LISTS)
def _model(visit: Visit) -> Response:
    house, sha256 = visit.house, _sha256_of(visit)
    uses = house.ask(lambda index: index.models(sha256))
    decision = attempt(lambda: house.present.admissions().last.get(sha256))
    if not uses and not decision.value:
        raise LookupError(f"The log knows no model with the sha256 {sha256[:12]}.")
    return render(
        visit,
        "model.html",
        sha256=sha256,
        use=uses[0] if uses else None,
        decision=decision,
        runs=attempt(lambda: house.ask(lambda index: index.runs_of(sha256, _RUNS_OF_MODEL))),
        running=house.present.running(),
        behind=attempt(house.indexes.behind),
    )


@page("/models/{sha256:str}/recall", Right.LOG, "POST")
def _recall(visit: Visit) -> Response:
    sha256 = _sha256_of(visit)
    command = ("audit", "recall", "--model", sha256)
    return start(visit, f"list what the model {sha256[:12]} touched", command, f"/models/{sha256}")


def _sha256_of(visit: Visit) -> str:
    sha256 = str(visit.path["sha256"])
    if not _SHA256.fullmatch(sha256):
        raise LookupError("A model is asked for by its whole sha256.")
    return sha256
