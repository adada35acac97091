"""`cloister cluster up`: a scheduler and workers on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import pipeline
from jobs.cli.cluster_options import HostOption, PortOption
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.cluster import FOLDER, need_dask
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.nights.cluster import Local, end, read_local, start, wait_for_line, write_local
from jobs.visible import counted

WorkersOption = Annotated[
    int, typer.Option("--workers", min=0, max=64, metavar="N", help="Workers on this machine, which share its CPUs.")
]


def up(
    workers: WorkersOption = 1,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8786,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start a scheduler and workers on this machine, and say what to type on others. They run until `cluster down`.

    The first time it makes an authority and two credentials, in keys/cluster/: that of the head, and that of workers,
    which is to be copied to each other machine. Nobody without one of them can speak to the cluster. Without --host
    only this machine can.
    """
    place = open_workspace(workspace)
    need_dask("cluster up")
    if local := read_local(place.root):
        found = f"runs already, at {local.address}"
        raise ConfigError(Problem("the cluster of this workspace", found, "none", "cloister cluster down"))
    head, worker = pipeline.make_credentials(place.root / FOLDER)
    scheduler = start(
        place.root,
        "scheduler",
        ["cluster", "scheduler", "--host", host, "--port", str(port), "--credential", str(head)],
    )
    started, address = [scheduler], ""
    try:
        write_local(place.root, Local(address, tuple(started)))  # so that `down` ends what is half started, too
        address = wait_for_line(scheduler, "listening: ").removeprefix("listening: ")
        write_local(place.root, Local(address, tuple(started)))
        threads = max(1, (pipeline.look_at_machine().threads or 1) // max(1, workers))
        for number in range(1, workers + 1):
            arguments = ["worker", address, "--credential", str(worker), "--models", str(place.root / "models")]
            name = f"worker-{number}"
            started.append(start(place.root, name, [*arguments, "--name", name], CLOISTER_THREADS=str(threads)))
            write_local(place.root, Local(address, tuple(started)))
        for process in started[1:]:
            wait_for_line(process, "listed: ")
    except BaseException:
        end(Local("", tuple(started)))
        raise
    if as_json:
        print_json({"address": address, "credential": worker, "processes": [asdict(each) for each in started]})
        return
    say(f"A scheduler and {counted(workers, 'worker')} run at {address}")
    say(f"Use them:             cloister run JOB --cluster {address}")
    say(f"On another machine:   cloister worker {address} --credential worker.pem --models FOLDER")
    say(f"                      with a copy of {worker}, which is a secret")
    if host == "127.0.0.1":
        say("                      which needs an address of this machine here: cloister cluster up --host ADDRESS")
    say("End them:             cloister cluster down")
