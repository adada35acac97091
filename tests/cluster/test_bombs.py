"""A worker whose credential was stolen answers with little that would become all of the head's memory."""

import asyncio
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import distributed.comm.tcp as tcp
import distributed.protocol as protocol
import pytest
from distributed.protocol.serialize import Serialized

import tests.cluster.test_strangers as strangers
from pipeline import RunPlan
from pipeline.cluster.quiet import LIST, ROOM, without_pickles
from tests.cluster.processes import Machines
from tests.cluster.strangers import RIGHT, always, stranger

bare, hasty = strangers.bare, strangers.hasty
GIBIBYTE = 1 << 30
MORE = 160 << 20
"""Bytes that the head may take beside: it loads a model and parses documents meanwhile."""


def deflated(size: int) -> bytes:
    """So many zero bytes, made small by zlib without ever being there."""
    packing, zeros = zlib.compressobj(9), bytes(1 << 20)
    return b"".join([*(packing.compress(zeros) for _ in range(size >> 20)), packing.flush()])


def most_memory() -> int:
    """The most bytes that this process had (VmHWM of proc(5)) since `forget_most`."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) * 1024


def forget_most() -> None:
    """Let the most memory count from now on (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")


def sub_message(**header: Any) -> list[bytes]:
    """A message with a part of its own, as Dask has it: a value that stands for it, its header, and its bytes."""
    sub = {"serializer": "dask", "num-sub-frames": 1, "type-serialized": b"", **header}
    return [packed({"__Serialized__": 1}), packed(sub), deflated(GIBIBYTE)]


def packed(value: Any) -> bytes:
    import msgpack

    return bytes(msgpack.packb(value, use_bin_type=True))


SMALL_MAPS = b"\xdd" + struct.pack(">I", 300_000) + b"\x81\xa0\xc0" * 300_000
EMPTY_MAPS = b"\xdd" + struct.pack(">I", 1_000_000) + b"\x80" * 1_000_000
SHORT_TEXTS = b"\xdd" + struct.pack(">I", 340_000) + b"\xa2xy" * 340_000
NESTED = b"\x91" * 500 + EMPTY_MAPS


@pytest.mark.parametrize(
    "frames",
    [
        sub_message(compression=["zlib"]),
        sub_message(compression=[None]),
        [packed({"__Pickled__": 1}), packed({"pickled-obj": b"", "compression": ["zlib"], "num-sub-frames": 1}), b""],
        [packed({"a": [{"b": {"__Serialized__": 1}}]}), *sub_message(compression=["zlib"])[1:]],
        [packed({"__Serialized__": True, "data": [{}, []]})],
        [packed({"__Enum__": True, "__module__": "distributed.core", "__name__": "Status", "name": "running"})],
        [packed({"__Set__": True, "as-list": [1]})],
        [EMPTY_MAPS], [SMALL_MAPS], [SHORT_TEXTS], [NESTED],
        [b"\x91" * 100_000], [b"\xdd\xff\xff\xff\xff"], [b"\xdf\xff\xff\xff\xff\xa0"], [b"\xc6\xff\xff\xff\xff"],
        [b"\xc1"], [b"\x81\xc0\xc0"], [b"\x81\x01\xc0"],
        [packed({}), b""],
    ],
    ids=lambda frames: f"{bytes(frames[0])[:24]!r}",
)  # fmt: skip
def test_a_message_takes_no_more_memory_than_a_few_times_its_length(frames: list[bytes]) -> None:
    without_pickles()
    forget_most()
    before, tried = most_memory(), [memoryview(frame) for frame in frames]
    with pytest.raises((TypeError, ValueError)):
        protocol.loads(tried)  # type: ignore[attr-defined]
    assert most_memory() - before < 64 << 20


def test_ordinary_messages_are_taken_as_they_are() -> None:
    without_pickles()
    parts = {f"worker {n}": {"name": f"n{n}", "memory": n, "metrics": {"cpu": 0.5, "on": True}} for n in range(2_000)}
    for value in ({}, (), {"workers": parts}, {"data": bytes(10 << 20), "text": "\u00e4" * 999}, ("a", (1, 2.5, None))):
        assert protocol.loads([packed(value)]) == value  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("frames", "right"), [([5], True), ([0], True), ([4000], True), ([5, 5], False), ([], False), ([4000, 9], False)]
)
def test_a_message_is_one_part(frames: list[int], right: bool) -> None:
    without_pickles()
    head = struct.pack(f"<{1 + len(frames)}Q", len(frames), *frames)
    if right:
        found, lacking = tcp.unpack_frames(head, partial=True)  # type: ignore[attr-defined]
        assert len(found) + len(lacking) == 1
    else:
        with pytest.raises(ValueError, match="parts"):
            tcp.unpack_frames(head, partial=True)  # type: ignore[attr-defined]


def test_a_scheduler_takes_no_message_that_is_longer_than_a_list_of_workers() -> None:
    try:
        without_pickles(LIST)
        assert ROOM.get() is None
        with pytest.raises(ValueError, match="more than such an answer"):
            asyncio.run(tcp.read_bytes_rw(None, LIST + 1))  # type: ignore[arg-type]
    finally:
        without_pickles()


def test_a_worker_that_answers_with_a_bomb_is_given_up(bare: Machines, hasty: RunPlan, tmp_path: Path) -> None:
    header = {"serializer": "dask", "num-sub-frames": 1, "type-serialized": b"", "compression": ["zlib"]}
    bomb = Serialized(header, [deflated(GIBIBYTE)])  # type: ignore[no-untyped-call]
    with stranger(bare, tmp_path / "s", {**RIGHT, "read": always({"parsed": bomb, "unpacked": b""})}):
        forget_most()
        before = most_memory()
        notes = strangers.ended(hasty)
        assert most_memory() - before < MORE
    assert "worker lost" in {event for event, _ in notes}


@pytest.mark.parametrize("operation", ["look", "accept", "beat"])
def test_so_is_one_that_answers_so_to_anything_else(
    bare: Machines, hasty: RunPlan, tmp_path: Path, operation: str
) -> None:
    header = {"serializer": "dask", "num-sub-frames": 1, "type-serialized": b"", "compression": ["zlib"]}
    bomb = Serialized(header, [deflated(GIBIBYTE)])  # type: ignore[no-untyped-call]
    with stranger(bare, tmp_path / "s", {**RIGHT, operation: always(bomb)}):
        forget_most()
        before = most_memory()
        strangers.ended(hasty)
        assert most_memory() - before < MORE
