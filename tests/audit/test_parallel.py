"""A verification by several processes says exactly what the walk through all entries says."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import audit
from audit import parallel
from audit.merkle import root_hash, split_hashes
from audit.parallel import hash_segment, workers
from tests.thorough import ALL

SEGMENTS = ["entries/000000000000.jsonl", "entries/000000004096.jsonl", "entries/000000008192.jsonl"]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, key: Any) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("large") / "audit"
    audit.Log.create(folder, key_path=key[0], public_key=key[1])
    with audit.Log.open(folder, key_path=key[0], public_key=key[1]) as log:
        for _ in range(9):
            log.commit([{"type": "x", "run": "r", "i": i} for i in range(1000)])
    yield folder
    shutil.rmtree(folder)


def flip(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def swap(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines) - 1)
    return b"".join([*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]])


def again(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    return b"".join([*lines[: at + 1], *lines[at:]])


def other(data: bytes, chance: random.Random) -> bytes:
    """An entry that is as good as the signed one but for its hash."""
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    return b"".join([*lines[:at], lines[at].replace(b'"run":"r"', b'"run":"s"'), *lines[at + 1 :]])


def more(data: bytes, chance: random.Random) -> bytes:
    return data + chance.choice((b"\n", b"x", b"{}\n", b"\0"))


def test_it_says_what_the_walk_says(large: Path, key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, public_key = random.Random(11), key[1]
    files = [*SEGMENTS, "tile/0/000", "tile/0/031", "tile/0/035.p/40", "tile/1/000.p/35"]
    monkeypatch.setattr(parallel, "LEAST", 99)  # the work of children, in this process
    for number in range(24 if ALL else 12):  # each kind twice, or more often
        file = large / files[number % len(files)]
        data = file.read_bytes()
        kinds = (flip, cut, swap, again, other, more) if file.suffix else (flip, cut, more)
        file.write_bytes(kinds[number % len(kinds)](data, chance))
        slow = audit.verify(large, public_key)
        assert slow.findings or slow.notes
        assert audit.verify(large, public_key, processes=3) == slow
        file.write_bytes(data)
    for name in files:
        (large / name).rename(large.parent / "away")
        assert audit.verify(large, public_key, processes=3) == audit.verify(large, public_key)
        (large.parent / "away").rename(large / name)
    assert audit.verify(large, public_key).ok


def test_in_children(large: Path, key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "LEAST", 2)
    told: list[tuple[int, int]] = []
    report = audit.verify(large, key[1], lambda done, size: told.append((done, size)), processes=2)
    assert report == audit.verify(large, key[1])
    assert sorted(set(told)) == [(4096, 9000), (8192, 9000), (9000, 9000)]


def test_the_hashes_of_a_segment_are_those_of_its_tiles(large: Path) -> None:
    path = large / SEGMENTS[1]
    hashed = hash_segment(large, 4096, path.stat().st_size)
    assert hashed is not None
    assert hashed.leaves == [(large / f"tile/0/{index:03d}").read_bytes() for index in range(16, 32)]
    assert hashed.roots == [root_hash(split_hashes(leaves)) for leaves in hashed.leaves]
    for size in (0, 10, path.stat().st_size - 1):
        assert hash_segment(large, 4096, size) is None


def test_work_of_a_child_that_died_is_done_here() -> None:
    with workers(2) as run:
        assert list(run(_die_elsewhere, [os.getpid()] * 2)) == [True, True]


def _die_elsewhere(pid: int) -> bool:
    if os.getpid() != pid:
        os._exit(1)
    return True
