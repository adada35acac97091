"""`cloister cluster scheduler`: the list of workers, in the foreground."""

from __future__ import annotations

import pipeline
from jobs.cli.cluster_options import CredentialOption, HostOption, PortOption
from jobs.cli.options import JsonOption
from jobs.cli.output import hand_over, print_json, say
from jobs.config.cluster import need_dask
from jobs.nights.cluster import until_signal


def scheduler(
    credential: CredentialOption, host: HostOption = "127.0.0.1", port: PortOption = 8786, as_json: JsonOption = False
) -> None:
    """List the workers of a cluster for the heads of runs, until Ctrl-C or SIGTERM. It sees no document.

    `cluster up` starts one in the background; this is for a unit of systemd (configs/systemd/), or another supervisor.
    """
    need_dask("cluster scheduler")
    speaks = pipeline.read_credential(credential, pipeline.HEAD_ROLE)

    def ready(address: str) -> None:
        if as_json:
            print_json({"address": address})
        else:
            say(f"listening: {address}")
        hand_over()

    until_signal(lambda stop: pipeline.run_scheduler(host, port, speaks, stop, ready))
