"""Capabilities (linux/capability.h), which a process of root has, and any process in a user namespace of its own."""

import ctypes
import struct

_PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _CLEAR_ALL = 24, 28, 47, 4  # linux/prctl.h
_SECURE = 0b11101111  # linux/securebits.h: root gets none by being root, none are kept or raised; all of it locked
_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3: two words for each set
_MOST = 64

_libc = ctypes.CDLL(None, use_errno=True)


def drop() -> bool:
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


def _prctl(option: int, argument: int) -> None:
    _libc.prctl(option, *(ctypes.c_ulong(value) for value in (argument, 0, 0, 0)))
