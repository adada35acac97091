"""`cloister cluster scheduler`: the list of workers, in the foreground."""

from __future__ import annotations

import pipeline
from jobs.cli.cluster_options import CredentialOption, HostOption, PortOption
from jobs.cli.output import say
from jobs.cluster.asked import need_dask
from jobs.cluster.serving import until_signal


def scheduler(credential: CredentialOption, host: HostOption = "127.0.0.1", port: PortOption = 8786) -> None:
    """List the workers of a cluster for the heads of runs, until Ctrl-C or SIGTERM. It sees no document.

    `cluster up` starts one in the background; this is for a unit of systemd (configs/systemd/), or another supervisor.
    """
    need_dask("cluster scheduler")
    speaks = pipeline.read_credential(credential, pipeline.HEAD_ROLE)
    until_signal(lambda stop: pipeline.run_scheduler(host, port, speaks, stop, lambda at: say(f"listening: {at}")))
