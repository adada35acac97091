"""The site's own commands (`notify`), commands that the console starts, and the threads that speak to a cluster are
started by a thread from before the filter: a filter holds for all that a thread starts, and these may have business
with a network, or hold themselves.
"""

import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

_Start = tuple["Future[Any]", Callable[[], Any]]


@dataclass
class _Outside:
    """The thread, if there is one, and what it is to do."""

    thread: threading.Thread | None = None
    asked: "queue.SimpleQueue[_Start]" = field(default_factory=queue.SimpleQueue)

    def serve(self) -> None:
        """Do what is asked for, as long as the process lives."""
        while True:
            answer, start = self.asked.get()
            try:
                answer.set_result(start())
            except BaseException as error:  # whatever it is: who asked waits for it, and others will ask
                answer.set_exception(error)

    def done(self, start: Callable[[], Any]) -> Any:
        """What comes of it on the thread; here, where there is none."""
        if self.thread is None:
            return start()
        answer: Future[Any] = Future()
        self.asked.put((answer, start))
        return answer.result()


_outside = _Outside()


def stay_outside() -> None:
    """Begin the thread. The caller puts the filter in force after this."""
    _outside.thread = threading.Thread(target=_outside.serve, name="outside", daemon=True)
    _outside.thread.start()


def has_outside() -> bool:
    """Whether there is such a thread."""
    return _outside.thread is not None


def start(command: Sequence[str], **settings: Any) -> "subprocess.Popen[bytes]":
    """Start a command as subprocess.Popen does, and held by no filter of this process. OSError, ValueError."""
    process: subprocess.Popen[bytes] = _outside.done(lambda: subprocess.Popen(command, **settings))
    return process


def begin(thread: threading.Thread) -> None:
    """Start a thread that no filter of this process holds."""
    _outside.done(thread.start)
