"""`cloister review import`: the decisions of a sheet that was filled in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption, check_text
from jobs.cli.output import print_json, say
from jobs.cli.review_export import check_ending
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.visible import counted, one_line

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The sheet, as `review export` wrote it.")]
AsOption = Annotated[str, typer.Option("--as", metavar="NAME", help="Who decides it; it stands in the log.")]


def import_(file: FileArgument, by: AsOption, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Take the decisions of a sheet: each becomes a row in the log, with who made it.

    Nothing is decided if a line cannot be understood. A row whose answer is no longer the one that was exported is
    refused and told, and the others are taken. A sheet that is imported again decides nothing twice, for its rows have
    been replaced. Exit 1 where a row was refused.
    """
    check_text("--as", by, "a person's name; it stands in the log")
    ending = check_ending(file)
    site = make_site(open_workspace(workspace))
    filled = _read(file, ending, site.origin)
    told = list(_decide(site, filled, by.strip()))
    if as_json:
        print_json({"file": file, "rows": told})
    else:
        _print(file, told)
    if any(each["refused"] for each in told):
        raise typer.Exit(int(ExitCode.DOCUMENTS_FAILED))


def _read(file: Path, ending: str, origin: str) -> list[pipeline.Filled]:
    try:
        return pipeline.parse_sheet(file.read_bytes(), ending, origin)
    except OSError as error:
        raise ConfigError(Problem(str(file), f"cannot be read: {error.strerror}")) from error
    except pipeline.BadSheetError as error:
        raise ConfigError(Problem(str(file), error.found, error.expected, line=error.line)) from error


def _decide(site: pipeline.Site, filled: list[pipeline.Filled], by: str) -> Iterator[dict[str, Any]]:
    for each in filled:
        told = {"line": each.line, "row": each.entry, "action": each.action, "entry": None, "waits": False}
        try:
            outcome = pipeline.decide(site, _review(site, each, by))
            yield told | {"entry": outcome.n, "waits": outcome.waits, "refused": None if outcome.waits else outcome.why}
        except (LookupError, pipeline.ReviewRefusedError) as error:
            yield told | {"refused": str(error.args[0])}


def _review(site: pipeline.Site, filled: pipeline.Filled, by: str) -> pipeline.Review:
    """The decision. LookupError; ReviewRefusedError where another row was exported than the log has."""
    row = pipeline.row_of(site, filled.entry)
    if pipeline.seen_digits(pipeline.result_sha256(row)) != filled.seen:
        raise pipeline.ReviewRefusedError(f"the row of entry {filled.entry:,} is not the one that was exported")
    return pipeline.Review(row["job"], filled.entry, filled.action, by, filled.why, filled.answer(row["task"]))


def _print(file: Path, told: list[dict[str, Any]]) -> None:
    for each in told:
        if each["refused"]:
            say(f"{file}:{each['line']}: row {each['row']} was not {each['action']}: {one_line(each['refused'])}")
    taken, waits = sum(each["entry"] is not None for each in told), sum(each["waits"] for each in told)
    refused = sum(bool(each["refused"]) for each in told)
    later = f", {waits:,} that wait for the run that holds the log" if waits else ""
    no = f", {refused:,} refused" if refused else ""
    say(f"{counted(taken, 'decision')} taken{later}{no}" if told else f"{file} decides nothing: its actions are empty")
