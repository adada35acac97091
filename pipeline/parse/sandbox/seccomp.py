"""The filter of system calls (linux/filter.h, linux/seccomp.h): a list of calls as classic BPF, and put in force.

What is not in the list fails with EPERM and does not end the process: libraries ask for fonts, settings and CPUs that
they can do without, each version of libc for others. A call in the way of another architecture, which the list does
not speak of, ends it.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator, Mapping

from pipeline.parse.sandbox.calls import SELF, Call, Check

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2  # linux/prctl.h, linux/seccomp.h
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06  # LD|W|ABS, ALU|AND|K, JEQ|K, JGE|K, RET|K
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data; arguments have 8 bytes, the lower half first
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_*
_X32 = 0x40000000  # the bit of the x32 calls of x86-64
_ALLOW, _KILL, _DENY = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM

Code = list[tuple[int, int, int, int]]

_libc = ctypes.CDLL(None, use_errno=True)


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

    class Program(ctypes.Structure):  # struct sock_fprog
        _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    prog = Program((len(filters) - 1) // 8, ctypes.addressof(filters))
    mode, address = ctypes.c_ulong(_SECCOMP_MODE_FILTER), ctypes.c_ulong(ctypes.addressof(prog))
    return bool(_libc.prctl(_PR_SET_SECCOMP, mode, address, ctypes.c_ulong(0), ctypes.c_ulong(0)) == 0)


def program(allowed: Mapping[str, Call], architecture: str, pid: int) -> bytes:
    """The instructions (struct sock_filter: u16 code, u8 jump if true, u8 jump if false, u32 k) that allow these calls.

    `pid` stands for SELF in their tests.
    """
    code: Code = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, _ARCHITECTURES[architecture]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _KILL),
    ]
    for call in allowed.values():
        number = call.x86_64 if architecture == "x86_64" else call.aarch64
        if number is not None:
            then = _ways(call, pid)
            code += [(_EQUAL, 0, len(then), number), *then]
    code.append((_RETURN, 0, 0, _DENY))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)


def _ways(call: Call, pid: int) -> Code:
    """The instructions behind the match of a call's number: a test of each way, then refusal if it has any way."""
    code: Code = []
    for way in call.ways:
        code += _way(way, pid)
    return [*code, (_RETURN, 0, 0, _DENY if call.ways else _ALLOW)]


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
