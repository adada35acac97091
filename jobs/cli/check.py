"""`cloister check`: everything that is wrong with jobs, before a run finds out."""

from dataclasses import dataclass
from typing import Any

import typer

from jobs.cli.describe import asks, starts
from jobs.cli.options import JobsArgument, JsonOption, WorkspaceOption
from jobs.cli.output import counted, print_json
from jobs.errors import ConfigError, ExitCode, Problem, worst
from jobs.load import LoadedJob, shown
from jobs.workspace import Workspace, find_job, load_job_of, open_workspace


@dataclass(frozen=True)
class Checked:
    """One job: what it would do, or what is wrong with it."""

    name: str
    code: ExitCode
    problems: tuple[Problem, ...] = ()
    refusal: str | None = None
    plan: dict[str, Any] | None = None


def check(jobs: JobsArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Check jobs without running them: YAML, folders, model file and its sha256.

    Tells all problems at once, or what the job would do. Exit 2 for a mistake in the job, 3 for a refused model.
    """
    place = open_workspace(workspace)
    checked = [_check(place, name) for name in jobs]
    code = worst(each.code for each in checked)
    if as_json:
        print_json({"jobs": checked, "exit_code": int(code)})
    else:
        for each in checked:
            _print(each)
    raise typer.Exit(int(code))


def _check(workspace: Workspace, name: str) -> Checked:
    import pipeline
    from jobs.plan import make_plan

    try:
        job = load_job_of(workspace, find_job(workspace, name))
        plan = make_plan(workspace, job)
        sha256 = pipeline.check_model(plan.model)
        facts = pipeline.inspect_model(plan.model.path)
    except ConfigError as error:
        return Checked(name, ExitCode.BAD_CONFIG, problems=error.problems)
    except pipeline.ModelRefusedError as error:
        return Checked(name, ExitCode.MODEL_REFUSED, refusal=str(error))
    ready = len(pipeline.scan(plan.input).ready)
    return Checked(job.name, ExitCode.DONE, plan=_told(job, plan, sha256, facts, ready))


def _told(job: LoadedJob, plan: Any, sha256: str, facts: dict[str, Any], ready: int) -> dict[str, Any]:
    return {
        "file": shown(job.path),
        "input": f"{shown(plan.input.folder)} ({', '.join(plan.input.include)}), {counted(ready, 'file')} ready, "
        + {"archive": "archived afterwards", "keep": "kept afterwards"}[plan.input.afterwards],
        "serve": f"starts it {starts(job)}" if job.config.schedule is None else f"starts it by {starts(job)}",
        "model": f"{plan.model.name}, {facts['architecture']}",
        "sha256": sha256 + ("" if plan.model.sha256 else " (not pinned: write it into the job as model.sha256)"),
        "task": asks(job),
        "output": f"{shown(plan.outbox)} ({', '.join(plan.formats)})",
    }


def _print(checked: Checked) -> None:
    for problem in checked.problems:
        print(problem)
    if checked.refusal:
        print(f"{checked.name}: model refused: {checked.refusal}")
    if checked.plan:
        print(f"{checked.name}: in order")
        for key, value in checked.plan.items():
            print(f"  {key:<7} {value}")
