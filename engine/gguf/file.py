"""What a GGUF file holds, once it has been checked."""

import hashlib
import mmap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadModelFile
from engine.gguf.types import NUMPY, GgmlType, ValueType

MetadataValue = bool | int | float | str | list[str] | NDArray[Any]
"""A string array is a list, an array of numbers or bools a read-only numpy array of the file's own type."""

T = TypeVar("T", bool, int, float, str, list[str], NDArray[Any])

_HASHED_AT_A_TIME = 16 << 20


@dataclass(frozen=True, eq=False)
class Tensor:
    """One tensor: shape in numpy's order (rows, columns); `data` is the file's own bytes (uint8, flat, read-only)."""

    name: str
    type: GgmlType
    shape: tuple[int, ...]
    data: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class GgufFile:
    """A checked and mapped file; metadata and tensors in the order of the file.

    The mapping is of the file that was opened, even if another takes its name. Bytes that someone changes in place
    afterwards do change here: a model file belongs to who may run the model.
    """

    path: Path
    version: int
    alignment: int
    data_offset: int
    metadata: dict[str, MetadataValue]
    value_types: dict[str, ValueType]
    tensors: dict[str, Tensor]
    mapping: mmap.mmap

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return len(self.mapping)

    @cached_property
    def sha256(self) -> str:
        """Of the whole file's bytes, in hexadecimal; computed when first asked for.

        What was read does not stay in the memory of the process: weights are executed from another file.
        """
        digest = hashlib.sha256()
        with memoryview(self.mapping) as view:
            for start in range(0, len(view), _HASHED_AT_A_TIME):
                part = view[start : start + _HASHED_AT_A_TIME]
                digest.update(part)
                self.mapping.madvise(mmap.MADV_DONTNEED, start, len(part))
        return digest.hexdigest()

    def release(self) -> None:
        """Leave the memory of the process to others: what is read again comes from the system's cache, or the file."""
        self.mapping.madvise(mmap.MADV_DONTNEED)

    def typed(self, key: str) -> MetadataValue | np.generic:
        """The metadata value of `key` as it can be written again: a number as a numpy value of the file's own type."""
        kind, value = self.value_types[key], self.metadata[key]
        return np.dtype(NUMPY[kind]).type(value) if kind in NUMPY else value

    def require(self, key: str, kind: type[T]) -> T:
        """The metadata value of `key`, which must be there and of this kind. Raises BadModelFile."""
        if key not in self.metadata:
            raise BadModelFile(f"{self.path}: found no metadata key {key}, expected one ({kind.__name__})")
        value = self.metadata[key]
        if type(value) is not kind:
            found = f"{type(value).__name__} {value!r:.60}"
            raise BadModelFile(f"{self.path}: {key}: found {found}, expected {kind.__name__}")
        return value
