"""`cloister model revoke`: no job may use a model or head any more."""

from typing import Annotated

import typer

import pipeline
from jobs.cli.options import ByOption, JsonOption, WaitOption, WorkspaceOption, check_reason, person
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace


def revoke(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A model or head in models/, or the sha256 of one that may be gone.")
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it stands in the log.")],
    by: ByOption = None,
    wait: WaitOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a model or head, admitted or not: from now on runs with its bytes are refused, under any name.

    Rows that it made stay, and `audit recall --model` lists them; `audit replay` may still use it. A run that is on its
    way ends first: the revocation waits for the log. It is an entry of the log.
    """
    check_reason(reason)
    site = make_site(open_workspace(workspace))
    revoked = pipeline.revoke(site, name, person(by), reason, wait=wait)
    if as_json:
        print_json(revoked)
        return
    say(f"revoked {f'models/{revoked.file}' if revoked.file else 'a file'} by entry {revoked.number}")
    say(f"  sha256  {revoked.sha256}")
    if not revoked.file.endswith(".head"):
        say(f"  rows    cloister audit recall --model {revoked.sha256[:12]} lists what it made")
