"""`cloister rerun`: archived documents answered again, by today's settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, NoReturn, TypeAlias

import typer

import pipeline
from jobs.cli.options import JobsArgument, JsonOption, WaitOption, WorkspaceOption
from jobs.cli.output import print_json, say, say_list
from jobs.cli.queue_options import FolderOption, LabelOption, NightOption, StateOption, TextOption
from jobs.cli.run import calling_of, end, plans_of, print_rerunning, run_all
from jobs.config.load import LoadedJob, did_you_mean
from jobs.config.workspace import Workspace, open_workspace
from jobs.errors import ConfigError, Ending, ExitCode, Problem, ending_of, worst
from jobs.visible import counted

AllOption = Annotated[
    bool, typer.Option("--all", help="Also documents that today's settings and model answered: after an update.")
]
DecidedOption = Annotated[
    bool,
    typer.Option("--decided", help="Also documents on whose row a person decided; the new answer takes its place."),
]
SampleOption = Annotated[
    int | None, typer.Option("--sample", min=1, metavar="N", help="Of all that fit, N drawn at random.")
]
SeedOption = Annotated[
    str | None, typer.Option("--seed", metavar="TEXT", help="Draw by this seed; if left out, by the root of the log.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Only say how many documents would be answered again, and why.")
]

Plans: TypeAlias = "list[tuple[LoadedJob, pipeline.RunPlan]]"
_LISTED = 20
_ELSEWHERE = {
    "failed": "cloister retry takes up what failed, from failed/",
    "duplicate": "a copy has no answer of its own: it follows the document that it is a copy of",
}


def rerun(
    jobs: JobsArgument,
    everything: AllOption = False,
    state: StateOption = None,
    label: LabelOption = None,
    folder: FolderOption = None,
    night: NightOption = None,
    text: TextOption = None,
    sample: SampleOption = None,
    seed: SeedOption = None,
    decided: DecidedOption = False,
    dry_run: DryRunOption = False,
    wait: WaitOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer archived documents again, after labels, the model or other settings of a job changed.

    Without --all these are the documents whose row was made by other settings, or another model, than today's. Each
    new row takes the place of the one before. What a person decided stays, unless --decided is given; what is held,
    deleted or altered in the archive is told and left. A rerun that was cut off goes on when the same command is given
    again. Nothing is taken from the job's folder. Window and exit codes are those of run.
    """
    asked = _asked(everything, decided, state or [], label or [], folder, night, text, sample, seed)
    place = open_workspace(workspace)
    calling = calling_of(place)
    plans, wrong = plans_of(place, jobs, calling)
    plans, batches = _without_batches(plans)
    wrong += batches
    plans = [(job, replace(plan, rerun=asked)) for job, plan in plans]
    if dry_run:
        _foresee(place, plans, wrong, as_json)
    end(place, run_all(plans, calling, wait, wrong), as_json)


def _asked(
    everything: bool, decided: bool, states: Sequence[str], labels: Sequence[str], folder: str | None,
    night: str | None, text: str | None, sample: int | None, seed: str | None,
) -> pipeline.Rerun:  # fmt: skip
    """What is asked for. ConfigError."""
    known = [*map(str, pipeline.RERUNNABLE)]
    for name in states:
        if name not in known:
            remedy = _ELSEWHERE.get(name) or did_you_mean(name, known)
            raise ConfigError(Problem("--state", repr(name), f"one of {', '.join(known)}", remedy))
    if seed is not None and sample is None:
        raise ConfigError(Problem("--seed", "without --sample", "--sample N, to draw N documents"))
    return pipeline.Rerun(
        everything=everything, decided=decided, states=tuple(sorted(set(states))), labels=tuple(sorted(set(labels))),
        folder=folder, night=night, text=text, sample=sample, seed=seed,
    )  # fmt: skip


def _without_batches(plans: Plans) -> tuple[Plans, list[Ending]]:
    """The jobs that can be run again, and the endings of those that cannot. ConfigError if none can."""
    problems = [
        Problem(
            str(job.path), "a job of batch files, whose requests are answered once",
            "a job whose documents are answered one by one",
            "put the batch file into the folder again; under other settings its requests are answered anew",
        )
        for job, plan in plans
        if plan.is_batch
    ]  # fmt: skip
    if problems and len(problems) == len(plans):
        raise ConfigError(*problems)
    kept = [(job, plan) for job, plan in plans if not plan.is_batch]
    return kept, [ending_of(ConfigError(problem)) for problem in problems]


def _foresee(place: Workspace, plans: Plans, wrong: list[Ending], as_json: bool) -> NoReturn:
    """Tell what the reruns would take, and exit."""
    foreseen, refused = list[pipeline.Rechosen](), [*wrong]
    for _, plan in plans:
        try:
            foreseen.append(pipeline.foresee_rerun(plan))
        except pipeline.ModelRefusedError as error:
            refused.append(ending_of(error, place.root, processing=True))
    code = worst([ending.code for ending in refused] or [ExitCode.DONE])
    if as_json:
        runs = [_told(each) for each in foreseen]
        print_json({"runs": runs, "errors": [each.to_json()["error"] for each in refused], "exit_code": int(code)})
    else:
        for each in foreseen:
            _print(each)
        for ending in refused:
            say(ending.message)
    raise typer.Exit(int(code))


def _told(foreseen: pipeline.Rechosen) -> dict[str, Any]:
    left = [{"path": path, "reason": reason} for path, reason in foreseen.left]
    return {
        "job": foreseen.job, "dry_run": True, "would": len(foreseen.paths), "rerun": foreseen.told,
        "documents": foreseen.paths, "left": left,
    }  # fmt: skip


def _print(foreseen: pipeline.Rechosen) -> None:
    would = counted(len(foreseen.paths), "document")
    say(f"{foreseen.job}: {would} would be answered again" if foreseen.paths else f"{foreseen.job}: nothing to do")
    print_rerunning(foreseen.job, foreseen.told)
    if foreseen.paths:
        say_list(list(foreseen.paths), len(foreseen.paths), _LISTED)
    if foreseen.left:
        say(f"  left     {counted(len(foreseen.left), 'document')}:")
        say_list([f"{path}: {reason}" for path, reason in foreseen.left], len(foreseen.left), _LISTED)
