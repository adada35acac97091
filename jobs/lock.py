"""One `cloister serve` a workspace, and who holds a lock. Runs exclude each other by the audit log's own lock."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
