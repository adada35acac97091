"""`cloister review export`: a sheet of rows to be filled in elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import pipeline
from jobs.cli.files import unwritable
from jobs.cli.options import JsonOption, WorkspaceOption, job_names
from jobs.cli.output import print_json, say
from jobs.cli.queue_options import (
    DecidedOption,
    FolderOption,
    LabelOption,
    NightOption,
    SettingsOption,
    SortOption,
    StateOption,
    TextOption,
    chosen,
)
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.record import record
from jobs.visible import counted

JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="The job whose rows are exported.", autocompletion=job_names)
]
SheetOption = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The sheet: FILE.csv or FILE.jsonl.")]


def export(
    job: JobArgument,
    out: SheetOption,
    state: StateOption = None,
    label: LabelOption = None,
    folder: FolderOption = None,
    night: NightOption = None,
    text: TextOption = None,
    decided: DecidedOption = None,
    current_settings: SettingsOption = False,
    sort: SortOption = "score",
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, metavar="N", help="At most N rows.")] = 1_000,
    sample: Annotated[bool, typer.Option("--sample", help="Only the rows of the last sample that wait.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a sheet of rows on which people decide: CSV for a spreadsheet, JSON Lines for programs.

    Only rows on which can be decided: in review, abstained, done or rejected. Fill in the last columns: action (accept,
    correct or reject), why, and what is right in the new columns; `review import` takes the sheet. Each row has an id
    that stays the same.
    """
    ending = check_ending(out)
    place = open_workspace(workspace)
    wanted = chosen(
        place, job, state or pipeline.REVIEWABLE, label or (), (), folder, night, text, decided, current_settings, sort
    )
    if refused := [each for each in wanted.asked.states if each not in pipeline.REVIEWABLE]:
        expected = f"one of {', '.join(pipeline.REVIEWABLE)}"
        raise ConfigError(Problem("--state", f"nobody decides on rows that are {refused[0]}", expected))
    site = make_site(place)
    with pipeline.open_queue(site) as queue:
        queue.refresh()
        rows = pipeline.rows_in_order(site, queue, wanted.asked, wanted.sort, None if sample else limit)
        if sample:
            waiting = _waiting(site, queue, job)
            rows = (row for row in rows if row["audit_index"] in waiting)
        found = list(rows)
    record(site, pipeline.ReadResults(of_job=job, failed=False, limit=limit))
    data = pipeline.format_csv(site.origin, found) if ending == "csv" else b"".join(
        pipeline.format_jsonl(site.origin, found)
    )  # fmt: skip
    try:
        out.write_bytes(data)
    except OSError as error:
        raise unwritable(out, error) from error
    if as_json:
        print_json({"file": out, "rows": len(found)})
    else:
        say(f"{counted(len(found), 'row')} in {out}; fill in its last columns, then: cloister review import {out}")


def check_ending(path: Path) -> str:
    """The format of a sheet, by its name. ConfigError."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in pipeline.SHEETS:
        raise ConfigError(Problem(str(path), "no sheet by its name", f"FILE.{' or FILE.'.join(pipeline.SHEETS)}"))
    return ending


def _waiting(site: pipeline.Site, queue: pipeline.Queue, job: str) -> set[int]:
    last = next(iter([*pipeline.samples(site, job)][-1:]), None)
    if last is None:
        raise ConfigError(Problem("--sample", f"no sample of {job} was drawn", "cloister review sample JOB --size N"))
    return {row.entry for row in pipeline.standing(queue, last).rows if row.verdict == "waits"}
