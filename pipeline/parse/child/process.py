"""The parent's side of the processes: one server, and the children that it forks and reaps."""

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.parse.child.channel import Channel, ChannelClosedError, ChannelTimeoutError
from pipeline.parse.child.reply import parse_far
from pipeline.parse.limits import MIB, Limits
from pipeline.parse.options import Far, nowhere

_START_SECONDS = 30.0
_FULL = 0.75  # of the limit on memory, which counts more than what is in use
# Nothing of the user's environment reaches a parser. The seed fixes the order of sets inside libraries.
# What a parser frees, it will need for the next page: to give it back to the kernel each time costs a twentieth.
_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "MALLOC_TRIM_THRESHOLD_": str(64 * MIB),
    "MALLOC_TOP_PAD_": str(4 * MIB),
    "MALLOC_MMAP_THRESHOLD_": str(32 * MIB),
}


class ServerProcess:
    """The running parser server; thread-safe. A server that was killed from outside is started anew when needed.

    `required`: no program is started that cannot be held as sandbox.OF_PROGRAM asks.
    """

    def __init__(self, required: bool) -> None:
        self.required = required
        self._lock = threading.Lock()
        self._closed = False
        self._starts = 0
        self._living = set[Forked]()
        # In memory, because nothing is written outside of the workspace, which is not known here.
        self._stderr = open(os.memfd_create("stderr"), "w+b")  # noqa: SIM115, PTH123
        self._start()

    def alive(self) -> bool:
        """Whether it serves."""
        return not self._closed and self._process.poll() is None

    @property
    def is_unused(self) -> bool:
        """Whether it serves and has no children."""
        with self._lock:
            return self.alive() and not any(each.server == self._starts for each in self._living)

    def forget(self) -> None:
        """Forget what its children said on their stderr, which may be of a document."""
        self._stderr.seek(0)  # theirs, too: they write where this descriptor stands
        self._stderr.truncate()

    def fork(self, limits: Limits) -> "ChildProcess":
        """A new child under `limits`; raises RuntimeError where none can be had."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the document parsers have been closed")
            try:
                return self._fork(limits)
            except ChannelClosedError:
                self._stop()
                self._start()
            try:
                return self._fork(limits)
            except (ChannelClosedError, ChannelTimeoutError) as error:
                raise RuntimeError(f"the document parsers do not start: {self._tail() or error}") from error

    def execute(self, command: Sequence[str], limits: Limits, source: int, target: int) -> "Forked":
        """Start another program under `limits`, reading from and writing to these descriptors."""
        with self._lock:
            message = {"exec": list(command), "limits": vars(limits), "required": self.required}
            self._control.send(message, [source, target])
            answer, _ = self._control.receive(deadline=time.monotonic() + _START_SECONDS)
            return self._born(answer["pid"])

    def end(self, child: "Forked", patience: float = 0.0) -> tuple[int, int] | None:
        """Reap a child, killing it after `patience` seconds: its status (-signal or exit code), its peak of memory.

        None if the server has gone, and the child with it: its number may be another's by now.
        """
        with self._lock:
            self._living.discard(child)
            if child.server != self._starts:
                return None
            try:
                self._control.send({"end": child.pid, "patience": patience})
                answer, _ = self._control.receive(deadline=time.monotonic() + _START_SECONDS)
            except (ChannelClosedError, ChannelTimeoutError):
                return None
            return answer["status"], answer["peak_bytes"]

    def close(self) -> None:
        """End the server and, through it, every child; nothing is started after that."""
        with self._lock:
            self._closed = True
            self._stop()
            self._stderr.close()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            boot = Path(__file__).with_name("boot.py")
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", str(boot), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                env=_ENVIRONMENT,
                start_new_session=True,  # Ctrl-C on the terminal is for the parent, which then ends the children
            )
        self._control = Channel(ours)
        self._starts += 1

    def _stop(self) -> None:
        self._control.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _fork(self, limits: Limits) -> "ChildProcess":
        ours, theirs = socket.socketpair()
        channel = Channel(ours)
        deadline = time.monotonic() + _START_SECONDS
        try:
            with theirs:
                self._control.send({"fork": vars(limits)}, [theirs.fileno()])
            answer, _ = self._control.receive(deadline=deadline)
            hello, _ = channel.receive(deadline=deadline)
        except BaseException:
            channel.close()
            raise
        return ChildProcess(self, channel, self._born(answer["pid"]), hello)

    def _born(self, pid: int) -> "Forked":
        child = Forked(pid, self._starts)
        self._living.add(child)
        return child

    def _tail(self) -> str:
        self._stderr.seek(max(0, self._stderr.seek(0, 2) - 2000))
        return self._stderr.read().decode("utf-8", "replace").strip()


class Forked(NamedTuple):
    """A process below a server, with the number of that server among those that were started."""

    pid: int
    server: int


class ChildProcess:
    """One child; used by one thread at a time. `hello` is what it said of itself before its first document."""

    def __init__(self, server: ServerProcess, channel: Channel, forked: Forked, hello: dict[str, Any]) -> None:
        self.pid = forked.pid
        self._forked = forked
        self.hello = hello
        self.documents = 0
        self._server = server
        self._channel = channel
        self._death: str | None = None
        self._peak = 0
        self.is_orphan = False  # it died with its server, of which no document is the cause

    def ask(self, fds: Sequence[int], request: dict[str, Any], limits: Limits, far: Far = nowhere) -> dict[str, Any]:
        """The child's answer to a request for one document; raises ChannelClosedError, ChannelTimeoutError,
        BadMessageError.

        `fds`: the document, and the file for what is unpacked from it, if anything may be. `far` hears how far it is.
        """
        self.documents += 1
        self._channel.send(request, fds)
        deadline = time.monotonic() + limits.seconds
        answer, _ = self._channel.receive(limits.reply_bytes, deadline)
        while pages := parse_far(answer):
            far(*pages)
            answer, _ = self._channel.receive(limits.reply_bytes, deadline)
        if answer.pop("text_follows", False):
            answer["text"] = self._channel.receive_text(4 * limits.output_characters, deadline)
        return answer

    def alive(self) -> bool:
        """Whether the child still waits for a document."""
        return self._channel.is_quiet()

    def end(self) -> str:
        """Kill the child if it lives; returns how it died, in words."""
        if self._death is None:
            self._channel.close()
            ended = self._server.end(self._forked)
            self.is_orphan = ended is None
            status, self._peak = ended or (-signal.SIGKILL, 0)
            self._death = f"{_in_words(status)}, with {self._peak // MIB} MiB in use"
        return self._death

    def was_full(self, limits: Limits) -> bool:
        """Whether the child died with so much memory in use that this was probably why: libraries abort then."""
        self.end()
        return self._peak >= _FULL * limits.memory_bytes


def _in_words(status: int) -> str:
    if status >= 0:
        return f"exit code {status}"
    if -status == signal.SIGSYS:
        return "SIGSYS, for a system call in the way of another architecture"
    with contextlib.suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


_LOCK = threading.Lock()
_kept: dict[int, ServerProcess] = {}
"""A server that nobody uses any more is kept for the next pool of this process, for to start one takes most of a run of
a few documents. It has read no document itself, and has no children left. By the process that keeps it: one that was
forked has none of its own."""


def take_server(required: bool) -> ServerProcess:
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
def end_kept() -> None:
    """End the server that is kept, if there is one."""
    with contextlib.suppress(KeyError):
        _kept.pop(os.getpid()).close()
