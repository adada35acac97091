"""One job: its present, its nights, what became of its documents, and what an operator may start."""

from dataclasses import dataclass
from typing import Final

from starlette.responses import RedirectResponse, Response

import pipeline
from jobs.console.attempt import attempt
from jobs.console.house import Visit
from jobs.console.page import Page
from jobs.console.pages.home import turn
from jobs.console.pages.queue import hidden_jobs, is_hidden
from jobs.console.pages.runs import runs_of, settings_of
from jobs.console.refused import RefusedError
from jobs.console.render import render
from jobs.console.rights import Right

_RUNS: Final = 20
_MOST_LABELS: Final = 50


@dataclass(frozen=True)
class Counted:
    """The job's documents that are current, by state, label and class of failure."""

    states: dict[str, int]
    labels: dict[str, int]
    failures: dict[str, int]


def _job(visit: Visit) -> Response:
    house, name = visit.house, str(visit.path["job"])
    now = next((job for job in house.present.jobs() if job.name == name), None)
    runs = attempt(lambda: runs_of(house, name, limit=_RUNS))
    if now is None and not runs.value and not runs.why:
        raise LookupError(f"There is no job {name!r}: neither a file jobs/{name}.yaml nor a run in the log.")
    digest = next((run.job_digest for run in runs.value or () if run.job_digest), None)
    settings = attempt(lambda: pipeline.settings_in_words(settings_of(house, digest) or {}))
    running = house.present.running()
    return render(
        visit,
        "job.html",
        name=name,
        now=now,
        running=running if running and running.job == name else None,
        busy=running is not None,
        runs=runs,
        counted_all=attempt(lambda: _counted(visit, name)),
        settings=settings,
        behind=attempt(house.indexes.behind),
        remedies={failure.value: failure.remedy for failure in pipeline.Failure},
        turn=turn(house),
    )


def _counted(visit: Visit, job: str) -> Counted:
    """Of documents that the person may not open, without what stands in them, or why they failed."""
    mine = pipeline.Filter(jobs=(job,))
    with visit.house.indexes.opened() as queue:
        hidden = job in hidden_jobs(visit, queue)
        states = queue.counts(mine, "state")
        labels = {} if hidden else queue.counts(mine, "label")
        failures = {} if hidden else queue.counts(pipeline.Filter(jobs=(job,), states=("failed",)), "failure")
    named = {label: number for label, number in list(labels.items())[:_MOST_LABELS] if label}
    return Counted(states, named, failures)


def _start(visit: Visit) -> Response:
    name = _known(visit)
    work = visit.house.works.start(visit.name, f"run {name} now", ("run", name), job=name, link=f"/jobs/{name}")
    visit.house.present.look_again()
    return RedirectResponse(f"/works/{work.number}", 303)


def _retry(visit: Visit) -> Response:
    name, failure = _known(visit), visit.form.get("failure", "")
    if failure and failure not in {each.value for each in pipeline.Failure}:
        raise RefusedError(422, f"There is no class of failures {failure!r}.")
    if failure and is_hidden(visit, name):  # how many of a class there are would tell why each failed
        raise RefusedError(403, f"Why documents of {name} failed is told to those who may open them; take up all.")
    command = ("retry", name, *(("--class", failure) if failure else ()))
    title = f"take up again what failed in {name}" + (f" as {failure}" if failure else "")
    work = visit.house.works.start(visit.name, title, command, job=name, link=f"/jobs/{name}")
    return RedirectResponse(f"/works/{work.number}", 303)


def _known(visit: Visit) -> str:
    """The name of a job that has a file: nothing else ever stands in a command."""
    name = str(visit.path["job"])
    if name not in {job.name for job in visit.house.present.jobs()}:
        raise LookupError(f"There is no job {name!r}.")
    return name


PAGES = (
    Page("/jobs/{job:str}", _job, Right.LISTS),
    Page("/jobs/{job:str}/run", _start, Right.OPERATE, "POST"),
    Page("/jobs/{job:str}/retry", _retry, Right.OPERATE, "POST"),
)
