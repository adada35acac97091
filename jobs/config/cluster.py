"""Which cluster a run works with: what the command says, else what site.yaml says, else none."""

from __future__ import annotations

import re
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pipeline
from jobs.config.site import CLUSTER_ADDRESS, ClusterConfig
from jobs.errors import ConfigError, Problem
from jobs.silence.guard import let_threads
from jobs.silence.seal import begin, let_in_for_cluster

ADDRESS_MEANS: Final = "tls://HOST:PORT, as `cloister cluster up` prints it"
FOLDER: Final = "keys/cluster"
"""Where the credentials of a workspace's cluster lie."""
_NEEDS: Final = "distributed"


def cluster_of(root: Path, said: ClusterConfig | None, asked: str | None) -> pipeline.plan.Cluster | None:
    """The cluster of a run in the workspace `root`; `said`: the section of site.yaml, `asked`: the option of the
    command. ConfigError for no address, or where Dask is not installed."""
    address = asked or (said.scheduler if said else None)
    if address is None:
        return None
    need_address("--cluster", address)
    need_dask("--cluster" if asked else "site.yaml: cluster")
    named = said.credential if said else f"{FOLDER}/head.pem"
    return pipeline.plan.Cluster(address, root / named, begin_thread)


def need_address(where: str, address: str) -> None:
    """ConfigError for what is no address of a scheduler."""
    if not re.fullmatch(CLUSTER_ADDRESS, address):
        raise ConfigError(Problem(where, f"the address {address!r}", ADDRESS_MEANS))


def need_dask(where: str) -> None:
    """ConfigError where the extra `cluster` is not installed."""
    let_in_for_cluster()
    if find_spec(_NEEDS) is None:
        remedy = "install cloister with its extra `cluster`; a bundle carries it if it was made with --extra cluster"
        raise ConfigError(Problem(where, "Dask is not installed here", "the package distributed", remedy))


def begin_thread(thread: threading.Thread) -> None:
    """Start a thread that may speak to a cluster, in a process that is held away from networks otherwise."""
    let_threads(pipeline.plan.CLUSTER_THREADS)
    begin(thread)
