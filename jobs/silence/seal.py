"""The process of a command is held away from networks before it loads anything: its Python by the guard, its native
code and all that it starts by the kernel. Clients of servers cannot be imported where a command computes. (pyarrow
brings some, and does without; the console and the page for paper import some of Python's library for a table of codes.)

What is the site's own (`notify`, commands that the console starts, threads that speak to a cluster) is started by a
thread from before the filter: a filter holds for all that a thread starts, and these may have business with a network.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pipeline
from jobs.silence.guard import is_watching, watching

TRACED: Final = "CLOISTER_TRACED"
"""The environment variable by which a tracer says that it has the network's calls of a process."""
_CALLS_OUT: Final = frozenset({"run", "retry", "rerun", "serve", "console", "cluster", "worker"})
"""The commands that start what is the site's own: notify, what a person starts in the console, and threads that speak
to a cluster."""
_COMPUTES: Final = frozenset(
    {"run", "retry", "rerun", "serve", "learn", "qualify", "bench", "audit replay", "model verify"}
)
"""The commands that compute, in whose process no client can be imported."""
_ABOUT_PEOPLE: Final = frozenset({"invite", "people", "revoke"})
"""What `console` does without listening."""
_CONNECTS: Final = "bundle create"
"""The one command for a connected machine: the kernel does not hold it, for it has pip fetch wheels."""
OF_LIBRARY: Final = (
    *("ftplib", "http.client", "imaplib", "nntplib", "poplib", "smtplib", "telnetlib", "urllib.request"),
    *("webbrowser", "xmlrpc.client"),
)
"""Clients of Python's own library."""
OF_OTHERS: Final = (
    *("aiohttp", "boto3", "botocore", "grpc", "httpcore", "httpx", "pycurl", "requests", "tornado", "urllib3"),
    *("websockets", "zmq"),
    *("analytics", "ddtrace", "newrelic", "opentelemetry", "posthog", "prometheus_client", "sentry_sdk", "statsd"),
    *("pyarrow._azurefs", "pyarrow._flight", "pyarrow._gcsfs", "pyarrow._hdfs", "pyarrow._s3fs"),
)
"""Clients of others and of pyarrow; and what tells its makers of use."""
OF_CLUSTERS: Final = ("tornado", "http.client", "urllib.request")
"""What Dask imports, for a process that works with a cluster: the guard and the kernel hold these as all others."""
_Start = tuple["Future[Any]", Callable[[], Any]]


@dataclass
class _Sealed:
    """How native code of this process is held: "refused", "traced" or "free"."""

    calls: str = "free"


_sealed = _Sealed()


@contextlib.contextmanager
def silenced(arguments: Sequence[str], *, own_process: bool) -> Iterator[None]:
    """Guard a command as long as it lasts; where the process is its own, have the kernel hold that, for good."""
    command, both = " ".join(arguments[:1]), " ".join(arguments[:2])
    with watching():
        if own_process:
            keep_out(computes=bool({command, both} & _COMPUTES))
            if command in _CALLS_OUT:
                stay_outside()
            # the console is held when it listens; doctor's proof makes calls on purpose, and has its own tracer
            listens = command == "console" and not _ABOUT_PEOPLE & set(arguments[1:2])
            proves = command == "doctor" and "--egress" in arguments
            if both != _CONNECTS and not listens and not proves:
                seal()
        yield


def seal() -> None:
    """Have the kernel refuse this thread, and all that it starts, sockets that lead out of the machine.

    Threads that began before are not held, so where there is one, but for the one outside, nothing counts as held.
    """
    threads = len(list(Path("/proc/self/task").iterdir()))
    calls = pipeline.kernel.refuse_network(traced=TRACED in os.environ)
    _sealed.calls = calls if threads == 1 + has_outside() else "free"


def seal_if_own() -> None:
    """Seal a process that is a command's own, and has waited with it until it listened."""
    if has_outside():
        seal()


def silence() -> pipeline.kernel.Silence:
    """What holds this process now, for the record of a run."""
    return pipeline.kernel.Silence(is_watching(), _sealed.calls)


def let_in_for_cluster() -> None:
    """Let code of this process import what Dask imports."""
    for name in OF_CLUSTERS:
        if sys.modules.get(name, name) is None:
            del sys.modules[name]


def keep_out(*, computes: bool) -> None:
    """Let no code of this process import any of OF_OTHERS, nor of OF_LIBRARY where it computes: it gets an ImportError,
    as where they are not installed."""
    for name in (*OF_OTHERS, *OF_LIBRARY) if computes else OF_OTHERS:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]


@dataclass
class _Outside:
    """The thread, if there is one, and what it is to do."""

    thread: threading.Thread | None = None
    asked: queue.SimpleQueue[_Start] = field(default_factory=queue.SimpleQueue)

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


def start(command: Sequence[str], **settings: Any) -> subprocess.Popen[bytes]:
    """Start a command as subprocess.Popen does, and held by no filter of this process. OSError, ValueError."""
    process: subprocess.Popen[bytes] = _outside.done(lambda: subprocess.Popen(command, **settings))
    return process


def begin(thread: threading.Thread) -> None:
    """Start a thread that no filter of this process holds."""
    _outside.done(thread.start)
