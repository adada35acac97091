"""The rights that a child gives up before it sees its first byte of a document.

After `lock` it has its socket, the descriptors that come through it, and memory; it can open no file (so the result of
a parse cannot depend on the machine's fonts either), start no process, reach no network and signal nobody else.
Capabilities (linux/capability.h) are what a process of root has, and any process in a user namespace of its own.
"""

import ctypes
import os
import resource
import signal
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.kernel.call import Call
from pipeline.kernel.seccomp import filter_calls
from pipeline.parse.limits import Limits
from pipeline.parse.sandbox import landlock
from pipeline.parse.sandbox.calls import OF_CHILDREN, OF_PROGRAMS

REQUIRED = ("system_call_filter", "no_new_privileges", "no_capabilities", "memory_limit", "dies_with_parent")
"""Without one of these a document that takes its parser over is not held. The filter alone keeps a child from files,
network, processes and signals, so `no_files` (Landlock) and `no_network` (a namespace) are second lines, which old
kernels and containers refuse; a program that must open its own files is held by Landlock alone, and needs it."""
OF_PROGRAM = (*REQUIRED, "no_files")
"""What another program has to be held by."""
NOT_LOCKED = 125
"""The exit code of a process that was to become a program and could not be held."""

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38  # linux/prctl.h
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
_OPEN_FILES = 16
_OPEN_FILES_OF_PROGRAM = 64

_libc = ctypes.CDLL(None, use_errno=True)


def leave_network() -> bool:
    """Move this process into a network namespace of its own, with no interface up; children inherit it."""
    return bool(_libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0)


def lock(limits: Limits, parent: int) -> dict[str, bool]:
    """Put this process under `limits` for good; what is in force by name. Ends the process if `parent` is gone."""
    _silence()
    mapped = int(Path("/proc/self/statm").read_text().split()[0])  # pages: the parsers' code, which is no document's
    memory = mapped * resource.getpagesize() + limits.memory_bytes
    return _hold(parent, memory, limits.unpacked_bytes, _OPEN_FILES, (), OF_CHILDREN)


def lacking(isolation: Mapping[str, bool], wanted: Sequence[str] = REQUIRED) -> tuple[str, ...]:
    """The names of `wanted` restrictions that are not in force."""
    return tuple(name for name in wanted if not isolation.get(name))


def lock_program(limits: Limits, parent: int, fds: Sequence[int], readable: Sequence[str]) -> dict[str, bool]:
    """Put this process, which is to become another program, under `limits`; what is in force by name.

    `fds` become its stdin and stdout. It may read below `readable` and nowhere else, where Landlock is there.
    """
    _silence()
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, _OPEN_FILES)
    _limited(resource.RLIMIT_CPU, int(limits.seconds) + 2)
    return _hold(parent, limits.memory_bytes, 0, _OPEN_FILES_OF_PROGRAM, readable, OF_PROGRAMS)


def _hold(
    parent: int, memory: int, file_size: int, open_files: int, readable: Sequence[str], calls: Mapping[str, Call]
) -> dict[str, bool]:
    """Give up all rights but those named, and end with `parent`, at once if it is gone; what is in force by name."""
    dies = _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it went before the line above
        os._exit(0)
    return {
        "dies_with_parent": dies,
        "memory_limit": _limited(resource.RLIMIT_AS, memory),
        "file_size_limit": _limited(resource.RLIMIT_FSIZE, file_size),
        "few_open_files": _limited(resource.RLIMIT_NOFILE, open_files),
        "no_core_dumps": _limited(resource.RLIMIT_CORE, 0),
        "no_new_processes": _limited(resource.RLIMIT_NPROC, 0),
        "no_new_privileges": _prctl(_PR_SET_NO_NEW_PRIVS, 1),
        "no_files": landlock.restrict(readable),
        "no_capabilities": drop_capabilities(),
        "system_call_filter": filter_calls(calls),
    }


def allow_seconds(seconds: float) -> None:
    """Let this process use `seconds` of CPU time from now; the parent's clock is the limit, this the second line."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = usage.ru_utime + usage.ru_stime
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 2, hard))


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _limited(which: int, value: int) -> bool:
    try:
        resource.setrlimit(which, (value, value))
    except (OSError, ValueError):
        return False
    return True


def _prctl(option: int, *arguments: int) -> bool:
    padded = [*arguments, 0, 0, 0, 0][:4]
    return bool(_libc.prctl(option, *(ctypes.c_ulong(value) for value in padded)) == 0)


_PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _CLEAR_ALL = 24, 28, 47, 4  # linux/prctl.h
_SECURE = 0b11101111  # linux/securebits.h: root gets none by being root, none are kept or raised; all of it locked
_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3: two words for each set
_MOST = 64


def drop_capabilities() -> bool:
    """Give up all capabilities for good; returns whether none are left in any set that counts.

    What needs a capability itself is tried, not demanded: without one there is nothing to be given up, and without new
    privileges (PR_SET_NO_NEW_PRIVS) the set of those that a program could get is of no effect.
    """
    for number in range(_MOST):
        _prctl(_PR_CAPBSET_DROP, number)
    _prctl(_PR_SET_SECUREBITS, _SECURE)
    _prctl(_PR_CAP_AMBIENT, _CLEAR_ALL)
    header = ctypes.create_string_buffer(struct.pack("<Ii", _VERSION, 0), 8)
    none = ctypes.create_string_buffer(24)  # effective, permitted, inheritable; twice
    left = ctypes.create_string_buffer(24)
    _libc.capset(header, none)
    return bool(_libc.capget(header, left) == 0) and not any(left.raw)
