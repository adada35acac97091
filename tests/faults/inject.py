"""Faults of a disk, put into a real run: the n-th system call that writes, syncs, renames or makes something fails.

The run and every process that it starts are under a seccomp filter that hands such calls to this process
(SECCOMP_RET_USER_NOTIF, linux/seccomp.h). It counts those that concern files below a folder, and lets them pass but
for the one that is to fail. So what Python does not see is seen too: pyarrow's writes, and those of the parsers.
Numbers are those of x86-64; `available()` says whether this machine takes it.
"""

import ctypes
import errno
import fcntl
import os
import platform
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

WRITES = {1: "write", 18: "pwrite64"}
ON_FD = {
    **WRITES,
    20: "writev",
    74: "fsync",
    75: "fdatasync",
    77: "ftruncate",
    285: "fallocate",
    306: "syncfs",
    326: "copy_file_range",
}
ON_PATH = {82: "rename", 83: "mkdir", 264: "renameat", 316: "renameat2"}
_OPENAT, _COPY_FILE_RANGE = 257, 326
NAMES = {**ON_FD, **ON_PATH, _OPENAT: "create"}
_FILLS = frozenset(
    {"write", "pwrite64", "writev", "copy_file_range", "create", "mkdir", "fallocate"}
)  # what a full disk refuses
_SECCOMP, _PIDFD_GETFD = 317, 438
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, _SEND
_CONTINUE = 1
_PR_SET_NO_NEW_PRIVS = 38
_NOTIFY, _ALLOW = 0x7FC00000, 0x7FFF0000
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
HUNG = -1000  # no exit code
_SECONDS = 90.0  # for one run: more is a hang

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Fault:
    """What happens at the call number `at`, from 0: `kind` is "ENOSPC" (half of a write gets through, and from then on
    the disk is full), "EIO" (once) or "short" (half of a write gets through, which is no error)."""

    kind: str
    at: int


@dataclass
class Run:
    """How a run under injection ended. `calls` are those that were counted, by name and path; `hit` is the one that
    failed; `code` may be HUNG."""

    code: int = 0
    calls: list[tuple[str, str]] = field(default_factory=list)
    hit: tuple[str, str] | None = None
    full: bool = False


def available() -> bool:
    """Whether a filter with a listener can be had here."""
    if platform.machine() != "x86_64":
        return False
    return injected(lambda: 0, Path("/nowhere"), None).code == 0


def injected(action: Callable[[], int], root: Path, fault: Fault | None) -> Run:
    """Run `action` in a child of this process, which must have one thread, and see to its calls below `root`."""
    ours, its = socket.socketpair()
    child = os.fork()
    if child == 0:
        _run_filtered(action, its)
    its.close()
    _, (listener, *_), *_ = socket.recv_fds(ours, 1, 1) if _readable(ours) else (b"", [-1])
    ours.close()
    run = Run()
    if listener >= 0:
        _supervise(listener, child, f"{root}/", fault, run)
        os.close(listener)
    _, status = os.waitpid(child, 0)
    run.code = run.code or os.waitstatus_to_exitcode(status)
    return run


def _readable(end: socket.socket) -> bool:
    return bool(select.select([end], [], [], 10)[0]) and end.recv(1, socket.MSG_PEEK) != b""


def _run_filtered(action: Callable[[], int], its: socket.socket) -> NoReturn:
    code = 99
    try:
        listener = _install()
        socket.send_fds(its, [b"x"], [listener])
        os.close(listener)
        its.close()
        code = action()
    finally:
        os._exit(code)


def _install() -> int:
    """The listener of a filter that this process and its children are under from now on. OSError."""
    numbers = sorted(ON_FD.keys() | ON_PATH.keys())
    last = len(numbers) + 5
    code = [
        (_LOAD, 0, 0, 0),  # the call's number
        *((_EQUAL, last - place - 1, 0, number) for place, number in enumerate(numbers, 1)),
        (_EQUAL, 0, 2, _OPENAT),
        (_LOAD, 0, 0, 32),  # its third argument
        (_ANY_BIT, 1, 0, os.O_CREAT),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _NOTIFY),
    ]
    filters = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *each) for each in code))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(filters)))
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    listener: int = _libc.syscall(_SECCOMP, _SET_MODE_FILTER, _NEW_LISTENER, program)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "no seccomp listener")
    return listener


def _supervise(listener: int, child: int, root: str, fault: Fault | None, run: Run) -> None:
    """Answer every call until the child has ended."""
    ended, deadline = os.pidfd_open(child), time.monotonic() + _SECONDS
    try:
        while True:
            ready, _, _ = select.select([listener, ended], [], [], max(0.0, deadline - time.monotonic()))
            if ended in ready:
                return
            if not ready:
                os.kill(child, 9)
                run.code = HUNG
                return
            request = bytearray(80)
            try:
                fcntl.ioctl(listener, _RECEIVE, request)
            except OSError:  # its process has ended meanwhile
                continue
            answer = _answer(Call.read(request), root, fault, run)
            try:
                fcntl.ioctl(listener, _SEND, struct.pack("<QqiI", *answer))
            except OSError:
                continue
    finally:
        os.close(ended)


@dataclass(frozen=True)
class Call:
    """A system call that waits for its answer."""

    id: int
    thread: int
    number: int
    arguments: tuple[int, ...]

    @staticmethod
    def read(request: bytearray) -> "Call":
        """From struct seccomp_notif."""
        id_, thread, _, number, _, _, *arguments = struct.unpack("<QIIiIQ6Q", request)
        return Call(id_, thread, number, tuple(arguments))

    def path(self) -> str:
        """The file that it concerns, as far as that can be told."""
        try:
            if self.number in ON_FD:
                place = 2 if self.number == _COPY_FILE_RANGE else 0
                return str(Path(f"/proc/{self.thread}/fd/{self.arguments[place]}").readlink())
            path = os.fsdecode(self._memory(self.arguments[0 if self.number in (82, 83) else 1], 4096).split(b"\0")[0])
            if path.startswith("/") or self.number in (82, 83):
                return path
            return str(Path(f"/proc/{self.thread}/fd/{self.arguments[0]}").readlink() / path)
        except OSError:
            return ""

    def write_half(self) -> int:
        """Do half of the write in its place; how many bytes that were, 0 where it is no write that can be halved."""
        if self.number not in WRITES or self.arguments[2] < 2:
            return 0
        half = self._memory(self.arguments[1], self.arguments[2] // 2)
        file = self._descriptor()
        try:
            return os.write(file, half) if WRITES[self.number] == "write" else os.pwrite(file, half, self.arguments[3])
        finally:
            os.close(file)

    def _descriptor(self) -> int:
        """A duplicate, with the same offset, of the descriptor that is written to."""
        lines = Path(f"/proc/{self.thread}/status").read_text().splitlines()
        process = int(next(line for line in lines if line.startswith("Tgid:")).split()[1])
        pidfd = os.pidfd_open(process)
        try:
            file: int = _libc.syscall(_PIDFD_GETFD, pidfd, ctypes.c_uint(self.arguments[0]), 0)
        finally:
            os.close(pidfd)
        if file < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
        return file

    def _memory(self, address: int, size: int) -> bytes:
        memory = os.open(f"/proc/{self.thread}/mem", os.O_RDONLY)
        try:
            return os.pread(memory, size, address)
        finally:
            os.close(memory)


def _answer(call: Call, root: str, fault: Fault | None, run: Run) -> tuple[int, int, int, int]:
    """The members of struct seccomp_notif_resp."""
    go_on, path, name = (call.id, 0, 0, _CONTINUE), call.path(), NAMES[call.number]
    if not f"{path}/".startswith(root):
        return go_on
    run.calls.append((name, path.removeprefix(root)))
    if fault is None:
        return go_on
    if fault.at == len(run.calls) - 1:
        run.hit = run.calls[-1]
        if fault.kind == "short" or (fault.kind == "ENOSPC" and name in WRITES.values()):
            run.full = fault.kind == "ENOSPC"
            written = call.write_half()
            return (call.id, written, 0, 0) if written else go_on if fault.kind == "short" else _failed(call, "ENOSPC")
        run.full = fault.kind == "ENOSPC"
        return _failed(call, fault.kind)
    return _failed(call, "ENOSPC") if run.full and name in _FILLS else go_on


def _failed(call: Call, kind: str) -> tuple[int, int, int, int]:
    return call.id, 0, -getattr(errno, kind), 0
