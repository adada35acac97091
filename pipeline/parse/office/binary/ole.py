"""OLE compound files ([MS-CFB]): the storages and streams of what Office wrote until 2003, and of Outlook messages.

Nothing that the file says of itself is believed: chains of sectors end where the file could hold no more of them, each
entry of the directory is read once, and all streams together give no more bytes than a file of this size can hold.
They are also written anew, for what is to be read by itself: sound, and as small as they can be, with sectors of 4,096
bytes, so that the header can list all that a table of sectors needs.
"""

import struct
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.errors import DocumentError, Failure

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of each file."""
_LAST = 0xFFFFFFFA  # sector numbers from here on are marks
_ENTRY = struct.Struct("<64sHBBIII36xIQ")  # name, its bytes, type, colour, left, right, child, first sector, size
_SECTOR_SIZES = {9: 512, 12: 4096}
_MINI_SIZES = {6: 64}
_STORAGE, _STREAM, _ROOT = 1, 2, 5
_IN_HEADER = 109  # sectors of the table of sectors that the header lists
_DEPTH = 100


@dataclass(frozen=True)
class Stream:
    """A file of a compound file: where it begins, and how long it says it is."""

    name: str
    sector: int
    size: int


@dataclass
class Storage:
    """A folder of a compound file. Streams and storages are found by their names in lower case."""

    name: str = ""
    storages: "dict[str, Storage]" = field(default_factory=dict)
    streams: dict[str, Stream] = field(default_factory=dict)


class CompoundFile:
    """A compound file in memory; every method raises DocumentError(CORRUPT) where it is damaged."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        try:
            shift, mini_shift = struct.unpack_from("<HH", data, 30)
            self._size, self._mini_size = _SECTOR_SIZES[shift], _MINI_SIZES[mini_shift]
            directory, self._cutoff, mini_table = struct.unpack_from("<I4xII", data, 48)
            self._sectors = max(0, -(-len(data) // self._size) - 1)
            self._left = 2 * len(data) + (1 << 20)
            self._table = self._read_table()
            self._mini_table = _numbers(b"".join(self._chain(mini_table)))
            self.root = self._read_directory(b"".join(self._chain(directory)))
        except (struct.error, KeyError) as error:
            raise _damaged("its header") from error
        self._mini: bytes | None = None

    def read(self, storage: Storage, name: str) -> bytes | None:
        """The bytes of a stream of a storage; None where there is none of this name."""
        entry = storage.streams.get(name.lower())
        if entry is None:
            return None
        start, size = entry.sector, entry.size
        self._left -= size
        if self._left < 0 or size > len(self._data):
            raise _damaged("the sizes of its streams")
        data = self._read_small(start, size) if size < self._cutoff else b"".join(self._chain(start, size))
        if len(data) < size:
            raise _damaged(f"its stream {name!r}")
        return data[:size]

    def need(self, storage: Storage, name: str) -> bytes:
        """The bytes of a stream that has to be there; raises DocumentError(CORRUPT) where it is missing."""
        data = self.read(storage, name)
        if data is None:
            raise _damaged(f"its stream {name!r}, which is missing")
        return data

    def _read_table(self) -> "array[int]":
        """The table that gives for each sector the next one of its chain."""
        needed = -(-4 * self._sectors // self._size)
        in_header = struct.unpack_from(f"<{_IN_HEADER}I", self._data, 76)
        pieces = [self._sector(one) for one in in_header if one < _LAST][:needed]
        sector, seen = struct.unpack_from("<I", self._data, 68)[0], set[int]()
        while sector < _LAST and sector not in seen and len(pieces) < needed:
            seen.add(sector)
            *listed, sector = _numbers(self._sector(sector)) or [_LAST]
            pieces += [self._sector(one) for one in listed if one < _LAST][: needed - len(pieces)]
        return _numbers(b"".join(pieces))

    def _sector(self, number: int) -> bytes:
        start = (number + 1) * self._size
        return self._data[start : start + self._size]

    def _chain(self, sector: int, size: int | None = None) -> Iterator[bytes]:
        """The sectors of a chain, as many as `size` bytes need; a chain that comes back to itself is damage."""
        room = self._sectors if size is None else min(self._sectors, -(-size // self._size))
        while sector < _LAST:
            if room == 0:
                if size is None:
                    raise _damaged("a chain of its sectors, which has no end")
                return
            room -= 1
            yield self._sector(sector)
            if sector >= len(self._table):
                return
            sector = self._table[sector]

    def _read_small(self, sector: int, size: int) -> bytes:
        """A stream below the cutoff: its sectors are small ones inside the stream of the root."""
        if self._mini is None:
            self._mini = b"".join(self._chain(self._root_sector))
        pieces: list[bytes] = []
        while sector < _LAST and len(pieces) * self._mini_size < size:
            pieces.append(self._mini[sector * self._mini_size : (sector + 1) * self._mini_size])
            if sector >= len(self._mini_table):
                break
            sector = self._mini_table[sector]
        return b"".join(pieces)

    def _read_directory(self, data: bytes) -> Storage:
        entries = [_ENTRY.unpack_from(data, at) for at in range(0, len(data) - len(data) % 128, 128)]
        if not entries or entries[0][2] != _ROOT:
            raise _damaged("its directory")
        self._root_sector = entries[0][7]
        root, seen = Storage(), {0}
        waiting = [(root, entries[0][6], 0)]  # a storage, one of its entries, how deep
        while waiting:
            storage, number, depth = waiting.pop()
            if number >= len(entries) or number in seen:
                continue
            seen.add(number)
            raw, length, kind, _, left, right, child, start, size = entries[number]
            name = raw[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
            waiting += [(storage, right, depth), (storage, left, depth)]
            if kind == _STREAM:
                size = size if self._size > 512 else size & 0xFFFFFFFF  # the upper half may hold anything there
                storage.streams.setdefault(name.lower(), Stream(name, start, size))
            elif kind == _STORAGE and depth < _DEPTH:
                inner = storage.storages.setdefault(name.lower(), Storage(name))
                waiting.append((inner, child, depth + 1))
        return root


def _numbers(data: bytes) -> "array[int]":
    numbers = array("I", data[: len(data) - len(data) % 4])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _damaged(what: str) -> DocumentError:
    return DocumentError(Failure.CORRUPT, f"an OLE compound file (Office 97-2003) with damage to {what}")


_SECTOR, _SMALL, _CUTOFF = 4096, 64, 4096
_END, _FREE, _TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_NUMBERS = _SECTOR // 4
_HEADER = struct.Struct("<8s16xHHHHH6x9I109I3584x")
_BLACK = 1
Tree = dict[str, "bytes | Tree"]


def format_compound(tree: Tree) -> bytes:
    """A file of these streams, and of storages where the value is a tree again; raises DocumentError(TOO_LARGE)."""
    return _Formatting().format(tree)


class _Formatting:
    """A file as it grows: sectors with the number of the next one of each, small ones beside them."""

    def __init__(self) -> None:
        self._sectors: list[bytes] = []
        self._next: list[int] = []
        self._small = bytearray()
        self._small_next: list[int] = []

    def format(self, tree: Tree) -> bytes:
        entries = [_ENTRY.pack(b"", 0, _ROOT, _BLACK, _FREE, _FREE, _FREE, _END, 0), *self._folder(tree, 1)]
        small = self._place(bytes(self._small))
        entries[0] = _entry("Root Entry", _ROOT, _FREE, 1 if tree else _FREE, small, len(self._small))
        table = self._place(struct.pack(f"<{len(self._small_next)}I", *self._small_next))
        directory = self._place(b"".join(entries))
        first, count = len(self._sectors), 1
        while first + count > count * _NUMBERS:
            count += 1
        if count > _IN_HEADER:
            raise DocumentError(Failure.TOO_LARGE, f"a document inside it has {first * _SECTOR:,} bytes")
        chain = [*self._next, *[_TABLE] * count]
        chain += [_FREE] * (count * _NUMBERS - len(chain))
        header = _HEADER.pack(
            OLE, 0x3E, 4, 0xFFFE, 12, 6, -(-128 * len(entries) // _SECTOR), count,
            directory, 0, _CUTOFF, table, -(-4 * len(self._small_next) // _SECTOR), _END, 0, first,
            *range(first + 1, first + count), *[_FREE] * (_IN_HEADER - count),
        )  # fmt: skip
        return b"".join([header, *self._sectors, struct.pack(f"<{len(chain)}I", *chain)])

    def _folder(self, tree: Tree, number: int) -> list[bytes]:
        """The entries of a folder from `number` on, each the right neighbour of the one before, then what is inside."""
        own, inner = list[bytes](), list[bytes]()
        for place, (name, value) in enumerate(sorted(tree.items(), key=lambda one: (len(one[0]), one[0].upper()))):
            right = number + place + 1 if place + 1 < len(tree) else _FREE
            if isinstance(value, dict):
                child = number + len(tree) + len(inner) if value else _FREE
                own.append(_entry(name, _STORAGE, right, child, 0, 0))
                inner += self._folder(value, child)
            else:
                own.append(_entry(name, _STREAM, right, _FREE, self._stream(value), len(value)))
        return own + inner

    def _stream(self, data: bytes) -> int:
        if len(data) >= _CUTOFF or not data:
            return self._place(data)
        start, count = len(self._small_next), -(-len(data) // _SMALL)
        self._small += data.ljust(count * _SMALL, b"\0")
        self._small_next += [*range(start + 1, start + count), _END]
        return start

    def _place(self, data: bytes) -> int:
        """The first sector of a new chain."""
        start, count = len(self._sectors), -(-len(data) // _SECTOR)
        self._sectors += [data[at : at + _SECTOR].ljust(_SECTOR, b"\0") for at in range(0, len(data), _SECTOR)]
        self._next += [*range(start + 1, start + count), _END] if count else []
        return start if count else _END


def _entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
    raw = name.encode("utf-16-le", "replace")[:62] + b"\0\0"
    return _ENTRY.pack(raw, len(raw), kind, _BLACK, _FREE, right, child, start, size)
