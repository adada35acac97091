"""Reads a safetensors file that nobody vouches for.

Source of the format: the README of huggingface/safetensors: u64 length of the header, header (a JSON object: name ->
dtype, shape, data_offsets), then the tensors' bytes, little endian, without holes.
"""

import mmap
import struct
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.convert.folder import SourceFolder, parse_json
from engine.errors import BadModelFile, UnsupportedModel

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


def read(folder: SourceFolder, name: str) -> dict[str, SourceTensor]:
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
