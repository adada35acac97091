"""Arrays made once from a model file and mapped by every process: one file beside the compiled kernels.

    "CLOISTER" | u64 length of the header | header, JSON | arrays, each at a multiple of 64 bytes

The header names each array, its type, its count and its place, and has the sha256 of everything after it. A file that
is not what it says is made anew. Where none can be kept the arrays live in memory, and `Store.kept` says so.
"""

import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.compiling import weights_folder

Arrays = dict[str, NDArray[Any]]
Keep = Callable[[Callable[[], Arrays]], Arrays]
_MAGIC, _LINE = b"CLOISTER", 64
_TYPES = {"int8", "float32"}


def stored(key: str, make: Callable[[], Arrays]) -> tuple[Arrays, bool]:
    """The arrays of this key, read-only, from their file or made and kept in it; and whether they are kept."""
    folder = weights_folder()
    if folder is None:
        return _read_only(make()), False
    path = folder / f"{key}.weights"
    if (found := _read(path)) is not None:
        return found, True
    arrays = make()
    try:
        _write(path, arrays)
    except OSError:
        return _read_only(arrays), False
    found = _read(path)
    return (found, True) if found is not None else (_read_only(arrays), False)


def _read_only(arrays: Arrays) -> Arrays:
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def _write(path: Path, arrays: Arrays) -> None:
    """Whole or not at all; the bytes are on the disk before the name is."""
    entries, at = {}, 0
    for name, array in arrays.items():
        entries[name] = {"type": array.dtype.name, "count": array.size, "at": at}
        at += -(-array.nbytes // _LINE) * _LINE
    digest = hashlib.sha256()
    for part in _parts(arrays):
        digest.update(part)
    header = json.dumps({"sha256": digest.hexdigest(), "size": at, "arrays": entries}).encode()
    header += b" " * (-(len(header) + 16) % _LINE)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        try:
            file.write(_MAGIC + len(header).to_bytes(8, "little") + header)
            for part in _parts(arrays):
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _parts(arrays: Arrays) -> Any:
    for array in arrays.values():
        yield array.data.cast("B") if array.size else b""
        yield bytes(-array.nbytes % _LINE)


def _read(path: Path) -> Arrays | None:
    """The arrays of a file, mapped; None if there is no such file, or it is not what it says."""
    try:
        with path.open("rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    except (OSError, ValueError):
        return None
    try:
        start = 16 + int.from_bytes(mapping[8:16], "little")
        header = json.loads(mapping[16:start])
        data = np.frombuffer(mapping, np.uint8)[start:]
        digest = hashlib.sha256(data.data).hexdigest()
        if mapping[:8] != _MAGIC or data.size != header["size"] or digest != header["sha256"]:
            return None
        return {name: _array(data, entry) for name, entry in header["arrays"].items()}
    except (ValueError, KeyError, TypeError):
        return None


def _array(data: NDArray[np.uint8], entry: dict[str, Any]) -> NDArray[Any]:
    if entry["type"] not in _TYPES:
        raise ValueError(entry["type"])
    dtype = np.dtype(entry["type"])
    return data[entry["at"] : entry["at"] + entry["count"] * dtype.itemsize].view(dtype)
