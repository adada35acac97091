"""Dask as this product uses it: a list of who works, and messages over mutual TLS. Nothing else of it is on.

Tasks of Dask, by which a client has any code run on a worker, are refused on both sides; no page is served, no package
of code is taken, and no message is unpickled here (Dask's own messages of this use have none).
"""

import logging
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final

import dask
import distributed.comm.tcp as tcp
import distributed.protocol.core as messages
import distributed.protocol.pickle as pickles
import distributed.scheduler as scheduling
from distributed import Scheduler, Worker

OURS: Final = "cloister-"
"""How the names of a worker's own operations begin."""
_USED: Final = {
    Worker: {"identity", "echo", "connection_stream"},
    Scheduler: {
        "identity", "echo", "connection_stream", "register-worker", "register_nanny", "unregister", "heartbeat_worker",
    },
}  # fmt: skip
"""The operations of Dask that are needed for a list of who works. By others a peer runs code on a worker or a
scheduler, has what it holds, has it write a file, or ends it."""
GONE_SECONDS: Final = 30
"""After so long without a word a worker is no longer listed."""
_SETTINGS: Final[Mapping[str, Any]] = {
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.worker-ttl": f"{GONE_SECONDS}s",
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


ROOM: Final[ContextVar[list[int] | None]] = ContextVar("ROOM", default=None)
"""The bytes that may still be read for a call that is under way, as the only number in a list; without one, any."""
_read_bytes: Final = tcp.read_bytes_rw


class _Refuses:
    """Stands where messages are unpickled."""

    @staticmethod
    def loads(*_: object, **__: object) -> Any:
        """Refuse: what unpickles a message runs whatever its sender says."""
        raise TypeError("a message that is pickled, which is refused")


async def _read_bounded(stream: Any, size: int) -> memoryview:
    """The bytes of a message, of which the sender says how many there are: memory is taken for no more than the call
    has room for."""
    room = ROOM.get()
    if room is not None:
        room[0] -= size
        if room[0] < 0:
            raise ValueError("it answered with more than such an answer has")
    return await _read_bytes(stream, size)


def keep_quiet() -> None:
    """Set Dask up in this process; may be called again."""
    dask.config.set(_SETTINGS)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)


def without_tasks(server: Worker | Scheduler) -> None:
    """Have a worker, or a scheduler, refuse to take a task, however it comes, and all else of Dask that is not used
    here; and a worker take no plugin, which a scheduler sends pickled when the worker is listed: Dask's own one, for
    what is not used here, or anybody's."""
    used = _USED[Worker if isinstance(server, Worker) else Scheduler]
    for name in [name for name in server.handlers if name not in used and not name.startswith(OURS)]:
        del server.handlers[name]
    for name in ("compute-task", "update-graph"):
        server.stream_handlers.pop(name, None)
    if isinstance(server, Worker):
        server.plugin_add = _takes_none  # type: ignore[assignment, method-assign]


async def _takes_none(*_: object, **__: object) -> dict[str, Any]:
    """Take no plugin."""
    return {"status": "OK"}


def without_pickles() -> None:
    """Have this process refuse each message that is to be unpickled, for as long as it lives, wherever Dask would do
    it: in a message, in the parts of one, in an error that is told, in what is to be installed."""
    messages.pickle = scheduling.pickle = _Refuses  # type: ignore[attr-defined, assignment]
    messages.merge_and_deserialize = _Refuses.loads  # type: ignore[attr-defined]
    pickles.loads = scheduling.loads = _Refuses.loads  # type: ignore[attr-defined]
    tcp.read_bytes_rw = _read_bounded  # type: ignore[assignment]
