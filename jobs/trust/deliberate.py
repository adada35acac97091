"""Calls on purpose, by which a tracer proves that it would have seen one: from Python, from native code, from a child
process, and to a resolver of names.

    python -m jobs.trust.deliberate

The addresses belong to nobody (TEST-NET-1, RFC 5737), each way has its own, and under the tracer no call goes on.
"""

import contextlib
import ctypes
import socket
import struct
import subprocess
import sys
from typing import Any, Final

CALLS: Final = {
    "Python": ("connect", "192.0.2.1:9"),
    "native code": ("connect", "192.0.2.2:9"),
    "a child process": ("sendto", "192.0.2.3:9"),
    "a name": ("connect", "127.0.0.53:53"),
}
"""Who makes a call -> the call, and its address."""
_CHILD: Final = "child"


def main() -> None:
    """Make the calls, all of which fail."""
    if sys.argv[1:] == [_CHILD]:
        _call("sendto", b"", ("192.0.2.3", 9))
        return
    _call("connect", ("192.0.2.1", 9))
    _call("connect", ("127.0.0.53", 53))
    libc, inet, datagram = ctypes.CDLL(None), 2, 2  # AF_INET, SOCK_DGRAM: libc's connect, of which Python hears nothing
    address = struct.pack("=H", inet) + struct.pack("!H4B8x", 9, 192, 0, 2, 2)  # struct sockaddr_in
    number = ctypes.c_int(libc.socket(inet, datagram, 0))
    libc.connect(number, ctypes.create_string_buffer(address), ctypes.c_uint(16))
    subprocess.run([sys.executable, "-P", "-m", "jobs.trust.deliberate", _CHILD], check=True)


def _call(name: str, *arguments: Any) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, contextlib.suppress(OSError):
        getattr(sock, name)(*arguments)


if __name__ == "__main__":
    main()
