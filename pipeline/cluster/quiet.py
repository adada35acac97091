"""Dask as this product uses it: a list of who works, and messages over mutual TLS. Nothing else of it is on.

Tasks of Dask, by which a client has any code run on a worker, are refused on both sides; no page is served, and no
package of code is taken. A message is one MessagePack value of maps, lists, texts, numbers and bytes (Dask's own
messages of this use are no more): nothing in it is unpickled, decompressed or made an object of a class, and it takes
no more memory than a few times its length.
"""

import logging
import sys
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Final

import dask
import distributed.comm.tcp as tcp
import distributed.protocol as protocol
import distributed.protocol.compression as compressing
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
LIST: Final = 16 << 20
"""Bytes of a list of all workers, and of any message to a scheduler, at most."""
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
"""The bytes that may still be read for a call that is under way, as the only number in a list; without one, those of
the longest message that this process takes."""
_read_bytes: Final = tcp.read_bytes_rw
_unpack_frames: Final = tcp.unpack_frames  # type: ignore[attr-defined]
_ANY: Final = 1 << 62
_LEAST, _TIMES = 1 << 20, 16
"""The values of a message take at most so many bytes of memory, and so many times the length of the message. Names,
numbers and short texts take up to ten times theirs."""
_CLASSES: Final = frozenset({"__Serialized__", "__Pickled__", "__Enum__", "__Set__"})
"""Maps that Dask makes something else of."""


class _Refuses:
    """Stands where messages are unpickled."""

    @staticmethod
    def loads(*_: object, **__: object) -> Any:
        """Refuse: what unpickles a message runs whatever its sender says."""
        raise TypeError("a message that is pickled, which is refused")


class _Reading:
    """Reads messages of at most `longest` bytes, or of as many as a call has room for."""

    def __init__(self, longest: int) -> None:
        self._longest = longest

    async def bytes_of(self, stream: Any, size: int) -> memoryview:
        """The bytes of a message, of which the sender says how many there are: memory is taken for no more."""
        room = ROOM.get()
        left = self._longest if room is None else room[0]
        if size > left:
            raise ValueError("it answered with more than such an answer has")
        if room is not None:
            room[0] -= size
        return await _read_bytes(stream, size)

    @staticmethod
    def frames(data: memoryview, **how: Any) -> Any:
        """The only part of a message. ValueError for one in several, of which each could be the longest."""
        found, lacking = _unpack_frames(data, **how)
        if len(found) + len(lacking) != 1:
            raise ValueError("a message in parts")
        return found, lacking

    @staticmethod
    def values(frames: list[memoryview], *_: object, **__: object) -> Any:
        """The value of a message. ValueError for one that takes too much memory, TypeError for one that is to become
        an object."""
        (frame,) = frames
        room = _Room(_LEAST + _TIMES * len(frame))
        return messages.msgpack.loads(  # type: ignore[attr-defined]
            frame, object_hook=room.take_map, list_hook=room.take, use_list=False, raw=False, strict_map_key=True
        )


class _Room:
    """The memory that the values of a message may still take, in bytes."""

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Take in a list that was unpacked; lists and maps in it were before."""
        self._take(values, values)
        return values

    def take_map(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """Take in a map that was unpacked."""
        if not _CLASSES.isdisjoint(values):
            raise TypeError("a message that is to become an object, which is refused")
        self._take(values, values)
        self._take((), values.values())
        return values

    def _take(self, whole: Any, parts: Iterable[Any]) -> None:
        scalars = (part for part in parts if not isinstance(part, tuple | dict))
        self._left -= sys.getsizeof(whole) + sum(map(sys.getsizeof, scalars))
        if self._left < 0:
            raise ValueError("it answered with what takes more memory than such an answer")


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


def without_pickles(longest: int = _ANY) -> None:
    """Have this process take messages of plain values alone, for as long as it lives, and of at most `longest` bytes
    where no call says how many; and refuse what is to be unpickled or decompressed, wherever Dask would do it: in a
    message, in the parts of one, in an error that is told, in what is to be installed."""
    reading = _Reading(longest)
    protocol.loads = reading.values  # type: ignore[attr-defined]
    tcp.read_bytes_rw, tcp.unpack_frames = reading.bytes_of, reading.frames  # type: ignore[assignment, attr-defined]
    none = compressing.compressions[None]
    compressing.compressions.clear()
    compressing.compressions.update(dict.fromkeys((None, False, "auto"), none))
    messages.pickle = scheduling.pickle = _Refuses  # type: ignore[attr-defined, assignment]
    pickles.loads = scheduling.loads = _Refuses.loads  # type: ignore[attr-defined]
