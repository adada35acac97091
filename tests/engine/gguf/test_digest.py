"""sha256 of a mapped file, while something else is done."""

import hashlib
import mmap
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from engine.gguf import Digest, hashed, read, write
from engine.gguf import file as files

CONTENT = np.random.default_rng(3).integers(0, 256, 3_000_001).astype(np.uint8).tobytes()


@pytest.fixture
def mapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> mmap.mmap:
    monkeypatch.setattr(files, "_AT_A_TIME", 1 << 16)
    (tmp_path / "f").write_bytes(CONTENT)
    with (tmp_path / "f").open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def threads() -> int:
    return sum(thread.name.startswith("sha256") for thread in threading.enumerate())


def test_before_it_is_needed_and_when_it_is(mapping: mmap.mmap) -> None:
    expected = hashlib.sha256(CONTENT).hexdigest()
    assert Digest(mapping).hexadecimal == expected
    ahead = Digest(mapping)
    with ahead.ahead():
        assert ahead.hexadecimal == expected
    assert ahead.hexadecimal == expected
    assert threads() == 0


def test_after_a_failure_nobody_looks_at_the_file_and_no_part_passes_for_the_whole(mapping: mmap.mmap) -> None:
    given_up = Digest(mapping)
    with pytest.raises(KeyError, match="refused"), given_up.ahead():
        raise KeyError("refused")
    assert threads() == 0
    assert given_up.hexadecimal == hashlib.sha256(CONTENT).hexdigest()


def test_a_file_that_was_refused_may_be_cut(tmp_path: Path) -> None:
    """A thread that still read the mapping would end the process."""
    path = tmp_path / "f"
    write(path, {"general.name": "x"}, [])
    os.truncate(path, 500 << 20)  # takes longer than what comes here
    with pytest.raises(KeyError, match="refused"), hashed(path) as file:
        raise KeyError("refused", file.metadata)
    os.truncate(path, 0)


def test_a_file_that_is_read_and_hashed(tmp_path: Path) -> None:
    write(tmp_path / "f", {"general.name": "x"}, [])
    with hashed(tmp_path / "f") as file:
        assert file.metadata["general.name"] == "x"
    assert file.sha256 == read(tmp_path / "f").sha256 == hashlib.sha256((tmp_path / "f").read_bytes()).hexdigest()
