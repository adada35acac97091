"""The contents of a GGUF file that has been checked."""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadModelFile, EngineError, UnsupportedModel
from engine.gguf.digest import Digest
from engine.gguf.types import NUMPY, GgmlType, ValueType

MetadataValue = bool | int | float | str | list[str] | NDArray[Any]
"""A string array is a list, an array of numbers or bools a read-only numpy array of the file's own type."""

T = TypeVar("T", bool, int, float, str, list[str], NDArray[Any])


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
    digest: Digest

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return len(self.mapping)

    @property
    def sha256(self) -> str:
        """The sha256 of the whole file, in hexadecimal; computed when first asked for, if not ahead."""
        return self.digest.hexadecimal

    def release(self) -> None:
        """Leave the memory of the process to others: what is read again comes from the system's cache, or the file."""
        self.mapping.madvise(mmap.MADV_DONTNEED)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Messages of errors raised inside, about keys of this file, begin with its path."""
        try:
            yield
        except EngineError as error:
            if f"{error}".startswith(f"{self.path}: "):
                raise
            raise type(error)(f"{self.path}: {error}") from error

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


def check_whole(file: GgufFile) -> None:
    """Raise UnsupportedModel for a file that is not a whole model: one part of several, an adapter, a projector.

    Source: ggml's `docs/gguf.md` (general.type) and llama.cpp's `llama-model-loader.cpp` (split.count).
    """
    kind, parts = file.metadata.get("general.type", "model"), file.metadata.get("split.count", 1)
    if not isinstance(kind, str) or kind != "model":
        raise UnsupportedModel(f"{file.path}: general.type: found {kind!r:.60}, expected 'model'")
    if type(parts) is not int or parts not in (0, 1):
        remedy = "the file is part of a model; join its parts with `llama-gguf-split --merge`"
        raise UnsupportedModel(f"{file.path}: split.count: found {parts!r:.60}, expected 1: {remedy}")
