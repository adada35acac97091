"""The safetensors reader against hostile files."""

import json
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.convert.folder import SourceFolder, SourceTensor, read_safetensors
from engine.errors import BadModelFile, EngineError, UnsupportedModel


def write(folder: Path, header: Any, data: bytes = b"", length: int | None = None) -> None:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    (folder / "f").write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)


def read(folder: Path) -> dict[str, SourceTensor]:
    return read_safetensors(SourceFolder(folder), "f")


def entry(dtype: str = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def test_reads_each_float_type(tmp_path: Path) -> None:
    values = np.array([[1.5, -2.0], [0.25, 3.0]], np.float32)
    half = values.astype(np.float16).tobytes()
    brain = (values.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    header = {
        "__metadata__": {"format": "pt"},
        "a": entry("F32", (2, 2), (0, 16)),
        "b": entry("F16", (2, 2), (16, 24)),
        "c": entry("BF16", (2, 2), (24, 32)),
        "d": entry("I64", (0,), (32, 32)),
    }
    write(tmp_path, header, values.tobytes() + half + brain)
    tensors = read(tmp_path)
    assert list(tensors) == ["a", "b", "c", "d"]
    for name in "abc":
        assert np.array_equal(tensors[name].rows(0, 2), values)
        assert np.array_equal(tensors[name].rows(1, 2), values[1:])
    with pytest.raises(UnsupportedModel, match="tensor d: found I64"):
        tensors["d"].rows(0, 0)


@pytest.mark.parametrize(
    ("header", "data", "length", "message"),
    [
        ({}, b"", 1 << 40, "a header of 1099511627776 bytes, expected at most 2"),
        ({}, b"", 3, "a header of 3 bytes"),
        (b"\xff{}", b"", None, "expected UTF-8"),
        (b"{", b"", None, "no JSON"),
        (b"[]", b"", None, "found list"),
        (b"[" * 10_000, b"", None, "no JSON"),
        (b'{"a": {}, "a": {}}', b"", None, "a key twice"),
        ({"a": 1}, b"", None, "expected dtype, shape and data_offsets"),
        ({"a": entry() | {"more": 1}}, b"\0" * 8, None, "expected dtype, shape and data_offsets"),
        ({"a": entry("F4")}, b"\0" * 8, None, "found dtype 'F4'"),
        ({"a": entry(dtype=["F32"])}, b"\0" * 8, None, "found dtype"),
        ({"a": entry(shape=[-2])}, b"\0" * 8, None, "found shape"),
        ({"a": entry(shape=[True, 2])}, b"\0" * 8, None, "found shape"),
        ({"a": entry(shape=[2.0])}, b"\0" * 8, None, "found shape"),
        ({"a": entry(shape=[1] * 9)}, b"\0" * 8, None, "found shape"),
        ({"a": entry(shape="2")}, b"\0" * 8, None, "found shape"),
        ({"a": entry(shape=[3])}, b"\0" * 8, None, "found 8 bytes, expected 12"),
        ({"a": entry(offsets=[8, 0])}, b"\0" * 8, None, "a begin and an end within 8"),
        ({"a": entry(offsets=[0, 16])}, b"\0" * 8, None, "a begin and an end within 8"),
        ({"a": entry(offsets=[0])}, b"\0" * 8, None, "a begin and an end within 8"),
        ({"a": entry(), "b": entry(offsets=[4, 12])}, b"\0" * 12, None, "at offset 4 of the data, expected one at 8"),
        ({"a": entry(offsets=[8, 16])}, b"\0" * 16, None, "at offset 8 of the data, expected one at 0"),
        ({"a": entry()}, b"\0" * 9, None, "found 9 bytes of data, expected 8"),
    ],
)
def test_refused(tmp_path: Path, header: Any, data: bytes, length: int | None, message: str) -> None:
    write(tmp_path, header, data, length)
    with pytest.raises(EngineError, match=message) as caught:
        read(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/f: ")


def test_short_and_missing_files(tmp_path: Path) -> None:
    for content in (b"", b"\0" * 7):
        (tmp_path / "f").write_bytes(content)
        with pytest.raises(BadModelFile):
            read(tmp_path)
    (tmp_path / "f").unlink()
    with pytest.raises(BadModelFile, match="No such file"):
        read(tmp_path)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 140), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes_give_tensors_or_an_engine_error(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    header = {"a": entry(), "b": entry("F16", (2, 2), (8, 16))}
    write(tmp_path, header, b"\0" * 16)
    content = bytearray((tmp_path / "f").read_bytes())
    for offset, byte in changes:
        content[offset % len(content)] = byte
    (tmp_path / "f").write_bytes(content)
    with suppress(EngineError):
        assert sum(tensor.data.size for tensor in read(tmp_path).values()) <= 16
