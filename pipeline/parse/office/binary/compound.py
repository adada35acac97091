"""OLE compound files written anew ([MS-CFB]), for what is to be read by itself: sound, and as small as it can be.

Sectors of 4,096 bytes, so that the header can list all that a table of sectors needs.
"""

import struct

from pipeline.errors import DocumentError, Failure

_SECTOR, _SMALL, _CUTOFF = 4096, 64, 4096
_END, _FREE, _TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_IN_HEADER, _NUMBERS = 109, _SECTOR // 4
_HEADER = struct.Struct("<8s16xHHHHH6x9I109I3584x")
_ENTRY = struct.Struct("<64sHBBIII36xIQ")
_STORAGE, _STREAM, _ROOT, _BLACK = 1, 2, 5, 1
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
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 4, 0xFFFE, 12, 6, -(-128 * len(entries) // _SECTOR), count,
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
