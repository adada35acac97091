"""`cloister cluster status`: who is listed at a scheduler, and whether a run would take them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, print_table, say
from jobs.config.cluster import cluster_of
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.nights.cluster import read_local

ClusterOption = Annotated[
    str | None, typer.Option("--cluster", metavar="ADDRESS", help="The scheduler; else the one of site.yaml or `up`.")
]


def status(cluster: ClusterOption = None, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show the workers that are listed, with their machines, and whether each may work on a run of this workspace.

    Exit 0: some may; 7: none may; 2: no scheduler answers.
    """
    place = open_workspace(workspace)
    local = read_local(place.root)
    asked = cluster_of(place.root, place.site.cluster, cluster or (local.address if local else None))
    if asked is None:
        raise ConfigError(
            Problem("--cluster", "no cluster is known", "the address of a scheduler", "cloister cluster up")
        )
    members = pipeline.look_at_workers(asked)
    if as_json:
        print_json({"address": asked.scheduler, "workers": members})
    else:
        say(f"{asked.scheduler}: {len(members)} listed")
        print_table(("worker", "host", "cpu", "isa", "state"), [_line(member) for member in members])
    if not any(member["state"] == "ready" for member in members):
        raise SystemExit(int(ExitCode.NEEDS_PERSON))


def _line(member: dict[str, Any]) -> tuple[str, ...]:
    state = f"{member['state']}: {member['why']}" if member["why"] else member["state"]
    return (*(str(member.get(name, "")) for name in ("worker", "host", "cpu", "isa")), state)
