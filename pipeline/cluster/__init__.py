"""Many machines work on one run: the head decides and commits, workers read documents and answer them.

Nothing here is imported where a run names no cluster: Dask is loaded with it.
"""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.cluster.authority import issue_credential, make_credentials
    from pipeline.cluster.look import look_at_workers
    from pipeline.cluster.peers import HEAD_ROLE, WORKER_ROLE, read_credential
    from pipeline.cluster.serving import run_scheduler, run_worker

__getattr__, __dir__ = surface(__name__, __file__)
