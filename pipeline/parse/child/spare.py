"""A parser server that nobody uses any more is kept for the next pool of this process.

To start one costs a third of a second, which is most of what a run of a few documents takes. It has read no document
itself, and has no children left, so nothing of one run is there for the next.
"""

import atexit
import contextlib
import os
import threading

from pipeline.parse.child.process import ServerProcess

_LOCK = threading.Lock()
_kept: dict[int, ServerProcess] = {}  # by the process that keeps it: one that was forked has none of its own


def take(required: bool) -> ServerProcess:
    """The server that is kept, or a new one; `required` as ServerProcess has it."""
    with _LOCK:
        server = _kept.pop(os.getpid(), None)
    if server is not None and server.alive():
        server.required = required
        return server
    return ServerProcess(required)


def give_back(server: ServerProcess) -> None:
    """Keep a server, or end it with its children where it has some yet, or where one is kept already."""
    with _LOCK:
        if server.is_unused and os.getpid() not in _kept:
            server.forget()
            _kept[os.getpid()] = server
            return
    server.close()


@atexit.register
def end() -> None:
    """End the server that is kept, if there is one."""
    with contextlib.suppress(KeyError):
        _kept.pop(os.getpid()).close()
