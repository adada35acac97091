"""Signals that ask something of a command: the first SIGTERM or SIGINT asks to stop, a second one interrupts, a third
one kills. Of a service, SIGHUP asks to read its files again. And one `cloister serve` a workspace, by a lock."""

import contextlib
import fcntl
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from jobs.silence.guard import attempts

COMMITTING = "Stopping: what is computed is being committed. Once more to stop at once."
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """A flag that signals set, and a wait that they end. Use it as a context manager, in the main thread.

    A terminal gets `notice` at the first signal. `reloads`: SIGHUP asks to read files again; but not on a terminal,
    whose end it tells, which ends a command as ever.
    """

    def __init__(self, notice: str = COMMITTING, *, reloads: bool = False) -> None:
        self.notice = notice
        self.signal: signal.Signals | None = None
        self.reload_asked = False
        self._reader, self._writer = os.pipe()  # an Event may deadlock when its own thread's signal handler sets it
        os.set_blocking(self._reader, False)
        handlers = dict.fromkeys(_SIGNALS, self._take)
        self._handlers = handlers | ({signal.SIGHUP: self._take_reload} if reloads and not os.isatty(2) else {})
        self._before = {number: signal.getsignal(number) for number in self._handlers}

    def __enter__(self) -> "Stop":
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)

    def __call__(self) -> bool:
        """Whether stopping was asked for; or code of this process reached for a network, which ends the command."""
        return self.signal is not None or bool(attempts())

    def wait(self, seconds: float, *others: int) -> bool:
        """Waits for that long, or until stopping or reading again is asked for or one of `others` can be read; says
        whether to stop."""
        if not self():
            select.select([self._reader, *others], [], [], seconds)
        return self()

    def take_reload(self) -> bool:
        """Whether reading again was asked for since the last call."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 4096)
        asked, self.reload_asked = self.reload_asked, False
        return asked

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            for each in _SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            raise KeyboardInterrupt
        self.signal = signal.Signals(number)
        os.write(self._writer, b"!")
        if os.isatty(2):
            os.write(2, f"\n{self.notice}\n".encode())

    def _take_reload(self, number: int, frame: FrameType | None) -> None:
        if not self.reload_asked:  # whoever asks a thousand times fills no pipe
            self.reload_asked = True
            os.write(self._writer, b"!")


class ServiceHeldError(Exception):
    """Another `cloister serve` works on the workspace."""

    def __init__(self, pid: int | None) -> None:
        process = f" (process {pid})" if pid else ""
        super().__init__(f"another cloister serve{process} works on this workspace")


@contextmanager
def service_lock(log: Path) -> Iterator[None]:
    """Holds the folder of the log itself, in which nothing is written for it: whatever else of a workspace is removed
    while a service runs, the log is there. The kernel lets go of it with the process. ServiceHeldError."""
    handle = os.open(log, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceHeldError(holder(log)) from None
        yield
    finally:
        os.close(handle)


def holder(path: Path) -> int | None:
    """The process that holds a flock on `path`, by the kernel's own list (proc_locks(5)); None if there is none.

    Asked there rather than by trying the lock, which would for a moment hold it against the one who wants it.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    rows = (line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines())
    return next((int(row[4]) for row in rows if row[1] == "FLOCK" and row[5] == file), None)
