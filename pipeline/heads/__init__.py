"""The files of heads that were learned from examples, in models/ and in the package.

A file is a line of text, a line of facts as canonical JSON, then arrays, little-endian, in a row. The facts name the
arrays in their order, with type and shape, so that the file has one length only.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import audit
from pipeline.errors import ModelRefusedError

Array = NDArray[Any]
_MAGIC: Final = b"cloister head 1\n"
_TYPES: Final[dict[str, np.dtype[Any]]] = {
    "float32": np.dtype("<f4"), "float16": np.dtype("<f2"), "int32": np.dtype("<i4"), "uint8": np.dtype("u1"),
}  # fmt: skip
_MOST_BYTES: Final = 1 << 30


@dataclass(frozen=True)
class HeadFile:
    """The facts of a head and its arrays by name; `sha256`: of the bytes that they were read from, empty for a head
    that was not read."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, Array]
    sha256: str = ""

    def to_bytes(self) -> bytes:
        """The file; the same head has the same bytes."""
        listed = [{"name": name, "type": str(one.dtype), "shape": list(one.shape)} for name, one in self.arrays.items()]
        line = audit.canonical({**self.facts, "arrays": listed})
        parts = (one.astype(_TYPES[str(one.dtype)]).tobytes() for one in self.arrays.values())
        return b"".join([_MAGIC, line, b"\n", *parts])


def write_head(path: Path, head: HeadFile) -> None:
    """Put the file in place, whole or not at all. OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            file.write(head.to_bytes())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_head(path: Path, pinned: str | None = None) -> HeadFile:
    """Read a head's file, once, so that what is used is what was hashed. ModelRefusedError if it is not there, cannot
    be read, has another sha256 than is pinned, or is none."""
    data = _bytes_of(path)
    sha256 = hashlib.sha256(data).hexdigest()
    if pinned not in (None, sha256):
        raise ModelRefusedError(
            f"head {path.stem}: {path} has sha256 {sha256}, but the job pins {pinned}; put the pinned file back, "
            "or pin the new one in the job after you have looked at it"
        )
    if not data.startswith(_MAGIC):
        raise _refused(path, f"it begins with {data[: len(_MAGIC)]!r}, expected {_MAGIC!r}")
    line, _, rest = data[len(_MAGIC) :].partition(b"\n")
    try:
        facts = audit.parse_canonical(line)
        return HeadFile(facts, _arrays(facts["arrays"], rest), sha256)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _refused(path, f"{error}") from error


def _bytes_of(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _refused(path, f"{path.stat().st_size:,} bytes, expected at most {_MOST_BYTES:,}")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ModelRefusedError(f"there is no file {path}; `cloister learn JOB --examples FILE` makes it") from error
    except OSError as error:
        told = f"{path} cannot be read: {error.strerror}; allow the user who runs cloister to read it"
        raise ModelRefusedError(told) from error


def _arrays(listed: list[dict[str, Any]], data: bytes) -> dict[str, Array]:
    arrays, at = dict[str, Array](), 0
    for one in listed:
        kind, shape = _TYPES[one["type"]], tuple(one["shape"])
        if any(not isinstance(size, int) or size < 0 for size in shape):
            raise ValueError(f"the array {one['name']} has the shape {shape}")
        size = kind.itemsize * int(np.prod(shape, dtype=object))
        if at + size > len(data):
            raise ValueError(f"the array {one['name']} ends beyond the file")
        array = np.frombuffer(data[at : at + size], kind).reshape(shape)
        if kind.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"the array {one['name']} has values that are no numbers")
        arrays[one["name"]], at = array, at + size
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes follow the last array")
    return arrays


def _refused(path: Path, what: str) -> ModelRefusedError:
    return ModelRefusedError(f"{path} is no head that can be used: {what}; learn it again with `cloister learn`")


BUILTIN: Final = Path(__file__).parent / "builtin"


def head_path(models: Path, name: str) -> Path:
    """The file of a head: that in models/, or, where there is none, that of the package."""
    own, packaged = models / f"{name}.head", BUILTIN / f"{name}.head"
    return packaged if packaged.is_file() and not own.is_file() else own


def head_files(models: Path) -> Iterator[Path]:
    """All heads, those of the workspace first."""
    yield from sorted(models.glob("*.head"))
    yield from sorted(BUILTIN.glob("*.head"))
