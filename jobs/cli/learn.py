"""`cloister learn`: what was learned from examples answers a job."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated

import typer

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.plan import make_plan
from jobs.config.workspace import find_job, load_job_of, open_workspace
from jobs.errors import ConfigError, Problem, StoppedError
from jobs.progress import telling
from jobs.visible import counted, one_line

SHOWN = 20  # mistakes in examples


def learn(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job: its name, or the path of its file.")],
    examples: Annotated[
        Path,
        typer.Option(
            "--examples",
            metavar="PATH",
            help="A CSV or JSONL file with `text` or `document`, and `label`, `summary` or `fields` (CSV: a column for "
            "each); or a folder with a folder for each label; or the word review: the rows that people accepted or "
            "corrected.",
        ),
    ],
    skip_missing: Annotated[
        bool,
        typer.Option("--skip-missing", help="Leave out values of fields that do not stand in their document."),
    ] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn from examples how to answer a job: on a model that gives embeddings, or labels on one that writes.

    Writes models/JOB.head and says what to write into the job for it to be used, and how good it is on examples that it
    had not seen. If it was stopped, the same command goes on where it was. Exit 2 if an example is not as it must be, 3
    for a refused model; the old head then stays.
    """
    place = open_workspace(workspace)
    loaded = load_job_of(place, find_job(place, job))
    plan, task = make_plan(place, loaded), loaded.config.task.type
    if skip_missing and task != "extract":
        found = f"a job of the task {task}, whose examples have no values of fields"
        raise ConfigError(Problem("--skip-missing", found, "a job of the task extract"))
    try:
        with telling("learn") as progress, examples_of(plan, examples, placed=True) as source:
            report = pipeline.learn_head(plan, source, progress, skip_missing=skip_missing)
    except pipeline.ExamplesRefusedError as error:
        raise refusal_of(error, examples) from None
    except KeyboardInterrupt as stopped:
        kept = getattr(stopped, "__notes__", ["Nothing is kept, and the same command begins anew."])
        raise StoppedError(f"models/{loaded.name}.head is as it was.", *kept) from None
    if as_json:
        measured = asdict(report.measured)  # type: ignore[call-overload]  # a dataclass of each task's own
        own = {one.name: getattr(report, one.name) for one in fields(report) if one.name != "measured"}
        print_json({**own, **measured})
        return
    _print(report)


def examples_of(plan: pipeline.RunPlan, given: Path, *, placed: bool) -> contextlib.AbstractContextManager[Path]:
    """The file or folder that was given; for the word review, a file of what people accepted and corrected."""
    if str(given) == pipeline.REVIEW:
        return pipeline.review_examples(plan, placed=placed)
    return contextlib.nullcontext(given)


def refusal_of(error: pipeline.ExamplesRefusedError, examples: Path) -> ConfigError:
    """The refusal of examples with their mistakes, each with its place."""
    shown = [Problem(one.where, one.found, one.expected, one.remedy) for one in error.mistakes[:SHOWN]]
    if more := len(error.mistakes) - len(shown):
        shown.append(Problem(str(examples), f"{counted(more, 'further mistake')} like these"))
    return ConfigError(*shown)


def _print(report: pipeline.LearnReport) -> None:
    again = f", {report.again:,} of them given twice and learned once" if report.again else ""
    say(f"learned {report.name} from {counted(report.examples, 'example')} in {report.seconds:.1f} s{again}")
    if report.skipped:
        say(f"  left out  {counted(len(report.skipped), 'value')} of fields, which do not stand in their document:")
        for each in report.skipped[:SHOWN]:
            say(f"            {each.where}: {one_line(each.found)}")
        if len(report.skipped) > SHOWN:
            say(f"            and {len(report.skipped) - SHOWN:,} more; --json names all of them")
    for name, told in report.measured.told():
        say(f"  {name:<9} {told}")
    say(f"  {'file':<9} {report.path}")
    say("To use it, write into the job:")
    say("  model:")
    say("    head:")
    say(f"      name: {report.name}")
    say(f"      sha256: {report.sha256}")
