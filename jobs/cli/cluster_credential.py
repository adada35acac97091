"""`cloister cluster credential`: another credential of the workspace's cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.cluster import FOLDER, need_dask
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem

OutArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file to make, which nobody else may read.")]
HeadOption = Annotated[bool, typer.Option("--head", help="For the head of runs, and not for workers.")]


def credential(
    out: OutArgument, head: HeadOption = False, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """Make a credential for one machine, valid for two years: so that each has its own, or when one expires."""
    place = open_workspace(workspace)
    need_dask("cluster credential")
    if out.exists():
        raise ConfigError(Problem(str(out), "is there already", "a new file"))
    pipeline.issue_credential(place.root / FOLDER, out, pipeline.HEAD_ROLE if head else pipeline.WORKER_ROLE)
    if as_json:
        print_json({"file": out, "role": pipeline.HEAD_ROLE if head else pipeline.WORKER_ROLE})
    else:
        say(f"{out}: a secret for {'the head' if head else 'a worker'}; copy it there, and delete it here")
