"""The filter of system calls (linux/filter.h, linux/seccomp.h): a list of calls as classic BPF, and put in force.

A filter either allows what is in a list and nothing else, or refuses what is in a list and nothing else. What is
refused fails with EPERM and does not end the process: libraries ask for fonts, settings and CPUs that they can do
without, each version of libc for others. A call in the way of another architecture, which the list does not speak of,
ends it.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator, Mapping

from pipeline.kernel.call import SELF, Call, Check

REFUSE, NOTIFY = 0x00050000 | errno.EPERM, 0x7FC00000  # SECCOMP_RET_ERRNO, SECCOMP_RET_USER_NOTIF
LOG, ANY_SPEED, LISTENER = 1 << 1, 1 << 2, 1 << 3  # SECCOMP_FILTER_FLAG_LOG, _SPEC_ALLOW, _NEW_LISTENER
"""Flags of `install`: what is refused is in the kernel's log; old kernels do not slow the process down; somebody
listens for what is to be notified."""

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2  # linux/prctl.h, linux/seccomp.h
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP = {"x86_64": 317, "aarch64": 277}  # the number of seccomp(2)
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06  # LD|W|ABS, ALU|AND|K, JEQ|K, JGE|K, RET|K
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data; arguments have 8 bytes, the lower half first
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_*
_X32 = 0x40000000  # the bit of the x32 calls of x86-64
_ALLOW, _KILL = 0x7FFF0000, 0x80000000

Code = list[tuple[int, int, int, int]]

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):  # struct sock_fprog
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def machine() -> str | None:
    """The architecture of this process, if the lists know it."""
    name = platform.machine()
    return name if name in _ARCHITECTURES and sys.maxsize > 2**32 and sys.byteorder == "little" else None


def filter_calls(allowed: Mapping[str, Call]) -> bool:
    """Let this process, and what it becomes, make these calls only; False if that is not in force.

    The caller has given up new privileges (PR_SET_NO_NEW_PRIVS).
    """
    architecture = machine()
    if architecture is None:
        return False
    filters = ctypes.create_string_buffer(program(allowed, architecture, os.getpid()))
    prog = _Program((len(filters) - 1) // 8, ctypes.addressof(filters))
    mode, address = ctypes.c_ulong(_SECCOMP_MODE_FILTER), ctypes.c_ulong(ctypes.addressof(prog))
    return bool(_libc.prctl(_PR_SET_SECCOMP, mode, address, ctypes.c_ulong(0), ctypes.c_ulong(0)) == 0)


def install(refused: Mapping[str, Call], action: int, flags: int) -> int:
    """Have `action` (REFUSE or NOTIFY) meet these calls of this thread, and of all that it starts, for good; it gives
    up new privileges with that.

    Returns a descriptor to listen on with LISTENER, else 0. OSError where it cannot be put in force: EBUSY, with
    LISTENER, where somebody listens to this thread already.
    """
    architecture = machine()
    if architecture is None:
        raise OSError(errno.ENOSYS, "there is no list of system calls for this processor")
    filters = ctypes.create_string_buffer(program_against(refused, architecture, action))
    prog = _Program((len(filters) - 1) // 8, ctypes.addressof(filters))
    one, zero = ctypes.c_ulong(1), ctypes.c_ulong(0)
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, one, zero, zero, zero) != 0:
        raise OSError(ctypes.get_errno(), "no new privileges")
    number, mode = ctypes.c_long(_SECCOMP[architecture]), ctypes.c_uint(_SECCOMP_SET_MODE_FILTER)
    found = int(_libc.syscall(number, mode, ctypes.c_uint(flags), ctypes.byref(prog)))
    if found < 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls")
    return found


def program(allowed: Mapping[str, Call], architecture: str, pid: int) -> bytes:
    """The instructions (struct sock_filter: u16 code, u8 jump if true, u8 jump if false, u32 k) that allow these calls
    alone: one without ways always. `pid` stands for SELF in their tests.
    """
    code = _prelude(architecture, _KILL)
    for call in allowed.values():
        code += _met(call, architecture, pid, REFUSE if call.ways else _ALLOW)
    return _packed([*code, (_RETURN, 0, 0, REFUSE)])


def program_against(refused: Mapping[str, Call], architecture: str, action: int) -> bytes:
    """The instructions that have `action` meet these calls, unless they pass in one of their ways, and allow all
    others."""
    code = _prelude(architecture, REFUSE)
    for call in refused.values():
        code += _met(call, architecture, 0, action)
    return _packed([*code, (_RETURN, 0, 0, _ALLOW)])


def _prelude(architecture: str, x32: int) -> Code:
    """The instructions before the first call: another architecture ends the process, `x32` meets calls of x32."""
    return [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, _ARCHITECTURES[architecture]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, x32),
    ]


def _packed(code: Code) -> bytes:
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)


def _met(call: Call, architecture: str, pid: int, otherwise: int) -> Code:
    """The instructions for a call: a match of its number, and behind it a test of each way, then `otherwise`."""
    number = call.x86_64 if architecture == "x86_64" else call.aarch64
    if number is None:
        return []
    code: Code = []
    for way in call.ways:
        code += _way(way, pid)
    code.append((_RETURN, 0, 0, otherwise))
    return [(_EQUAL, 0, len(code), number), *code]


def _way(way: tuple[Check, ...], pid: int) -> Code:
    """The instructions that allow a call if all tests of a way are passed, and else go on behind."""
    steps = [step for test in way for step in _halves(test, pid)]
    code: Code = []
    for place, (offset, mask, value) in enumerate(steps):
        left = 3 * (len(steps) - place - 1) + 1  # instructions behind this step, in this way
        code += [(_LOAD, 0, 0, offset), (_AND, 0, 0, mask), (_EQUAL, 0, left, value)]
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def _halves(test: Check, pid: int) -> Iterator[tuple[int, int, int]]:
    """(offset, mask, value) of each half of the argument that counts."""
    value = pid if test.value == SELF else test.value
    for half in range(2):
        mask = test.mask >> 32 * half & 0xFFFFFFFF
        if mask:
            yield _ARGUMENTS + 8 * test.argument + 4 * half, mask, value >> 32 * half & 0xFFFFFFFF
