"""`cloister worker`: works for the runs of other machines."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Annotated

import typer

import pipeline
from jobs.cli.cluster_options import AddressArgument, CredentialOption
from jobs.cli.options import JsonOption
from jobs.cli.output import hand_over, print_json, say
from jobs.config.cluster import need_address, need_dask
from jobs.config.workspace import keep_private
from jobs.nights.cluster import until_signal

ModelsOption = Annotated[
    Path,
    typer.Option(
        "--models", metavar="FOLDER", help="Where model files lie; one that a run needs and is not there is sent once."
    ),
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="How it is called; the name of the machine if left out.")
]


def worker(
    address: AddressArgument,
    credential: CredentialOption,
    models: ModelsOption,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read and answer documents for runs on another machine, until Ctrl-C or SIGTERM.

    It waits for the scheduler, and for it to come back. Nothing of a document stays on this machine's disk. A run
    refuses a worker of other software by name. It uses the CPUs that CLOISTER_THREADS and its cgroup allow.
    """
    keep_private()
    need_address("worker", address)
    need_dask("worker")
    pipeline.check_machine()
    speaks, called = pipeline.read_credential(credential, pipeline.WORKER_ROLE), name or platform.node()

    def told(line: str) -> None:
        if as_json:
            print_json({"worker": called, "said": line})
        else:
            say(line)
        hand_over()

    until_signal(lambda stop: pipeline.run_worker(address, speaks, called, models, stop, told))
