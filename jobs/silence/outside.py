"""The site's own commands (`notify`), and commands that the console starts, are started by a thread from before the
filter: a filter holds for all that a thread starts, and these may have business with a network, or hold themselves.
"""

import queue
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

_Start = tuple["Future[Any]", Sequence[str], dict[str, Any]]


@dataclass
class _Outside:
    """The thread, if there is one, and what it is to start."""

    thread: threading.Thread | None = None
    asked: "queue.SimpleQueue[_Start]" = field(default_factory=queue.SimpleQueue)

    def serve(self) -> None:
        """Start what is asked for, as long as the process lives."""
        while True:
            answer, command, settings = self.asked.get()
            try:
                answer.set_result(subprocess.Popen(command, **settings))
            except BaseException as error:  # whatever it is: who asked waits for it, and others will ask
                answer.set_exception(error)


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
    if _outside.thread is None:
        return subprocess.Popen(command, **settings)
    answer: Future[Any] = Future()
    _outside.asked.put((answer, command, settings))
    process: subprocess.Popen[bytes] = answer.result()
    return process
