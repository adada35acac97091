"""`cloister retry`: failed documents taken up again."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

import pipeline
from jobs.cli.options import JobsArgument, JsonOption, WaitOption, WorkspaceOption
from jobs.cli.run import calling_of, end, plans_of, run_all
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem

ClassOption = Annotated[
    list[str] | None,
    typer.Option(
        "--class",
        metavar="CLASS",
        help="Only failed documents of this class: timeout, needs_ocr, encrypted, …; may be given several times.",
        show_default=False,
    ),
]


def retry(
    jobs: JobsArgument,
    classes: ClassOption = None,
    wait: WaitOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take up failed documents again, from failed/ or, if they could not be read, from the input folder.

    For when a limit was raised, Tesseract installed or Cloister updated. A document that can be read now gets its
    row, which supersedes the failed one, and leaves failed/. What else lies in the input folder waits for the next run.
    It is not handed over to cloister serve: while that runs a job, retry waits for --wait SECONDS, or ends with exit 5.
    Exit codes are those of run.
    """
    place = open_workspace(workspace)
    chosen = _chosen(classes)
    calling = calling_of(place)
    plans, wrong = plans_of(place, jobs, calling)
    end(place, run_all([(job, replace(plan, retry=chosen)) for job, plan in plans], calling, wait, wrong), as_json)


def _chosen(classes: list[str] | None) -> frozenset[pipeline.Failure]:
    known = {failure.value: failure for failure in pipeline.Failure}
    problems = [
        Problem(f"--class {name}", "no class of failures", f"one of {', '.join(known)}")
        for name in classes or ()
        if name not in known
    ]
    if problems:
        raise ConfigError(*problems)
    return frozenset(known[name] for name in classes or known)
