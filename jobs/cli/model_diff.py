"""`cloister model diff`: which answers change between two models or heads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import pipeline
from jobs.cli.learn import refusal_of
from jobs.cli.options import JsonOption, WorkspaceOption, job_names
from jobs.cli.output import counts_line, print_json, print_table, say, shortened
from jobs.cli.uses import files_of
from jobs.config.load import LoadedJob
from jobs.config.plan import make_plan, make_site
from jobs.config.workspace import Workspace, find_job, load_job_of, open_workspace, readable_jobs
from jobs.errors import ConfigError, Problem
from jobs.progress import telling
from jobs.visible import counted

_ANSWER = 300  # characters of a line of an answer


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A model or head in models/; NAME.head where both are there.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one of the same kind.")],
    evaluation: Annotated[
        Path,
        typer.Option(
            "--eval",
            metavar="PATH",
            help="Documents: a folder, or a CSV or JSONL file with `text` or `document`.",
        ),
    ],
    job: Annotated[
        str | None,
        typer.Option(
            "--job", metavar="JOB", help="The job that asks; else the one that names A or B.", autocompletion=job_names
        ),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which answers of a job change from one model or head to another, on documents without labels.

    Everything else is as the job says; documents are read and answered as in a run, and nothing is kept. Models and
    heads need not be admitted. Of a mail or archive, what is in it is left out.
    """
    place = open_workspace(workspace)
    site = make_site(place)
    first, second = (pipeline.find_file(site.models, name) for name in (a, b))
    plan = make_plan(place, _job(place, job, {first.name, second.name}))
    try:
        with telling("diff") as progress:
            found = pipeline.compare(plan, first, second, evaluation, progress)
    except pipeline.ExamplesRefusedError as error:
        raise refusal_of(error, evaluation) from None
    if as_json:
        print_json({"same": found.same, **{name: getattr(found, name) for name in found.__dataclass_fields__}})
        return
    _print(found)


def _job(place: Workspace, name: str | None, files: set[str]) -> LoadedJob:
    """The job that is named, else the only one whose model or head is one of the files. ConfigError."""
    if name is not None:
        return load_job_of(place, find_job(place, name))
    using = [job for job in readable_jobs(place) if files & files_of(job)]
    if len(using) != 1:
        names = ", ".join(job.name for job in using)
        found = f"{counted(len(using), 'job')} with one of them ({names})" if using else "no job names one of them"
        raise ConfigError(Problem("--job", found, "the job that asks", "--job NAME"))
    return using[0]


def _print(found: pipeline.Comparison) -> None:
    for name, side in (("A", found.a), ("B", found.b)):
        say(f"{name}  models/{side.file}, sha256 {side.sha256[:12]}: {counts_line(side.states)}")
    say(
        f"{found.job}: {found.same:,} of {counted(found.documents, 'document')} have the same answer, "
        f"{found.rescored:,} of them with another score; {len(found.changed):,} changed"
    )
    if found.changed:
        cells = [(each.place, _answer(each.a), _answer(each.b)) for each in found.changed]
        print_table(("document", "A", "B"), cells)


def _answer(said: pipeline.Said) -> str:
    """The answer with its scores; the state and its reason where there is none."""
    lines = [
        f"{line.name}{shortened(line.text, _ANSWER)}" + ("" if line.score is None else f" ({line.score:.2f})")
        for line in said.lines
    ]
    if said.state == "done":
        return "\n".join(lines)
    return "\n".join([f"{said.state}: {said.reason}" if said.reason else said.state, *lines])
