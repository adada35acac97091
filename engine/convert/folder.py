"""The files of a model folder: read with a cap, and each one's sha256 kept for the record."""

import hashlib
import json
import mmap
import stat
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadModelFile, UnsupportedModel

WEIGHTS = "model.safetensors"
MAX_TEXT_BYTES = 64 << 20
"""A tokenizer.json with 250,000 pieces and their merges has some 17 MB."""


class SourceFolder:
    """Reads files by their name inside the folder; `digests` maps the name of each file read to its sha256."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise BadModelFile(f"{path}: found no folder, expected one with config.json and model.safetensors")
        self.path = path
        self.digests: dict[str, str] = {}

    def has(self, name: str) -> bool:
        return self._inside(name).exists()

    def map(self, name: str) -> mmap.mmap:
        """The file's bytes, mapped read-only; at least one. Raises BadModelFile."""
        path = self._inside(name)
        try:
            if not stat.S_ISREG(path.stat().st_mode) or not path.stat().st_size:
                raise BadModelFile(f"{path}: found something else or no bytes, expected a file")
            with path.open("rb") as file:
                mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise BadModelFile(f"{path}: cannot be read: {error.strerror}") from error
        with memoryview(mapping) as view:
            self.digests[name] = hashlib.sha256(view).hexdigest()
        return mapping

    def text(self, name: str) -> str:
        """The whole of a UTF-8 file. Raises BadModelFile."""
        with self.map(name) as mapping:
            where = f"{self.path / name}"
            if len(mapping) > MAX_TEXT_BYTES:
                raise BadModelFile(f"{where}: found {len(mapping)} bytes, expected at most {MAX_TEXT_BYTES}")
            try:
                return str(mapping[:], "utf-8")
            except UnicodeDecodeError as error:
                raise BadModelFile(f"{where}: at byte {error.start}: {error.reason}, expected UTF-8") from error

    def json(self, name: str) -> Any:
        """Reads a JSON file of the folder. Raises BadModelFile."""
        return parse_json(self.text(name), f"{self.path / name}")

    def json_object(self, name: str) -> dict[str, Any]:
        """The object that a JSON file holds. Raises BadModelFile."""
        value = self.json(name)
        if not isinstance(value, dict):
            raise BadModelFile(f"{self.path / name}: found {type(value).__name__}, expected a JSON object")
        return value

    def _inside(self, name: str) -> Path:
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or not parts or not name.isprintable():
            raise BadModelFile(f"{self.path}: found the file name {name!r}, expected one inside the folder")
        return self.path.joinpath(*parts)


def parse_json(text: str, where: str) -> Any:
    """Strict JSON: no key twice in an object. Raises BadModelFile, whose message begins with `where`."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise BadModelFile(f"{where}: found a key twice in one object, expected different keys")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise BadModelFile(f"{where}: no JSON: {error}") from error


def as_dict(value: Any) -> dict[str, Any]:
    """A part of foreign JSON; what is no object is empty, and so unlike what is expected of it."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A part of foreign JSON; what is no list is empty, and so unlike what is expected of it."""
    return value if isinstance(value, list) else []


MAX_HEADER_BYTES = 32 << 20
MAX_DIMENSIONS = 8

ITEM_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip


@dataclass(frozen=True)
class SourceTensor:
    """A tensor of the file; `data` is its bytes (uint8, flat, mapped)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: NDArray[np.uint8]

    def rows(self, start: int, stop: int) -> NDArray[np.float32]:
        """Rows start to stop as float32 [stop - start, columns]; a vector is one row. Exact for F32, F16 and BF16."""
        columns = self.shape[-1]
        size = columns * ITEM_BYTES[self.dtype]
        part = self.data[start * size : stop * size]
        if self.dtype == "F32":
            values = part.view("<f4").astype(np.float32)
        elif self.dtype == "F16":
            values = part.view("<f2").astype(np.float32)
        elif self.dtype == "BF16":
            values = (part.view("<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            raise UnsupportedModel(f"tensor {self.name}: found {self.dtype}, expected F32, F16 or BF16")
        return values.reshape(-1, columns)


def read_safetensors(folder: SourceFolder, name: str) -> dict[str, SourceTensor]:
    """The tensors of a safetensors file by name. Raises BadModelFile, which says what was found and expected."""
    where = f"{folder.path / name}"
    mapping = folder.map(name)
    start, header = _read_header(mapping, where)
    size = len(mapping) - start
    tensors, spans = {}, []
    for tensor_name, entry in header.items():
        begin, end, dtype, shape = _check_entry(entry, f"{where}: tensor {tensor_name!r:.120}", size)
        spans.append((begin, end))
        data = np.frombuffer(mapping, np.uint8, end - begin, start + begin)
        tensors[tensor_name] = SourceTensor(tensor_name, dtype, shape, data)
    _check_no_holes(spans, size, where)
    return tensors


def _read_header(mapping: mmap.mmap, where: str) -> tuple[int, dict[str, Any]]:
    """Where the data begins, and the header without its free-form `__metadata__`."""
    if len(mapping) < 8:
        raise BadModelFile(f"{where}: found {len(mapping)} bytes, expected at least 8")
    length = struct.unpack_from("<Q", mapping)[0]
    limit = min(MAX_HEADER_BYTES, len(mapping) - 8)
    if length > limit:
        raise BadModelFile(f"{where}: at byte 0: found a header of {length} bytes, expected at most {limit}")
    try:
        text = str(mapping[8 : 8 + length], "utf-8")
    except UnicodeDecodeError as error:
        raise BadModelFile(f"{where}: at byte {8 + error.start}: {error.reason}, expected UTF-8") from error
    header = parse_json(text, f"{where}: header")
    if not isinstance(header, dict):
        raise BadModelFile(f"{where}: header: found {type(header).__name__}, expected a JSON object")
    header.pop("__metadata__", None)
    return 8 + length, header


def _check_entry(entry: Any, where: str, size: int) -> tuple[int, int, str, tuple[int, ...]]:
    """begin, end, dtype, shape of a header entry."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise BadModelFile(f"{where}: found {entry!r:.120}, expected dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
        raise UnsupportedModel(f"{where}: found dtype {dtype!r:.40}, expected one of {', '.join(ITEM_BYTES)}")
    if not _are_lengths(shape) or len(shape) > MAX_DIMENSIONS:
        raise BadModelFile(f"{where}: found shape {shape!r:.80}, expected at most {MAX_DIMENSIONS} lengths")
    if not _are_lengths(offsets) or len(offsets) != 2 or not offsets[0] <= offsets[1] <= size:
        raise BadModelFile(f"{where}: found data_offsets {offsets!r:.80}, expected a begin and an end within {size}")
    begin, end = offsets
    expected = prod(shape) * ITEM_BYTES[dtype]
    if end - begin != expected:
        raise BadModelFile(f"{where}: found {end - begin} bytes, expected {expected} ({dtype} {shape})")
    return begin, end, dtype, tuple(shape)


def _are_lengths(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and 0 <= item < 1 << 62 for item in value)


def _check_no_holes(spans: list[tuple[int, int]], size: int, where: str) -> None:
    at = 0
    for begin, end in sorted(spans):
        if begin != at:
            raise BadModelFile(f"{where}: found a tensor at offset {begin} of the data, expected one at {at}")
        at = end
    if at != size:
        raise BadModelFile(f"{where}: found {size} bytes of data, expected {at} (the end of the last tensor)")
