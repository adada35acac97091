"""`cloister audit release`: the end of a legal hold."""

from typing import Annotated

import typer

import pipeline
from jobs.cli.options import DocumentArgument, JsonOption, WaitOption, WorkspaceOption, check_reason
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem


def release(
    document: DocumentArgument,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it stands in the log.")],
    number: Annotated[
        int | None,
        typer.Option("--hold", metavar="N", help="Of several holds, the one of entry N.", show_default=False),
    ] = None,
    wait: WaitOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release a document that was held.

    The rules of its jobs count again, from the next run on. The release is an entry of the log.
    """
    check_reason(reason)
    try:
        released = pipeline.release(make_site(open_workspace(workspace)), document, number, reason, wait=wait)
    except LookupError as error:
        raise ConfigError(Problem("DOC", str(error.args[0]))) from error
    if as_json:
        print_json(released)
        return
    say(f"released the hold of entry {released.number} ({released.reason})")
