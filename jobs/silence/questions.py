"""What the kernel asks of a tracer (seccomp user notification, linux/seccomp.h), read and answered."""

import errno
import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102  # SECCOMP_IOCTL_NOTIF_RECV, _SEND, _ID_VALID
_QUESTION: Final = struct.Struct("=QIIiIQ6Q")  # struct seccomp_notif
_ANSWER: Final = struct.Struct("=QqiI")  # struct seccomp_notif_resp
_GO_ON: Final = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE (Linux 5.5)


class CannotGoOnError(Exception):
    """This kernel cannot let a call go on that it asked about."""


class UnreadableError(Exception):
    """The memory of who asked cannot be read."""


@dataclass(frozen=True)
class Question:
    """A call that a thread of a process is about to make: its number and arguments. The thread waits for the answer."""

    id: int
    thread: int
    number: int
    arguments: tuple[int, ...]

    def memory(self, address: int, size: int) -> bytes:
        """Read what an argument points to, in the memory of the process. UnreadableError where not all of it is there,
        or this process may not look."""
        try:
            mem = os.open(f"/proc/{self.thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
            try:
                read = os.pread(mem, size, address)
            finally:
                os.close(mem)
        except (OSError, OverflowError) as error:  # the latter for an address that no process has
            raise UnreadableError from error
        if len(read) < size:
            raise UnreadableError
        return read

    def process(self) -> tuple[int, str]:
        """The process of the thread, and the name of its program; what is known of one that has just gone."""
        try:
            status = Path(f"/proc/{self.thread}/status").read_text(errors="replace")
            pid = int(status.split("\nTgid:")[1].split()[0])
            return pid, Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
        except (OSError, IndexError, ValueError):
            return self.thread, "?"


def receive(listener: int) -> Question | None:
    """The next question; None where who asked was killed meanwhile."""
    raw = bytearray(_QUESTION.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, raw, True)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINTR):
            return None
        raise
    found = _QUESTION.unpack(raw)
    return Question(found[0], found[1], found[3], found[6:])


def is_waiting(listener: int, question: Question) -> bool:
    """Whether the thread still waits, so that what was read of its memory was its own."""
    try:
        fcntl.ioctl(listener, _IS_VALID, struct.pack("=Q", question.id))
    except OSError:
        return False
    return True


def answer(listener: int, question: Question, refusal: int) -> None:
    """Let the call go on (0), or fail with this errno. CannotGoOnError."""
    raw = _ANSWER.pack(question.id, 0, -refusal, 0 if refusal else _GO_ON)
    try:
        fcntl.ioctl(listener, _SEND, raw)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise CannotGoOnError from error
        if error.errno not in (errno.ENOENT, errno.EINPROGRESS):  # it was killed, or woken by a signal
            raise
