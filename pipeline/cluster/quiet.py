"""Dask as this product uses it: a list of who works, and messages over mutual TLS. Nothing else of it is on.

Tasks of Dask, by which a client has any code run on a worker, are refused on both sides; no page is served, no package
of code is taken, and no message is unpickled here (Dask's own messages of this use have none).
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

import dask
import distributed.protocol.core as messages
from distributed import Scheduler, Worker

REFUSED_BY_WORKERS: Final = (
    *("run", "run_coroutine", "upload_file", "update_data", "get_data", "gather"),
    *("actor_execute", "actor_attribute", "plugin-add", "plugin-remove"),
)
"""Operations of a worker of Dask by which others run code on it, or have what it holds."""
REFUSED_BY_SCHEDULERS: Final = (
    *("broadcast", "scatter", "run_function", "gather", "rebalance", "replicate", "proxy", "dump_cluster_state"),
    *("benchmark_hardware", "register_scheduler_plugin", "unregister_scheduler_plugin", "register_worker_plugin"),
    *("unregister_worker_plugin", "register_nanny_plugin", "unregister_nanny_plugin", "register-client"),
)
"""Operations of a scheduler of Dask by which a client has work done."""
GONE_SECONDS: Final = 30
"""After so long without a word a worker is no longer listed."""
_SETTINGS: Final[Mapping[str, Any]] = {
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.worker-ttl": f"{GONE_SECONDS}s",
    "distributed.worker.blocked-handlers": list(REFUSED_BY_WORKERS),
    "distributed.scheduler.blocked-handlers": list(REFUSED_BY_SCHEDULERS),
    "distributed.admin.event-loop": "asyncio",
    "distributed.admin.system-monitor.disk": False,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.comm.require-encryption": True,
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.compression": None,
}


class _Refuses:
    """Stands where messages are unpickled."""

    @staticmethod
    def loads(*_: object, **__: object) -> Any:
        """Refuse: what unpickles a message runs whatever its sender says."""
        raise TypeError("a message that is pickled, which is refused")


def keep_quiet() -> None:
    """Set Dask up in this process; may be called again."""
    dask.config.set(_SETTINGS)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)


def without_tasks(server: Worker | Scheduler) -> None:
    """Have a worker, or a scheduler, refuse to take a task, however it comes."""
    for name in ("compute-task", "update-graph"):
        server.stream_handlers.pop(name, None)


def without_pickles() -> None:
    """Have this process refuse each message that is to be unpickled, for as long as it lives."""
    messages.pickle = _Refuses  # type: ignore[attr-defined, assignment]
