"""`cloister audit export`: a range of the log, for somebody who has neither this program nor this machine."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

import pipeline
from jobs.cli.options import JsonOption, WaitOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.visible import counted


def export(
    target: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make; it may be there if it is empty.")],
    since: Annotated[
        str | None, typer.Option("--from", metavar="DATE", help="The first day, as 2026-11-01; else the log's first.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="DATE", help="The last day, included; else the log's last.")
    ] = None,
    answers: Annotated[
        bool,
        typer.Option("--answers/--no-answers", help="Whether the report shows the answers, which quote documents."),
    ] = True,
    wait: WaitOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the log's records of some days to a folder that proves itself.

    Records, report, Parquet table, public keys, the log as C2SP tlog-tiles, and verify.py, which checks all of it with
    Python alone. The report shows the answers of documents, but of private jobs. Days are those of UTC. The log records
    the export, and that record proves it: exit 5, and no folder, if another process holds the log for as long as --wait
    says.
    """
    first, last = _day("--from", since), _day("--to", until)
    if first and last and last < first:
        raise ConfigError(Problem("--to", f"{until} lies before {since}", "the first day, or a later one"))
    site = make_site(open_workspace(workspace))
    try:
        exported = pipeline.export(site, target, first, last, wait=wait, answers=answers)
    except (FileExistsError, NotADirectoryError) as error:
        raise ConfigError(
            Problem(str(target), "is there already, and is no empty folder", "a folder that is not there yet")
        ) from error
    if as_json:
        print_json(exported)
        return
    _tell(exported, site.public_key)
    if exported.recorded.n is None:
        why = f"it could not be written: {exported.recorded.why}"
        say(f"The log has no record of this export, so nothing proves the report and the table: {why}")


def _tell(exported: pipeline.Exported, key: str) -> None:
    folder, records, others = exported.folder, exported.records, exported.others
    proved = (
        "each proved by the signed checkpoint" if records else "as the signed checkpoint proves: none is of these days"
    )
    say(f"{folder}: {counted(records, 'record')}, {proved}.")
    if others:
        say(f"Beside them its log bundles, which hold 256 entries each, have {counted(others, 'other entry')}.")
    if exported.answers:
        say(
            f"report.html shows {counted(exported.answers, 'answer')} from the documents; --no-answers leaves them out."
        )
    say("It is checked, wherever there is Python, with the log's public key:")
    say(f"    python3 {folder}/verify.py --key {key}")


def _day(option: str, text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise ConfigError(Problem(option, f"{text!r} is no day", "a day as 2026-11-01")) from error
