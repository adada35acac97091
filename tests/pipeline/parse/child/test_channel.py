"""Frames on a socket pair: whole, torn, too long, without end."""

import os
import socket
import struct
import time
from collections.abc import Iterator

import pytest

from pipeline.parse import Limits
from pipeline.parse.child import life
from pipeline.parse.child.channel import BadMessageError, Channel, ChannelClosedError, ChannelTimeoutError
from pipeline.parse.child.process import ChildProcess, Forked


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


def test_a_child_tells_how_far_it_is_before_it_answers(
    ends: tuple[Channel, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Now and then; what is no such message, or no such number, is refused."""
    monkeypatch.setattr(life, "_EVERY_SECONDS", 0.0)
    channel, sock = ends
    far, child = life._Far(Channel(sock)), ChildProcess(None, channel, Forked(0, 0), {})  # type: ignore[arg-type]
    told: list[tuple[int, int]] = []
    for page in (1, 2, 3):
        far(page, 3)
    Channel(sock).send({"failure": "empty"})
    asked = child.ask([], {}, Limits(), lambda done, of: told.append((done, of)))
    assert (asked, told) == ({"failure": "empty"}, [(1, 3), (2, 3), (3, 3)])
    monkeypatch.setattr(life, "_EVERY_SECONDS", 3600.0)
    far(1, 3)
    Channel(sock).receive()  # the first request
    Channel(sock).send({"failure": "empty"})
    child.ask([], {}, Limits(), lambda done, of: told.append((done, of)))
    assert len(told) == 3
    for bad in ([1], [2, 1], [-1, 3], [1, 10**9], ["1", 3], [True, 3], [1.0, 3], {}):
        Channel(sock).send({"far": bad})
        with pytest.raises(BadMessageError):
            child.ask([], {}, Limits())
