"""The writer: bytes that the `gguf` package reads, the same ones each time, whole or not at all."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader

from engine.errors import EngineError
from engine.gguf import GgmlType, TensorSource, read, write

VALUES = np.arange(64, dtype=np.float32)


def source(name: str = "t", shape: tuple[int, ...] = (2, 32)) -> TensorSource:
    return TensorSource(name, GgmlType.F32, shape, lambda: [VALUES[:32].view(np.uint8), VALUES[32:].view(np.uint8)])


def test_the_gguf_package_reads_it(tmp_path: Path) -> None:
    metadata = {"general.architecture": "bert", "x.flag": False, "x.list": ["a", "ß"], "x.n": np.uint64(2**40)}
    metadata["x.f"] = 1e-12
    odd = TensorSource("odd", GgmlType.F16, (3,), lambda: [np.ones(3, np.float16).view(np.uint8)])
    write(tmp_path / "f", metadata, [odd, source()])
    reader = GGUFReader(tmp_path / "f")
    for key, value in metadata.items():
        found = reader.fields[key].contents()
        assert found == (np.float32(value) if key == "x.f" else value)
    assert [found.name for found in reader.tensors] == ["odd", "t"]
    assert np.array_equal(reader.tensors[1].data, VALUES.reshape(2, 32))
    assert all(found.data_offset % 32 == 0 for found in reader.tensors)


def test_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("f", "g"):
        write(tmp_path / name, {"a": 1, "b": "x"}, [source("t"), source("u")])
    assert (tmp_path / "f").read_bytes() == (tmp_path / "g").read_bytes()


def test_progress_names_each_tensor(tmp_path: Path) -> None:
    lines: list[str] = []
    write(tmp_path / "f", {}, [source("t"), source("u")], lines.append)
    assert lines == ["tensor 1 of 2: t F32", "tensor 2 of 2: u F32"]


def test_a_failing_tensor_leaves_nothing_and_keeps_the_old_file(tmp_path: Path) -> None:
    def broken() -> Iterator[np.ndarray]:
        yield VALUES.view(np.uint8)
        raise EngineError("broken source")

    (tmp_path / "f").write_text("old")
    with pytest.raises(EngineError, match="broken source"):
        write(tmp_path / "f", {}, [TensorSource("t", GgmlType.F32, (2, 64), broken)])
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_text() == "old"


def test_missing_folder_and_full_disk(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be written: No such file"):
        write(tmp_path / "none/f", {}, [source()])

    def full() -> Iterator[np.ndarray]:
        yield VALUES.view(np.uint8)
        raise OSError(28, "No space left on device")

    with pytest.raises(EngineError, match="No space left on device"):
        write(tmp_path / "f", {}, [TensorSource("t", GgmlType.F32, (2, 64), full)])
    assert list(tmp_path.iterdir()) == []


def test_wrong_length_and_too_large_numbers_are_defects(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="256 bytes, 384 by shape"):
        write(tmp_path / "f", {}, [source(shape=(3, 32))])
    with pytest.raises(ValueError, match="UINT32"):
        write(tmp_path / "f", {"a": -1}, [])
    assert list(tmp_path.iterdir()) == []


def test_empty_file_is_valid(tmp_path: Path) -> None:
    write(tmp_path / "f", {}, [])
    assert read(tmp_path / "f").tensors == {}
