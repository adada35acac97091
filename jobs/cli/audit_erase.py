"""`cloister audit erase`: a document's traces, on request."""

from __future__ import annotations

from typing import Annotated

import typer

import pipeline
from jobs.cli.options import DocumentArgument, JsonOption, WaitOption, WorkspaceOption, check_reason
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.visible import counted

_LISTED = 10
_DIGITS = 16  # of a sha256


def erase(
    document: DocumentArgument,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it stands in the log, so name nobody.")],
    archive: Annotated[
        bool, typer.Option("--archive", help="Also its bytes and text, in archive/ and failed/.")
    ] = False,
    rows: Annotated[bool, typer.Option("--rows", help="Also its rows and Markdown files in outbox/.")] = False,
    containers: Annotated[
        bool,
        typer.Option("--containers", help="Also the mails and archives in which it came, with all that is in them."),
    ] = False,
    wait: WaitOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase a document, and those that were in it: of any job its bytes, text and rows, as far as --archive and --rows
    say.

    Of private jobs, what opens its entries is removed too, so that the log says no more what it was called and which
    it was; entries of other jobs keep its names. The log's proofs stay right, and the erasure is an entry of it. What
    is held is not erased. A copy that still lies in the input folder is taken as a new document.
    """
    check_reason(reason)
    site = make_site(open_workspace(workspace))
    try:
        erased = pipeline.erase(site, document, reason, archive=archive, rows=rows, containers=containers, wait=wait)
    except (LookupError, pipeline.ErasureRefusedError) as error:
        raise ConfigError(Problem("DOC", str(error.args[0]))) from error
    if as_json:
        print_json(erased)
        return
    _tell(erased, archive, rows)
    if site.at_rest.on and (archive or rows):
        say("  keys     removed from private/; backups of private/ have them until `cloister encryption rewrap` wraps")
        say("           the others with another key, and the one of today is destroyed")


def _tell(erased: pipeline.Erased, archive: bool, rows: bool) -> None:
    say(f"erased by entry {erased.number}")
    if erased.entries:
        say(f"  private  nothing opens {counted(len(erased.entries), 'entry')} any more")
    say(f"  archive  {_of_archive(erased) if archive else 'kept; --archive erases it'}")
    for each in erased.around[:_LISTED]:
        say(
            f"           {each.path} of job {each.job}: cloister audit erase {each.document[:_DIGITS]} --archive --rows"
        )
    if (more := len(erased.around) - _LISTED) > 0:
        say(f"           and {more:,} more; --json names all")
    told = f"{counted(erased.rows, 'row')} erased" if rows else "kept, with their names; --rows erases them"
    say(f"  rows     {told}")
    if erased.named:
        numbers = ", ".join(map(str, erased.named[:10])) + (", …" if len(erased.named) > 10 else "")
        say(f"  log      its names stay in entries of jobs that are not private: {numbers}")


def _of_archive(erased: pipeline.Erased) -> str:
    if not erased.around:
        return "erased with its text"
    return (
        "its own copy is erased with its text, BUT ITS BYTES REMAIN in what it came in. --containers erases that too, "
        "with all that is in it; now that needs:"
    )
