"""Writes a GGUF file, version 3: the same metadata and tensors give the same bytes.

The file appears under its name whole or not at all: it is written beside it, synced, and renamed.
"""

import os
import struct
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.gguf.file import MetadataValue
from engine.gguf.types import BLOCKS, DEFAULT_ALIGNMENT, MAGIC, NUMPY, GgmlType, ValueType

_KINDS = {np.dtype(code): kind for kind, code in NUMPY.items()}


@dataclass(frozen=True)
class TensorSource:
    """A tensor to be written; `chunks()` yields its bytes in order (uint8), so that no whole tensor is in memory."""

    name: str
    type: GgmlType
    shape: tuple[int, ...]
    chunks: Callable[[], Iterable[NDArray[np.uint8]]]

    @property
    def size(self) -> int:
        """Bytes in the file, without padding."""
        block = BLOCKS[self.type]
        return prod(self.shape) // block.values * block.bytes


def write(
    path: str | os.PathLike[str],
    metadata: Mapping[str, MetadataValue | np.generic],
    tensors: Sequence[TensorSource],
    progress: Callable[[str], None] | None = None,
) -> None:
    """Write the file at `path` atomically. A Python int becomes UINT32, a float FLOAT32, a numpy value its own type.

    Raises EngineError when the file cannot be written (disk full, folder missing); nothing is left behind then, nor
    when a tensor's chunks raise.
    """
    final = Path(path)
    partial = final.with_name(f".{final.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        with partial.open("wb") as file:
            _write_header(file, metadata, tensors)
            for number, tensor in enumerate(tensors, 1):
                _write_tensor(file, tensor)
                if progress:
                    progress(f"tensor {number} of {len(tensors)}: {tensor.name} {tensor.type.name}")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(final)
        _sync_folder(final.parent)
    except OSError as error:
        raise EngineError(f"{final}: cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def _write_header(
    file: BinaryIO, metadata: Mapping[str, MetadataValue | np.generic], tensors: Sequence[TensorSource]
) -> None:
    if metadata.get("general.alignment", DEFAULT_ALIGNMENT) != DEFAULT_ALIGNMENT:
        raise ValueError(f"general.alignment: tensors are aligned to {DEFAULT_ALIGNMENT} bytes here")
    file.write(MAGIC + struct.pack("<IQQ", 3, len(tensors), len(metadata)))
    for key, value in metadata.items():
        file.write(_string(key) + _format_value(key, value))
    offset = 0
    for tensor in tensors:
        shape = tensor.shape[::-1]
        file.write(_string(tensor.name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, tensor.type, offset))
        offset += tensor.size + -tensor.size % DEFAULT_ALIGNMENT
    _pad(file)


def _write_tensor(file: BinaryIO, tensor: TensorSource) -> None:
    start = file.tell()
    for chunk in tensor.chunks():
        file.write(np.ascontiguousarray(chunk).data)
    written = file.tell() - start
    if written != tensor.size:
        raise ValueError(f"tensor {tensor.name}: chunks of {written} bytes, {tensor.size} by shape and type")
    _pad(file)


def _pad(file: BinaryIO) -> None:
    file.write(b"\0" * (-file.tell() % DEFAULT_ALIGNMENT))


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _format_value(key: str, value: MetadataValue | np.generic) -> bytes:
    """Type number and value, as `docs/gguf.md` has it."""
    if isinstance(value, str):
        return struct.pack("<I", ValueType.STRING) + _string(value)
    if isinstance(value, list):
        items = b"".join(map(_string, value))
        return struct.pack("<IIQ", ValueType.ARRAY, ValueType.STRING, len(value)) + items
    if isinstance(value, np.ndarray):
        return struct.pack("<IIQ", ValueType.ARRAY, _KINDS[value.dtype], len(value)) + value.tobytes()
    scalar = _as_numpy(key, value)
    return struct.pack("<I", _KINDS[scalar.dtype]) + scalar.tobytes()


def _as_numpy(key: str, value: bool | int | float | np.generic) -> np.generic:
    if isinstance(value, np.generic):
        return value
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, float):
        return np.float32(value)
    if not 0 <= value < 1 << 32:
        raise ValueError(f"metadata {key}: {value} does not fit UINT32; give a numpy integer")
    return np.uint32(value)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
