"""Messages between parent, server and child: JSON with its length before it, over a socket pair; never a pickle.

    frame = length (4 bytes, big-endian) + UTF-8 JSON of an object
    text  = length (4 bytes, big-endian) + UTF-8, behind a frame that says so: long, and nothing to be quoted

File descriptors may travel with the first byte of a frame (SCM_RIGHTS).
"""

import json
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

_LENGTH = struct.Struct(">I")
_CHUNK = 1 << 20
_DESCRIPTORS = 2  # at most, with one frame
SMALL = 1 << 16  # bytes of the longest request; only an answer with a text in it may be longer


class ChannelClosedError(Exception):
    """The other side is gone."""


class ChannelTimeoutError(Exception):
    """The other side said nothing, or not all of it, before the deadline."""


class BadMessageError(Exception):
    """The other side said something that is not a message."""


class Channel:
    """One end of a socket pair; owns the socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def send(self, message: dict[str, Any], fds: Sequence[int] = (), text: str | None = None) -> None:
        """Send a message, and descriptors with it, and a text behind it; raises ChannelClosedError."""
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        frame = memoryview(_LENGTH.pack(len(body)) + body + (b"" if text is None else _framed(text)))
        try:
            if fds:
                frame = frame[socket.send_fds(self._sock, [frame], fds) :]
            self._sock.sendall(frame)
        except OSError as error:
            raise ChannelClosedError(str(error)) from error

    def receive(self, limit: int = SMALL, deadline: float | None = None) -> tuple[dict[str, Any], list[int]]:
        """The next message, of at most `limit` bytes, and the descriptors that came with it, which are the caller's.

        `deadline` is of time.monotonic(). Raises ChannelClosedError, ChannelTimeoutError, BadMessageError.
        """
        first, fds = self._receive(_LENGTH.size, deadline)
        try:
            (size,) = _LENGTH.unpack(first + self._exactly(_LENGTH.size - len(first), deadline))
            if size > limit:
                raise BadMessageError(f"a message of {size} bytes, more than {limit}")
            return _object(self._exactly(size, deadline)), fds
        except BaseException:
            for fd in fds:
                os.close(fd)
            raise

    def receive_text(self, limit: int, deadline: float | None = None) -> str:
        """The text behind a message, of at most `limit` bytes of UTF-8; raises as `receive`."""
        (size,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline))
        if size > limit:
            raise BadMessageError(f"a text of {size} bytes, more than {limit}")
        try:
            return self._exactly(size, deadline).decode()
        except UnicodeDecodeError as error:
            raise BadMessageError(f"a text that is no UTF-8: {error}") from error

    def is_quiet(self) -> bool:
        """Whether the other side is there and has said nothing."""
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """Close the socket; the other side sees the end of it."""
        self._sock.close()

    def _exactly(self, size: int, deadline: float | None) -> bytes:
        received = bytearray()
        while len(received) < size:
            received += self._receive(min(size - len(received), _CHUNK), deadline, descriptors=0)[0]
        return bytes(received)

    def _receive(self, size: int, deadline: float | None, descriptors: int = _DESCRIPTORS) -> tuple[bytes, list[int]]:
        self._wait_until(deadline)
        try:
            if descriptors:
                data, fds, _, _ = socket.recv_fds(self._sock, size, descriptors)
            else:
                data, fds = self._sock.recv(size), []
        except TimeoutError as error:
            raise ChannelTimeoutError from error
        except OSError as error:
            raise ChannelClosedError(str(error)) from error
        if not data:
            raise ChannelClosedError("end of stream")
        return data, fds

    def _wait_until(self, deadline: float | None) -> None:
        if deadline is None:
            self._sock.settimeout(None)
            return
        left = deadline - time.monotonic()
        if left <= 0:
            raise ChannelTimeoutError
        self._sock.settimeout(left)


def _framed(text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    return _LENGTH.pack(len(data)) + data


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadMessageError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadMessageError("not a JSON object")
    return value
