"""The reader against files of its own writer, of the `gguf` package, of others, and against damaged ones."""

import hashlib
import os
import struct
import time
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFValueType, GGUFWriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import BadModelFile
from engine.gguf import GgmlType, TensorSource, cursor, read, write

MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)
METADATA = {
    "general.architecture": "test",
    "a.bool": True,
    "a.int": 7,
    "a.float": 0.5,
    "a.strings": ["one", "", "três", "\u2581x"],
    "a.numbers": np.array([-1, 2, 3], np.int32),
    "a.bools": np.array([True, False]),
}


def source(name: str, array: np.ndarray) -> TensorSource:
    return TensorSource(name, GgmlType.F32, array.shape, lambda: [array.view(np.uint8)])


def sample(path: Path) -> bytes:
    write(path, METADATA, [source("m", MATRIX), source("v", np.ones(5, np.float32))])
    return path.read_bytes()


def kv(key: str, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + value


def tensor(name: bytes, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    return struct.pack("<Q", len(name)) + name + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def file_of(path: Path, keys: list[bytes], tensors: list[bytes], data: int = 0, version: int = 3) -> Path:
    header = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys + tensors)
    path.write_bytes(header + b"\0" * (-len(header) % 32 + data))
    return path


def test_reads_what_was_written(tmp_path: Path) -> None:
    sample(tmp_path / "f")
    file = read(tmp_path / "f")
    assert list(file.metadata) == list(METADATA)
    for key, value in METADATA.items():
        found = file.metadata[key]
        assert type(found) is type(value)
        assert np.array_equal(found, value)
    assert file.tensors["m"].shape == (3, 4)
    assert np.array_equal(file.tensors["m"].data.view(np.float32).reshape(3, 4), MATRIX)
    assert not file.tensors["m"].data.flags.writeable
    assert not file.metadata["a.numbers"].flags.writeable


def test_every_value_type_of_the_gguf_package(tmp_path: Path) -> None:
    writer = GGUFWriter(tmp_path / "f", "test")
    values = {
        "UINT8": 255, "INT8": -128, "UINT16": 65535, "INT16": -5, "UINT32": 2**32 - 1, "INT32": -7, "UINT64": 2**63,
        "INT64": -(2**62), "FLOAT32": 1.5, "FLOAT64": 0.1, "BOOL": True, "STRING": "x",
    }  # fmt: skip
    for name, value in values.items():
        writer.add_key_value(name, value, GGUFValueType[name])
        writer.add_key_value(f"{name}s", [value, value], GGUFValueType.ARRAY, GGUFValueType[name])
    writer.add_tensor("t", MATRIX)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = read(tmp_path / "f")
    for name, value in values.items():
        assert file.metadata[name] == value
        assert list(file.metadata[f"{name}s"]) == [value, value]
    assert np.array_equal(file.tensors["t"].data.view(np.float32).reshape(3, 4), MATRIX)


def test_digest_is_of_the_whole_file(tmp_path: Path) -> None:
    content = sample(tmp_path / "f")
    assert read(tmp_path / "f").sha256 == hashlib.sha256(content).hexdigest()


def test_what_is_hashed_or_released_does_not_stay_in_memory(tmp_path: Path) -> None:
    def resident() -> int:
        """Bytes of files that are mapped, also of those that lie in memory."""
        told = Path("/proc/self/status").read_text()
        return 1024 * sum(int(told.split(name)[1].split()[0]) for name in ("RssFile:", "RssShmem:"))

    large = np.arange(10 << 20, dtype=np.float32)
    write(tmp_path / "f", METADATA, [source("m", large)])
    file = read(tmp_path / "f")
    before = resident()
    assert file.sha256 == hashlib.sha256((tmp_path / "f").read_bytes()).hexdigest()
    assert resident() - before < large.nbytes // 4
    assert file.tensors["m"].data.sum() > 0
    assert resident() - before > large.nbytes // 2
    file.release()
    assert resident() - before < large.nbytes // 4
    assert bytes(file.tensors["m"].data[-4:]) == large[-1:].tobytes()


def test_no_tensors_and_version_2(tmp_path: Path) -> None:
    assert read(file_of(tmp_path / "f", [], [], version=2)).version == 2


def test_file_replaced_while_mapped_keeps_its_bytes(tmp_path: Path) -> None:
    sample(tmp_path / "f")
    file = read(tmp_path / "f")
    (tmp_path / "g").write_bytes(b"other")
    (tmp_path / "g").replace(tmp_path / "f")
    assert np.array_equal(file.tensors["m"].data.view(np.float32).reshape(3, 4), MATRIX)


@pytest.mark.parametrize(
    ("keys", "tensors", "data", "message"),
    [
        ([kv("a", 13, b""), kv("b", 0, b"\1")], [], 0, "value type 13"),
        ([kv("a", 0, b"\1"), kv("a", 0, b"\1")], [], 0, "not for the first time"),
        ([kv("", 0, b"\1")], [], 0, "empty"),
        ([kv("a", 7, b"\2")], [], 0, "0 or 1"),
        ([kv("a", 9, struct.pack("<IQ", 7, 2) + b"\0\2")], [], 0, "0 or 1"),
        ([kv("a", 8, struct.pack("<Q", 2) + b"\xff\xfe")], [], 0, "UTF-8"),
        ([kv("a", 9, struct.pack("<IQQ", 8, 1, 2) + b"\xc3\x28")], [], 0, "UTF-8"),
        ([kv("a", 9, struct.pack("<IQIQ", 9, 1, 0, 0))], [], 0, "array of arrays"),
        ([kv("a", 9, struct.pack("<IQ", 8, 1 << 61))], [], 64, "strings of a"),
        ([kv("a", 9, struct.pack("<IQ", 4, (1 << 62) + 1))], [], 64, "items of a"),
        ([kv("general.alignment", 4, struct.pack("<I", 24))], [], 0, "power of two"),
        ([kv("general.alignment", 4, struct.pack("<I", 1 << 30))], [], 0, "power of two"),
        ([kv("general.alignment", 8, struct.pack("<Q", 2) + b"32")], [], 0, "power of two"),
        ([], [tensor(b"t", (4,), 0, 0)], 15, "within"),
        ([], [tensor(b"t", (4,), 0, 8)], 64, "alignment"),
        ([], [tensor(b"t", (4,), 0, (1 << 64) - 32)], 64, "within"),
        ([], [tensor(b"t", (4,), 4, 0)], 64, "tensor type 4"),
        ([], [tensor(b"t", (33,), 8, 0)], 64, "multiple of 32"),
        ([], [tensor(b"t", (4, 0), 0, 0)], 64, "dimension 0"),
        ([], [tensor(b"t", (1 << 33, 1 << 33), 0, 0)], 64, "dimension"),
        ([], [tensor(b"t", (), 0, 0)], 64, "0 dimensions"),
        ([], [tensor(b"t", (1, 1, 1, 1, 1), 0, 0)], 64, "5 dimensions"),
        ([], [tensor(b"t", (9,), 0, 0), tensor(b"u", (4,), 0, 32)], 64, "inside tensor t"),
        ([], [tensor(b"t", (4,), 0, 0), tensor(b"u", (4,), 0, 0)], 64, "inside tensor"),
        ([], [tensor(b"t", (4,), 0, 0), tensor(b"t", (4,), 0, 32)], 64, "not for the first time"),
        ([], [tensor(b"t" * 128, (4,), 0, 0)], 64, "cap is 127"),
    ],
)
def test_refused(tmp_path: Path, keys: list[bytes], tensors: list[bytes], data: int, message: str) -> None:
    path = file_of(tmp_path / "f", keys, tensors, data)
    with pytest.raises(BadModelFile, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes"),
        (b"GGU", "3 bytes"),
        (b"GGML" + b"\0" * 20, "GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 4, 0, 0), "version 4"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 63, 0), "tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 63), "metadata keys"),
    ],
)
def test_refused_header(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(BadModelFile, match=message):
        read(tmp_path / "f")


def test_no_file_folder_and_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("none", ".", "pipe"):
        with pytest.raises(BadModelFile):
            read(tmp_path / name)


def test_names_from_the_file_cannot_write_on_the_terminal(tmp_path: Path) -> None:
    path = file_of(tmp_path / "f", [], [tensor(b"\x1b[2J\nx", (4,), 99, 0)])
    with pytest.raises(BadModelFile) as caught:
        read(path)
    assert str(caught.value).isprintable()


def test_cut_at_every_length(tmp_path: Path) -> None:
    whole = sample(tmp_path / "whole")
    end = whole.rindex(np.ones(5, np.float32).tobytes()) + 20
    for length in reversed(range(end)):
        os.truncate(tmp_path / "whole", length)
        with pytest.raises(BadModelFile):
            read(tmp_path / "whole")


BYTES = st.sampled_from([0, 1, 2, 8, 9, 32, 127, 128, 254, 255])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 430), BYTES), max_size=6))
def test_changed_bytes_give_a_file_or_bad_model_file(sample_file: Path, changes: list[tuple[int, int]]) -> None:
    check_changed(sample_file, changes)


def test_every_byte_changed(sample_file: Path) -> None:
    for offset, byte in enumerate(sample_file.read_bytes()):
        for mask in (1, 0x80, 0xFF):
            check_changed(sample_file, [(offset, byte ^ mask)])


@pytest.fixture(scope="module")
def sample_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sample") / "f"
    sample(path)
    return path


def check_changed(path: Path, changes: list[tuple[int, int]]) -> None:
    """Changes bytes in place, reads, and puts the old ones back: only a sound file or BadModelFile may come of it."""
    with path.open("r+b", buffering=0) as file:
        content = file.read()
        for offset, byte in changes:
            os.pwrite(file.fileno(), bytes([byte]), offset)
        try:
            assert all(tensor.data.size <= len(content) for tensor in read(path).tensors.values())
        except BadModelFile:
            pass
        finally:
            os.pwrite(file.fileno(), content, 0)


def test_a_file_of_16_gb_of_zeros_is_refused_at_once(tmp_path: Path) -> None:
    """The file could hold the five million empty strings that it announces; the cap refuses them."""
    path = file_of(tmp_path / "f", [kv("a", 9, struct.pack("<IQ", 8, 5 << 20))], [])
    os.truncate(path, 16 << 30)
    start = time.process_time()
    with pytest.raises(BadModelFile, match="found 5242880 strings of a, expected at most 4194304"):
        read(path)
    assert time.process_time() - start < 1


def test_the_header_has_a_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample(tmp_path / "f")
    monkeypatch.setattr(cursor, "MAX_HEADER_BYTES", 200)
    with pytest.raises(BadModelFile, match="cap"):
        read(tmp_path / "f")


def test_hostile_files(data: Path) -> None:
    good = {"v3-empty.bin", "valid-small.gguf"}
    files = sorted((data / "vectors/gridcore-gguf-fuzz").glob("*/*"))
    assert files
    for path in files:
        if path.name in good:
            read(path)
        else:
            with pytest.raises(BadModelFile):
                read(path)


def test_large_vocabularies_are_quick(data: Path) -> None:
    start = time.process_time()
    file = read(data / "tokenizers/ggml-vocab-qwen2.gguf")
    assert len(file.metadata["tokenizer.ggml.tokens"]) == 151_936
    assert time.process_time() - start < 1


def test_require(tmp_path: Path) -> None:
    sample(tmp_path / "f")
    file = read(tmp_path / "f")
    assert file.require("a.int", int) == 7
    with pytest.raises(BadModelFile, match=r"no metadata key a\.none"):
        file.require("a.none", int)
    with pytest.raises(BadModelFile, match="found bool True, expected int"):
        file.require("a.bool", int)
