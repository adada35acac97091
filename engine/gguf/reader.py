"""Reads a GGUF file that nobody vouches for.

Source of the format: ggml's `docs/gguf.md`. Versions 2 and 3, little endian. Nothing is allocated by a number from the
file before that number was compared with a cap and with the bytes that are left; tensors stay in the mapping.
"""

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np

from engine.errors import BadModelFile
from engine.gguf.cursor import Cursor
from engine.gguf.file import Digest, GgufFile, MetadataValue, Tensor
from engine.gguf.types import BLOCKS, DEFAULT_ALIGNMENT, MAGIC, NUMPY, VERSIONS, GgmlType, ValueType

MAX_KEYS = 65_536
MAX_KEY_BYTES = 65_535
MAX_TENSORS = 65_536
MAX_NAME_BYTES = 127
MAX_DIMENSIONS = 4
MAX_ELEMENTS = 1 << 62
MAX_ALIGNMENT = 65_536
MAX_STRINGS = 4 << 20
"""Strings in one array; the largest vocabularies have some 300,000 tokens and 500,000 merges."""

_HEADER_BYTES = 24
_LEAST_KEY = 8 + 1 + 4 + 1
_LEAST_TENSOR = 8 + 1 + 4 + 8 + 4 + 8


def read(path: str | os.PathLike[str]) -> GgufFile:
    """Map and check a GGUF file. Raises BadModelFile, which says file, offset, what was found and what was expected."""
    mapping = _map(Path(path))
    return _read(Path(path), mapping, Digest(mapping))


@contextmanager
def hashed(path: str | os.PathLike[str]) -> Iterator[GgufFile]:
    """`read`, and in this context a thread computes the file's sha256, so that it is there when it is asked for."""
    mapping = _map(Path(path))
    digest = Digest(mapping)
    with digest.ahead():
        yield _read(Path(path), mapping, digest)


def _read(path: Path, mapping: mmap.mmap, digest: Digest) -> GgufFile:
    cursor = Cursor(path, mapping)
    version = _read_version(cursor)
    tensor_count = cursor.count("tensors", MAX_TENSORS, _LEAST_TENSOR)
    key_count = cursor.count("metadata keys", MAX_KEYS, _LEAST_KEY)
    metadata, value_types = _read_metadata(cursor, key_count)
    alignment = _alignment(cursor, metadata)
    infos = _read_tensor_infos(cursor, tensor_count)
    data_offset = -(-cursor.at // alignment) * alignment
    tensors = _place(cursor, infos, alignment, data_offset)
    found = (cursor.path, version, alignment, data_offset, metadata, value_types, tensors)
    return GgufFile(*found, mapping=mapping, digest=digest)


def _map(path: Path) -> mmap.mmap:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise BadModelFile(f"{path}: cannot be opened: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadModelFile(f"{path}: found {stat.filemode(status.st_mode)}, expected a regular file")
        if status.st_size < _HEADER_BYTES:
            raise BadModelFile(f"{path}: found {status.st_size} bytes, expected at least {_HEADER_BYTES}")
        return mmap.mmap(descriptor, status.st_size, access=mmap.ACCESS_READ)
    except OSError as error:
        raise BadModelFile(f"{path}: cannot be mapped: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _read_version(cursor: Cursor) -> int:
    magic = cursor.buffer[:4]
    if magic != MAGIC:
        cursor.fail(0, repr(magic), f"{MAGIC!r}, the start of a GGUF file")
    cursor.skip(4, "magic")
    version = cursor.u32("version")
    if version not in VERSIONS:
        big_endian = version.bit_length() > 16
        found = "a big-endian file" if big_endian else f"version {version}"
        cursor.fail(4, found, "version 2 or 3, little endian")
    return version


def _read_metadata(cursor: Cursor, count: int) -> tuple[dict[str, MetadataValue], dict[str, ValueType]]:
    metadata: dict[str, MetadataValue] = {}
    value_types: dict[str, ValueType] = {}
    for _ in range(count):
        start = cursor.at
        key = cursor.string("a metadata key", MAX_KEY_BYTES)
        if not key or key in metadata:
            cursor.fail(start, f"the key {key!r}, empty or not for the first time", "different keys")
        value_types[key] = _value_type(cursor, key)
        metadata[key] = _read_value(cursor, key, value_types[key])
    return metadata, value_types


def _read_value(cursor: Cursor, key: str, kind: ValueType) -> MetadataValue:
    if kind is ValueType.STRING:
        return cursor.string(key)
    if kind is ValueType.ARRAY:
        return _read_array(cursor, key)
    if kind is ValueType.BOOL:
        start = cursor.skip(1, key)
        if cursor.buffer[start] > 1:
            cursor.fail(start, f"byte {cursor.buffer[start]} in {key}", "0 or 1 (a bool)")
        return cursor.buffer[start] == 1
    code = np.dtype(NUMPY[kind])
    value: int | float = np.frombuffer(cursor.buffer, code, 1, cursor.skip(code.itemsize, key))[0].item()
    return value


def _value_type(cursor: Cursor, key: str) -> ValueType:
    start = cursor.at
    number = cursor.u32(f"the type of {key}")
    if number > max(ValueType):
        cursor.fail(start, f"value type {number} for {key}", f"0 to {max(ValueType)}")
    return ValueType(number)


def _read_array(cursor: Cursor, key: str) -> MetadataValue:
    start = cursor.at
    kind = _value_type(cursor, key)
    if kind is ValueType.ARRAY:
        cursor.fail(start, f"an array of arrays in {key}", "an array of numbers, bools or strings")
    if kind is ValueType.STRING:
        return cursor.strings(cursor.count(f"strings of {key}", MAX_STRINGS, 8), key)
    code = np.dtype(NUMPY[kind])
    count = cursor.count(f"items of {key}", cursor.size, code.itemsize)
    start = cursor.skip(count * code.itemsize, key)
    if kind is ValueType.BOOL and (np.frombuffer(cursor.buffer, np.uint8, count, start) > 1).any():
        cursor.fail(start, f"bytes above 1 in {key}", "0 or 1 (bools)")
    return np.frombuffer(cursor.buffer, code, count, start)


def _alignment(cursor: Cursor, metadata: dict[str, MetadataValue]) -> int:
    value = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if type(value) is not int or not 8 <= value <= MAX_ALIGNMENT or value & (value - 1):
        raise BadModelFile(
            f"{cursor.path}: general.alignment: found {value!r:.60}, expected a power of two from 8 to {MAX_ALIGNMENT}"
        )
    return value


def _read_tensor_infos(cursor: Cursor, count: int) -> dict[str, tuple[GgmlType, tuple[int, ...], int, int]]:
    """name -> type, shape in numpy's order, offset from the start of the data, where the entry lies in the file."""
    infos: dict[str, tuple[GgmlType, tuple[int, ...], int, int]] = {}
    for _ in range(count):
        start = cursor.at
        name = cursor.string("a tensor's name", MAX_NAME_BYTES)
        if not name or name in infos:
            cursor.fail(start, f"the tensor {name!r}, empty or not for the first time", "different names")
        shape = _read_shape(cursor, name)
        kind = _read_tensor_type(cursor, name, shape)
        infos[name] = kind, shape, cursor.u64(f"the offset of {name}"), start
    return infos


def _read_shape(cursor: Cursor, name: str) -> tuple[int, ...]:
    start = cursor.at
    dimensions = cursor.u32(f"the number of dimensions of {name}")
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        cursor.fail(start, f"{dimensions} dimensions of {name}", f"1 to {MAX_DIMENSIONS}")
    elements, shape = 1, []
    for _ in range(dimensions):
        start = cursor.at
        length = cursor.u64(f"a dimension of {name}")
        elements *= length
        if not 1 <= elements <= MAX_ELEMENTS:
            cursor.fail(start, f"dimension {length} of {name}", f"1 or more, in all at most {MAX_ELEMENTS} elements")
        shape.append(length)
    return tuple(reversed(shape))


def _read_tensor_type(cursor: Cursor, name: str, shape: tuple[int, ...]) -> GgmlType:
    start = cursor.at
    number = cursor.u32(f"the type of {name}")
    try:
        kind = GgmlType(number)
    except ValueError:
        cursor.fail(start, f"tensor type {number} for {name}", "a type that ggml defines")
    if shape[-1] % BLOCKS[kind].values:
        cursor.fail(start, f"{shape[-1]} columns of {name}", f"a multiple of {BLOCKS[kind].values} (type {kind.name})")
    return kind


def _place(
    cursor: Cursor, infos: dict[str, tuple[GgmlType, tuple[int, ...], int, int]], alignment: int, data_offset: int
) -> dict[str, Tensor]:
    """The tensors over their bytes, after it is sure that all lie in the file, aligned, and none over another."""
    tensors, spans = {}, []
    for name, (kind, shape, offset, entry) in infos.items():
        block = BLOCKS[kind]
        length = prod(shape) // block.values * block.bytes
        start, end = data_offset + offset, data_offset + offset + length
        if offset % alignment:
            cursor.fail(entry, f"offset {offset} of tensor {name}", f"a multiple of the alignment {alignment}")
        if end > cursor.size:
            within = f"an end within {cursor.size}: was the file copied whole?"
            cursor.fail(entry, f"tensor {name} at bytes {start} to {end}", within)
        spans.append((start, end, name, entry))
        tensors[name] = Tensor(name, kind, shape, np.frombuffer(cursor.buffer, np.uint8, length, start))
    spans.sort()
    for (_, end, before, _), (start, _, name, entry) in pairwise(spans):
        if start < end:
            cursor.fail(entry, f"tensor {name} at byte {start}, inside tensor {before}", f"a start from byte {end} on")
    return tensors
