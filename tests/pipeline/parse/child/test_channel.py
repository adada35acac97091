"""Frames on a socket pair: whole, torn, too long, without end."""

import os
import socket
import struct
import time
from collections.abc import Iterator

import pytest

from pipeline.parse.child.channel import BadMessageError, Channel, ChannelClosedError, ChannelTimeoutError


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    yield channel, theirs
    channel.close()
    theirs.close()


def test_a_message_and_a_descriptor_arrive(ends: tuple[Channel, socket.socket]) -> None:
    channel, sock = ends
    reading, writing = os.pipe()
    channel.send({"name": "Ä\ud800"}, [reading])
    message, (descriptor,) = Channel(sock).receive()
    assert message == {"name": "Ä?"}
    assert descriptor is not None
    os.write(writing, b"through")
    assert os.read(descriptor, 10) == b"through"
    for one in (reading, writing, descriptor):
        os.close(one)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b'"x"', b"\xff", b"[" * 50_000, b"9" * 6000])
def test_what_is_no_object_is_refused(ends: tuple[Channel, socket.socket], body: bytes) -> None:
    channel, sock = ends
    sock.sendall(struct.pack(">I", len(body)) + body)
    with pytest.raises(BadMessageError):
        channel.receive()


def test_a_message_longer_than_its_cap_is_refused_unread(ends: tuple[Channel, socket.socket]) -> None:
    channel, sock = ends
    sock.sendall(struct.pack(">I", 0xFFFFFFFF))
    with pytest.raises(BadMessageError, match="4294967295 bytes"):
        channel.receive(1000)


def test_an_end_in_the_middle_is_an_end(ends: tuple[Channel, socket.socket]) -> None:
    channel, sock = ends
    sock.sendall(struct.pack(">I", 10) + b"{}")
    sock.shutdown(socket.SHUT_WR)
    with pytest.raises(ChannelClosedError):
        channel.receive()


def test_a_deadline_holds_in_the_middle_of_a_message_too(ends: tuple[Channel, socket.socket]) -> None:
    channel, sock = ends
    sock.sendall(struct.pack(">I", 10) + b"{}")
    with pytest.raises(ChannelTimeoutError):
        channel.receive(deadline=time.monotonic() + 0.05)


def test_a_text_follows_its_message(ends: tuple[Channel, socket.socket]) -> None:
    channel, sock = ends
    other = Channel(sock)
    channel.send({"text_follows": True}, text="Ä\ud800 " * 10)
    assert other.receive()[0] == {"text_follows": True}
    assert other.receive_text(1000) == "Ä? " * 10


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (struct.pack(">I", 0xFFFFFFFF), BadMessageError),
        (struct.pack(">I", 3) + b"a\xff\xff", BadMessageError),
        (struct.pack(">I", 3) + b"\xed\xa0\x80", BadMessageError),
        (struct.pack(">I", 3) + b"a", ChannelTimeoutError),
        (b"", ChannelTimeoutError),
    ],
)
def test_a_text_is_read_strictly(ends: tuple[Channel, socket.socket], sent: bytes, error: type[Exception]) -> None:
    channel, sock = ends
    sock.sendall(sent)
    with pytest.raises(error):
        channel.receive_text(1000, time.monotonic() + 0.05)


def test_nobody_there_is_closed(ends: tuple[Channel, socket.socket]) -> None:
    channel, sock = ends
    assert channel.is_quiet()
    sock.close()
    assert not channel.is_quiet()
    with pytest.raises(ChannelClosedError):
        channel.send({"x": "y" * 10_000_000})
