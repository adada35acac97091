"""Landlock (linux/landlock.h): which files a process may touch, and whom it may reach, given up by itself and for good.

The numbers of its system calls are the same on all machines, so it holds also where the filter of system calls is not.
"""

import ctypes
import os
import struct
from collections.abc import Mapping, Sequence

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION
_PATH_BENEATH = 1  # LANDLOCK_RULE_PATH_BENEATH
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # ABI -> how many rights on files it knows
_LATEST = 16  # since ABI 5
_TCP = 1 << 0 | 1 << 1  # LANDLOCK_ACCESS_NET_BIND_TCP, _CONNECT_TCP
_OTHERS = 1 << 0 | 1 << 1  # LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, _SIGNAL
_KNOWS_TCP, _KNOWS_OTHERS = 4, 6  # ABI
_OF_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # execute, write, read, truncate, ioctl

_libc = ctypes.CDLL(None, use_errno=True)


def restrict(readable: Sequence[str] = ()) -> bool:
    """Let no file be opened from now on but below `readable`, to read and execute; False if that is not in force.

    Nor, where the kernel knows how, can TCP be used, or other processes be signalled or reached by abstract sockets.
    The caller has given up new privileges (PR_SET_NO_NEW_PRIVS).
    """
    there = version()
    rights = (1 << _RIGHTS.get(there, _LATEST)) - 1
    reach = (_TCP if there >= _KNOWS_TCP else 0, _OTHERS if there >= _KNOWS_OTHERS else 0)
    return hold(rights, dict.fromkeys(readable, _EXECUTE | _READ_FILE | _READ_DIR), *reach)


def version() -> int:
    """The version of Landlock's ABI; below 1 where there is no Landlock."""
    return int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)))


def hold(rights: int, allowed: Mapping[str, int], net: int = 0, others: int = 0) -> bool:
    """Leave this thread, and what it starts, these `rights` only where they are `allowed`, below a path.

    It has none of those of `net` and `others` (handled_access_net and scoped of struct landlock_ruleset_attr). False if
    that is not in force. The caller has given up new privileges.
    """
    if version() < 1:
        return False
    size = 24 if others else 16 if net else 8  # as old kernels know it
    attributes = ctypes.create_string_buffer(struct.pack("<QQQ", rights, net, others), 24)
    rules = _libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if rules < 0:
        return False
    try:
        for path, wanted in allowed.items():
            _allow(rules, path, wanted)
        return bool(_libc.syscall(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0)) == 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, wanted: int) -> None:
    """Allow rights below a path, for a file those of them that files have; a path that is not there needs no rule."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):  # noqa: PTH112
            wanted &= _OF_FILES
        rule = ctypes.create_string_buffer(struct.pack("<Qi", wanted, descriptor), 12)
        _libc.syscall(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)
