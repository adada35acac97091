"""Become a command in a network namespace of its own, in which there is no interface but loopback, and no route.

    python -m jobs.trust.isolated COMMAND [ARGUMENT]...

It exits with 125, and says why, where the machine does not allow it.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

NOT_ALLOWED: Final = 125
"""The exit code where there can be no namespace."""
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000  # linux/sched.h
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1  # linux/sockios.h, linux/if.h

_libc = ctypes.CDLL(None, use_errno=True)


def leave_networks() -> None:
    """Move this process into such a namespace. OSError where it may not."""
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_NEW_NET) != 0:  # which root may; others may in a namespace of users
        if _libc.unshare(_NEW_USER | _NEW_NET) != 0:
            raise OSError(ctypes.get_errno(), f"no network namespace: {os.strerror(ctypes.get_errno())}")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")  # files keep their owner
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        found = fcntl.ioctl(sock, _GET_FLAGS, struct.pack("=16sH22x", b"lo", 0))
        _, flags = struct.unpack("=16sH22x", found)
        fcntl.ioctl(sock, _SET_FLAGS, struct.pack("=16sH22x", b"lo", flags | _UP))


def main() -> None:
    """Leave, and become the command."""
    try:
        leave_networks()
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)
        sys.exit(NOT_ALLOWED)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
