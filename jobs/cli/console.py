"""`cloister console`: the page in the browser, and who may use it."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import hand_over, print_json, say
from jobs.config.workspace import open_workspace
from jobs.console.open import open_console

PortOption = Annotated[
    int | None,
    typer.Option(
        "--port", min=0, max=65535, metavar="N", help="The port on 127.0.0.1; 0 picks one.", show_default=False
    ),
]
SocketOption = Annotated[
    Path | None,
    typer.Option("--socket", metavar="PATH", help="Serve on a Unix socket instead, which its owner alone may use."),
]
GroupOption = Annotated[bool, typer.Option("--group", help="The group of the socket may use it, too (0660).")]


def console(
    context: typer.Context,
    port: PortOption = None,
    socket: SocketOption = None,
    group: GroupOption = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the workspace's pages to browsers on this machine, until Ctrl-C or SIGTERM.

    Who may come in: `cloister console invite NAME --role reviewer`. Nothing is served to other machines; a proxy on
    this one may, see jobs/console/README.md.
    """
    if context.invoked_subcommand is not None:
        return
    place = open_workspace(workspace)

    def ready(url: str, people: int) -> None:
        if as_json:
            print_json({"url": url, "people": people})
        else:
            say(f"{place.root}: {url}    (Ctrl-C ends it)")
            if not people:
                say("Nobody can sign in yet. In another terminal: cloister console invite NAME --role reviewer")
        hand_over()

    open_console(place, ready, port=port, path=socket, group=group)
