"""Run a program where neither it nor what it starts can protect itself in some way, as in some containers and kernels.

    python -m tests.faults.hindered seccomp|landlock|namespaces[,...] PROGRAM ARGUMENT...

A seccomp filter of our own refuses the calls that put the protection in force, and allows all else. Exit code
UNHINDERED, without starting the program, on another architecture than x86-64 or where there is no seccomp.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Sequence

UNHINDERED = 77
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38  # linux/prctl.h
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _EPERM, _ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
_NO_FILTERS = (
    (_EQUAL, 0, 1, 317),  # seccomp
    (_RETURN, 0, 0, _EPERM),
    (_EQUAL, 0, 4, 157),  # prctl
    (_LOAD, 0, 0, 16),
    (_EQUAL, 0, 1, _PR_SET_SECCOMP),
    (_RETURN, 0, 0, _EPERM),
    (_RETURN, 0, 0, _ALLOW),
)
_NO_LANDLOCK = ((_EQUAL, 0, 1, 444), (_RETURN, 0, 0, _ENOSYS))
_NO_NAMESPACES = ((_EQUAL, 0, 1, 272), (_RETURN, 0, 0, _EPERM))
_REFUSALS = {"seccomp": _NO_FILTERS, "landlock": _NO_LANDLOCK, "namespaces": _NO_NAMESPACES}


def hinder(protections: Sequence[str]) -> bool:
    """Put the filter in force; False if that cannot be."""
    if platform.machine() != "x86_64":
        return False
    steps = [(_LOAD, 0, 0, 0)]
    for name in sorted(protections):
        steps += _REFUSALS[name]
    steps.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *each) for each in steps))

    class Program(ctypes.Structure):
        _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    prog, libc = Program(len(steps), ctypes.addressof(code)), ctypes.CDLL(None)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, *(ctypes.c_ulong(each) for each in (1, 0, 0, 0)))
    rest = (2, ctypes.addressof(prog), 0, 0)
    return bool(libc.prctl(_PR_SET_SECCOMP, *(ctypes.c_ulong(each) for each in rest)) == 0)


if __name__ == "__main__":
    if not hinder(sys.argv[1].split(",")):
        sys.exit(UNHINDERED)
    os.execvp(sys.argv[2], sys.argv[2:])
