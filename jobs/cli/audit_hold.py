"""`cloister audit hold`: a document that nothing may delete."""

from typing import Annotated

import typer

import pipeline
from jobs.cli.options import DocumentArgument, JsonOption, WaitOption, WorkspaceOption, check_reason
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.visible import counted


def hold(
    document: DocumentArgument,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it stands in the log.")],
    wait: WaitOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hold a document, and those that were in it, until it is released.

    No rule of a job's retention deletes it, in any job, and nobody erases it. The hold is an entry of the log.
    """
    check_reason(reason)
    try:
        held = pipeline.hold(make_site(open_workspace(workspace)), document, reason, wait=wait)
    except LookupError as error:
        raise ConfigError(Problem("DOC", str(error.args[0]))) from error
    if as_json:
        print_json(held)
        return
    say(f"held by entry {held.number}: {counted(len(held.documents), 'document')}")
    for sha256 in held.documents:
        say(f"  {sha256}")
