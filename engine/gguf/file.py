"""The contents of a GGUF file that has been checked."""

import hashlib
import mmap
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadModelFile, EngineError, UnsupportedModel
from engine.gguf.types import NUMPY, GgmlType, ValueType

MetadataValue = bool | int | float | str | list[str] | NDArray[Any]
"""A string array is a list, an array of numbers or bools a read-only numpy array of the file's own type."""

_AT_A_TIME = 64 << 20  # bytes; between two parts a thread may have to wait for Python's lock

T = TypeVar("T", bool, int, float, str, list[str], NDArray[Any])


@dataclass(frozen=True, eq=False)
class Tensor:
    """One tensor: shape in numpy's order (rows, columns); `data` is the file's own bytes (uint8, flat, read-only)."""

    name: str
    type: GgmlType
    shape: tuple[int, ...]
    data: NDArray[np.uint8]


class Digest:
    """The sha256 of all bytes of a mapping, computed once."""

    def __init__(self, mapping: mmap.mmap) -> None:
        self._mapping = mapping
        self._found: Future[str] | None = None
        self._is_wanted = True

    @property
    def hexadecimal(self) -> str:
        """The digest as 64 hexadecimal digits."""
        if self._found is None:
            with self.ahead():
                pass
        assert self._found is not None
        return self._found.result()

    @contextmanager
    def ahead(self) -> Iterator[None]:
        """Computes it while something else is done; if that fails, no further. When this is over no thread looks at the
        mapping any more: someone may write into a file that was refused, and who reads bytes that are cut off a mapped
        file ends with it."""
        with ThreadPoolExecutor(1, "sha256") as pool:
            self._is_wanted = True
            self._found = pool.submit(self._compute)
            try:
                yield
            except BaseException:
                self._is_wanted, self._found = False, None
                raise

    def _compute(self) -> str:
        """Computes the digest. The pages that were read leave the process's memory: weights are executed from another
        file."""
        digest = hashlib.sha256()
        with memoryview(self._mapping) as view:
            for start in range(0, len(view), _AT_A_TIME):
                if not self._is_wanted:
                    raise CancelledError
                part = view[start : start + _AT_A_TIME]
                digest.update(part)
                self._mapping.madvise(mmap.MADV_DONTNEED, start, len(part))
        return digest.hexdigest()


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
