"""One writer only: an exclusive flock on the log's empty lock file, which ends with the process that holds it.

Nothing is written into the file, so no byte of it can be wrong and no note of a dead holder can mislead; who holds it
is asked of the kernel (/proc/locks). A forked child shares the lock until it execs or ends.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

from audit.durable import StrPath
from audit.errors import LogHeld, LogUntrusted
from audit.store import LOCK, failure


def take_lock(folder: Path) -> int:
    """The descriptor that holds the lock: closing it lets go. LogHeld if another has it, else LogUntrusted (no lock
    file) or LogUnwritable (no permission, read-only)."""
    path = folder / LOCK
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and folder.is_dir():
            raise LogUntrusted(str(path), "missing", f"touch {quote(str(path))}, which is an empty file") from error
        raise failure(error, str(path)) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        status = os.fstat(fd)
        os.close(fd)
        pid = _holder(Path("/proc/locks").read_text(encoding="ascii"), status)
        raise LogHeld(str(path), os.uname().nodename, pid, _started(pid)) from None
    except OSError as error:
        os.close(fd)
        raise failure(error, str(path)) from error
    return fd


@contextlib.contextmanager
def hold(folder: StrPath) -> Iterator[None]:
    """No writer is at work meanwhile, and none starts. LogHeld, LogUntrusted, LogUnwritable."""
    fd = take_lock(Path(folder))
    try:
        yield
    finally:
        os.close(fd)


def _holder(locks: str, status: os.stat_result) -> int | None:
    """The pid in the line `1: FLOCK  ADVISORY  WRITE PID MAJOR:MINOR:INODE 0 EOF` (proc_locks(5)); 0 is another pid
    namespace."""
    target = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    rows = [line.split() for line in locks.splitlines()]
    pids = [int(row[4]) for row in rows if row[1] == "FLOCK" and row[5] == target]
    return next((pid for pid in pids if pid > 0), None)


def _started(pid: int | None) -> str | None:
    """When a process was started, UTC: field 22 of /proc/PID/stat (proc_pid_stat(5)) counts ticks since the machine's
    start."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    since_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return datetime.fromtimestamp(boot + since_boot, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
