"""`cloister cluster down`: ends what `cluster up` started on this machine."""

from __future__ import annotations

from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.workspace import open_workspace
from jobs.nights.cluster import end, read_local
from jobs.visible import counted


def down(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """End the scheduler and the workers that `cluster up` started on this machine. Runs go on without them."""
    place = open_workspace(workspace)
    local = read_local(place.root)
    ended = end(local) if local else 0
    if as_json:
        print_json({"ended": ended})
    else:
        say(f"{counted(ended, 'process')} ended" if ended else "No process of a cluster runs here")
