"""`cloister model verify`: admitted models and heads are what was admitted, and answer as they did."""

from __future__ import annotations

from typing import Annotated

import typer

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, print_table, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ExitCode
from jobs.progress import saying
from jobs.record import record


def verify(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A model or head in models/; else all that are admitted."),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Verify admitted models and heads: their bytes, and their golden answers, bit for bit, on this machine.

    Exit 0: as they were admitted; 1: some could not be compared, as their golden texts are gone or this version
    computes otherwise; 3: one has other bytes, or answers otherwise, or is not admitted at all.
    """
    site = make_site(open_workspace(workspace))
    with saying() as progress:
        found = list(pipeline.verify_models(site, name, progress or (lambda fact: None)))
    for each in found:
        record(site, each.to_record())
    code = _code(found)
    if as_json:
        print_json({"files": found, "exit_code": int(code)})
    elif not found:
        say("nothing is admitted; cloister model admit NAME admits a model or head")
    else:
        cells = [(each.file, each.bytes, each.answers, each.told, each.sha256) for each in found]
        print_table(("file", "bytes", "answers", "", "sha256"), cells, whole=("file", "bytes", "answers"))
    raise typer.Exit(int(code))


def _code(found: list[pipeline.Checked]) -> ExitCode:
    if any(each.wrong for each in found):
        return ExitCode.MODEL_REFUSED
    return ExitCode.DOCUMENTS_FAILED if any(each.answers == "incomparable" for each in found) else ExitCode.DONE
