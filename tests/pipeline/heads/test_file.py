"""`file`: what is written is read, and nothing else is."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from pipeline.answer.heads import load_head
from pipeline.errors import ModelRefusedError
from pipeline.heads import HeadFile, read_head, write_head
from pipeline.plan import HeadRef

HEAD = HeadFile(
    {"kind": "classify", "labels": ["a", "ü"], "scale": 0.25},
    {"weights": np.arange(6, dtype=np.float32).reshape(3, 2), "right": np.array([0, 1], np.uint8)},
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_head(tmp_path / "new" / "a.head", HEAD)
    found = read_head(tmp_path / "new" / "a.head")
    assert {name: found.facts[name] for name in HEAD.facts} == HEAD.facts
    assert all(np.array_equal(found.arrays[name], array) for name, array in HEAD.arrays.items())
    again = {name: value for name, value in found.facts.items() if name != "arrays"}
    assert HeadFile(again, found.arrays).to_bytes() == (tmp_path / "new" / "a.head").read_bytes()


def test_no_other_byte_passes(tmp_path: Path) -> None:
    data, file = HEAD.to_bytes(), tmp_path / "a.head"
    for at in range(len(data)):
        file.write_bytes(data[:at])
        with pytest.raises(ModelRefusedError):
            read_head(file)
    for changed in (data + b"\0", data.replace(b'"shape":[3,2]', b'"shape":[2,3 ]'), data.replace(b"[3,2]", b"[-1,2]")):
        file.write_bytes(changed)
        with pytest.raises(ModelRefusedError, match="no head that can be used"):
            read_head(file)
    file.write_bytes(data[:-26] + np.array([np.nan], np.float32).tobytes() + data[-22:])
    with pytest.raises(ModelRefusedError):
        read_head(file)
    with pytest.raises(ModelRefusedError, match="cloister learn"):
        read_head(tmp_path / "none.head")


def test_a_pinned_head_is_the_bytes_that_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, file = HEAD.to_bytes(), tmp_path / "a.head"
    file.write_bytes(data)
    sha256 = hashlib.sha256(data).hexdigest()
    assert read_head(file).sha256 == read_head(file, sha256).sha256 == sha256
    with pytest.raises(ModelRefusedError, match=f"has sha256 {sha256}, but the job pins {'0' * 64}; put the pinned"):
        read_head(file, "0" * 64)
    reads = list[Path]()
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: reads.append(path) or read_bytes(path))  # type: ignore[func-returns-value]
    load_head(HeadRef("a", file, sha256))
    assert reads == [file], "a file that is read twice may be another one the second time"
