"""Arrays made once from a model file and mapped by every process: one file beside the compiled kernels.

    "CLOISTER" | u64 length of digest and header | digest | header, JSON | arrays

The header has the key and names each array, its type, its count and its place, a multiple of 256 bytes. The digest is
sha256 of the header and of the checksums (`checksum`) of each 8 MiB of the arrays: all bytes are looked at in
each process before any is used, at the speed of memory. It finds damage; who may write into the folder could write
another digest as well. A file that is not what it says is made anew. Where none can be kept the arrays live in memory,
and `stored` says so. Lengths and order of the arrays are not checked against the network: the key has a digest of the
code that makes and reads them.
"""

import contextlib
import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.compiling import weights_folder
from engine.cpu import threads
from engine.simd import I32, LANES, load_i32, splat_i32, store_i32
from engine.simd.compiled import entry

# Not against who wants to deceive, who could write the checksum as well. 64 lanes, each an int32: lane l begins with 1
# and becomes `lane * FACTOR + word` with the words l, l + 64, l + 128 … in order, modulo 2^32. FACTOR is odd, so one
# wrong word is always seen; a wrong sector of a disk, or two that changed places, falls into all lanes.


FACTOR = 0x2C1B3C6D
LINE = 4 * LANES
"""Words that go into the lanes at once."""


@entry
def checksum(words: I32, start: int, end: int, out: I32) -> None:
    """The lanes of words[start:end], a multiple of LINE, in out[:LINE]."""
    factor, first = splat_i32(np.int32(FACTOR)), splat_i32(np.int32(1))
    a, b, c, d = first, first, first, first
    for at in range(start, end, LINE):
        a = a * factor + load_i32(words, at)
        b = b * factor + load_i32(words, at + LANES)
        c = c * factor + load_i32(words, at + 2 * LANES)
        d = d * factor + load_i32(words, at + 3 * LANES)
    store_i32(out, 0, a)
    store_i32(out, LANES, b)
    store_i32(out, 2 * LANES, c)
    store_i32(out, 3 * LANES, d)


Arrays = dict[str, NDArray[Any]]
Keep = Callable[[Callable[[], Arrays]], Arrays]
_MAGIC, _LINE = b"CLOISTER", 4 * LINE
_HEX = 64  # bytes of the digest
_SPAN = 8 << 20  # bytes that have a checksum
_TYPES = {"int8", "float32"}
_DAY = 86_400  # seconds


def stored(model: str, version: str, make: Callable[[], Arrays]) -> tuple[Arrays, bool]:
    """The arrays of a model, read-only, from their file or made and kept in it; and whether they are kept.

    `model` is the sha256 of its file, `version` all else that decides on the arrays' bytes.
    """
    key = f"{model}-{version}"
    folder = weights_folder()
    if folder is None:
        return read_only(make()), False
    path = folder / f"{key}.weights"
    if (found := _read(path, key)) is not None:
        return found, True
    arrays = make()
    try:
        _write(path, key, arrays)
        _remove_old(path, model)
    except OSError:
        return read_only(arrays), False
    del arrays  # made and mapped they would be twice in memory
    found = _read(path, key)
    return (found, True) if found is not None else (read_only(make()), False)


def read_only(arrays: Arrays) -> Arrays:
    """Makes arrays read-only, and returns them. Kernels are compiled for such, and once more for any others."""
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def _write(path: Path, key: str, arrays: Arrays) -> None:
    """Whole or not at all; the bytes are on the disk before the name is."""
    entries, at = {}, 0
    for name, array in arrays.items():
        entries[name] = {"type": array.dtype.name, "count": array.size, "at": at}
        at += -(-array.nbytes // _LINE) * _LINE
    header = json.dumps({"key": key, "size": at, "arrays": entries}).encode()
    header += b" " * (-(len(header) + 16 + _HEX) % _LINE)
    with tempfile.NamedTemporaryFile("w+b", dir=path.parent, suffix=".part", delete=False) as file:
        try:
            file.write(_MAGIC + (_HEX + len(header)).to_bytes(8, "little") + b"0" * _HEX + header)
            for part in _parts(arrays):
                file.write(part)
            file.flush()
            written = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            file.seek(16)
            file.write(_digest(header, written, 16 + _HEX + len(header), drop=True))
            file.flush()
            os.fsync(file.fileno())
            # what is written while memory is full lies in it in small pieces: it is read again, in large ones
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _digest(header: bytes, mapping: mmap.mmap, start: int, *, drop: bool = False) -> bytes:
    """The digest, in hexadecimal, of a header and of a mapping from `start` on, a multiple of _LINE bytes.

    With `drop` it stays on the disk alone: beside the arrays that were written it would be in memory a second time.
    """
    words, step = np.frombuffer(mapping, np.uint8)[start:].view(np.int32), _SPAN // 4
    starts = range(0, words.size, step)
    sums = np.zeros((len(starts), LINE), np.int32)

    def sum_up(number: int) -> None:
        end = min(starts[number] + step, words.size)
        checksum(words, starts[number], end, sums[number])
        if drop:
            page = (start + 4 * starts[number]) // mmap.PAGESIZE * mmap.PAGESIZE
            mapping.madvise(mmap.MADV_DONTNEED, page, start + 4 * end - page)

    with ThreadPoolExecutor(threads()) as pool:
        list(pool.map(sum_up, range(len(starts))))
    return hashlib.sha256(header + sums.tobytes()).hexdigest().encode()


def _remove_old(path: Path, model: str) -> None:
    """Remove what killed processes left, and other versions of the model; nothing that was written within the day
    before `path`, for it may be in use by other code beside ours."""
    now = path.stat().st_mtime
    for old in (*path.parent.glob("*.part"), *path.parent.glob(f"{model}-*.weights")):
        with contextlib.suppress(OSError):
            if now - old.stat().st_mtime > _DAY:
                old.unlink()


def _parts(arrays: Arrays) -> Any:
    for array in arrays.values():
        yield array.data.cast("B") if array.size else b""
        yield bytes(-array.nbytes % _LINE)


def _read(path: Path, key: str) -> Arrays | None:
    """The arrays of a file, mapped; None if there is no such file, or it is not the one of this key, whole."""
    try:
        with path.open("rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    except (OSError, ValueError):
        return None
    with contextlib.suppress(OSError):  # a kernel without huge pages
        mapping.madvise(mmap.MADV_HUGEPAGE)
    try:
        start, whole = 16 + int.from_bytes(mapping[8:16], "little"), np.frombuffer(mapping, np.uint8)
        if mapping[:8] != _MAGIC or start % _LINE or whole.size % _LINE or not 16 + _HEX < start <= whole.size:
            return None
        if mapping[16 : 16 + _HEX] != _digest(mapping[16 + _HEX : start], mapping, start):
            return None
        header, data = json.loads(mapping[16 + _HEX : start]), whole[start:]
        if header["key"] != key or data.size != header["size"]:
            return None
        return {name: _array(data, entry) for name, entry in header["arrays"].items()}
    except (ValueError, KeyError, TypeError):
        return None


def _array(data: NDArray[np.uint8], entry: dict[str, Any]) -> NDArray[Any]:
    if entry["type"] not in _TYPES:
        raise ValueError(entry["type"])
    dtype = np.dtype(entry["type"])
    return data[entry["at"] : entry["at"] + entry["count"] * dtype.itemsize].view(dtype)
