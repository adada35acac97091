"""The central directory of a ZIP archive (PKWARE APPNOTE 6.3.10, sections 4.3 to 4.6), read with bounds.

It alone says what is in the archive. Nothing in it is believed: places must lie in the file, members may not overlap
(one block of compressed bytes that many members share makes the better kind of bomb), and its entries are counted as
they come, not as the end record says.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding.decode import decode

_ENTRIES = 100_000  # of a directory, folders among them; more is an attack on its reader
_END, _END64, _LOCATOR, _ENTRY = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"PK\x01\x02"
_LOCAL_HEADER, SPANNED = b"PK\x03\x04", b"PK\x07\x08"
_COMMENT = 0xFFFF
_LOCAL = 30  # bytes of a local header before the name
_BIG, _MANY = 0xFFFFFFFF, 0xFFFF  # "see the ZIP64 fields"
_IN_UTF_8 = 0x800
_ENCRYPTED, _STRONGLY = 0x1, 0x2000
_FIELDS = struct.Struct("<4s4B4HL2L5H2L")
_UNIX = (3, 19)


@dataclass(frozen=True)
class Entry:
    """One member as the directory has it; `offset` is where its local header begins in the file."""

    raw: bytes
    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int
    mode: int  # as of stat(2), 0 where the archive is not from Unix

    @property
    def encrypted(self) -> bool:
        """Whether a password is needed for the member."""
        return bool(self.flags & _ENCRYPTED)

    @property
    def is_folder(self) -> bool:
        """Whether the entry stands for a folder."""
        return self.name.endswith(("/", "\\")) and not self.size


@dataclass(frozen=True)
class Directory:
    """The entries in their order, how many the end record says there are, and notes on the names of members."""

    entries: tuple[Entry, ...]
    declared: int
    notes: tuple[str, ...]


class _End(NamedTuple):
    files: int
    size: int
    offset: int
    at: int  # where the directory ends


def read_directory(data: bytes) -> Directory:
    """The directory of a ZIP archive. DocumentError: CORRUPT, BOMB, ENCRYPTED (the directory itself), UNSUPPORTED
    (one volume of several)."""
    try:
        end = _end(data)
        found = list(_entries(data, end))
    except (struct.error, IndexError) as error:
        raise _corrupt("its directory is cut") from error
    if not found and data.startswith(_LOCAL_HEADER):
        raise _corrupt("its directory is empty, but it is not")
    _refuse_overlaps(found)
    return _named(found, end.files)


def _corrupt(reason: str) -> DocumentError:
    return DocumentError(Failure.CORRUPT, f"a ZIP container (Office document or archive) that is damaged: {reason}")


def _end(data: bytes) -> _End:
    """The end record, the last one that fits, or the one of ZIP64 before it."""
    at = len(data)
    for _ in range(100):  # a comment may hold its signature
        at = data.rfind(_END, max(0, len(data) - _COMMENT - 22), max(0, at))
        if at < 0:
            break
        if len(data) < at + 22:
            continue
        disk, first, here, count, size, offset, comment = struct.unpack_from("<4H2LH", data, at + 4)
        if _MANY in (count, disk) or _BIG in (size, offset):
            return _end_64(data, at, _End(count, size, offset, at))
        if disk or first or here != count:
            if at + 22 + comment == len(data):
                raise _volume()
            continue
        if size <= at - offset and (not size or data.startswith(_ENTRY, at - size)):
            return _End(count, size, offset, at)
    if data.startswith(SPANNED):
        raise _volume()
    raise _corrupt("it has no central directory, so it was cut or its end was overwritten")


def _end_64(data: bytes, at: int, end: _End) -> _End:
    if at < 20 or not data.startswith(_LOCATOR, at - 20):
        return end
    first, place, disks = struct.unpack_from("<LQL", data, at - 16)
    if first or disks > 1:
        raise _volume()
    record = next((one for one in (place, at - 76) if 0 <= one < at and data.startswith(_END64, one)), None)
    if record is None:
        raise _corrupt("its ZIP64 end record is not where it should be")
    disk, first, here, count, size, offset = struct.unpack_from("<2L4Q", data, record + 16)
    if disk or first or here != count:
        raise _volume()
    return _End(count, size, offset, record)


def _volume() -> DocumentError:
    return DocumentError(Failure.UNSUPPORTED, "one volume of a ZIP archive in several; join them and drop the whole")


def _entries(data: bytes, end: _End) -> Iterator[Entry]:
    at = end.at - end.size
    before = at - end.offset  # bytes before the archive, as in one that unpacks itself
    if at < 0 or before < 0:
        raise _corrupt("its directory would lie outside of it")
    for number in range(_ENTRIES + 1):
        if at >= end.at or data.startswith(b"PK\x05\x05", at):  # a signature of the directory
            return
        if not data.startswith(_ENTRY, at):
            raise _corrupt(f"entry {number + 1} of its directory is none")
        entry, at = _entry(data, at, before)
        if entry.flags & _STRONGLY and entry.flags & _ENCRYPTED and not entry.raw.strip(b"\0 "):
            raise DocumentError(Failure.ENCRYPTED, "a ZIP archive whose directory has a password")
        yield entry
    raise DocumentError(Failure.BOMB, f"a ZIP archive whose directory has more than {_ENTRIES:,} entries")


def _entry(data: bytes, at: int, before: int) -> tuple[Entry, int]:
    (_, _, host, _, _, flags, method, _, _, crc, packed, size, name, extra, comment, disk, _, attributes, offset) = (
        _FIELDS.unpack_from(data, at)
    )
    begin = at + _FIELDS.size
    raw, fields = data[begin : begin + name], data[begin + name : begin + name + extra]
    if len(fields) < extra:
        raise _corrupt("its directory is cut")
    size, packed, offset, disk = _big(fields, size, packed, offset, disk)
    if disk:
        raise _volume()
    if offset + before + _LOCAL + packed > len(data):
        raise _corrupt("a member would lie outside of it")
    text = _unicode_path(fields, raw) if extra else None
    if text is None and (flags & _IN_UTF_8 or raw.isascii()):
        text = raw.decode("utf-8", "replace")
    mode = attributes >> 16 if host in _UNIX else 0
    entry = Entry(raw, text or "", flags, method, crc=crc, packed=packed, size=size, offset=offset + before, mode=mode)
    return entry, begin + name + extra + comment


def _extra(fields: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(fields):
        kind, length = struct.unpack_from("<2H", fields, at)
        yield kind, fields[at + 4 : at + 4 + length]
        at += 4 + length


def _big(fields: bytes, size: int, packed: int, offset: int, disk: int) -> tuple[int, int, int, int]:
    """The four numbers, from the ZIP64 field (4.5.3) where they do not fit into their own."""
    values = [size, packed, offset, disk]
    if not {size, packed, offset} & {_BIG} and disk != _MANY:
        return size, packed, offset, disk
    field = next((content for kind, content in _extra(fields) if kind == 1), b"")
    at = 0
    for place, (mark, form) in enumerate([(_BIG, "<Q"), (_BIG, "<Q"), (_BIG, "<Q"), (_MANY, "<L")]):
        if values[place] == mark and at + struct.calcsize(form) <= len(field):
            values[place] = struct.unpack_from(form, field, at)[0]
            at += struct.calcsize(form)
    return values[0], values[1], values[2], values[3]


def _unicode_path(fields: bytes, raw: bytes) -> str | None:
    """The name in UTF-8 that Info-ZIP puts beside one in a local encoding (4.6.9), if it is of this very name."""
    for kind, content in _extra(fields):
        if kind == 0x7075 and content[:5] == struct.pack("<BL", 1, zlib.crc32(raw)):
            return content[5:].decode("utf-8", "replace")
    return None


def _refuse_overlaps(entries: list[Entry]) -> None:
    end = 0
    for entry in sorted(entries, key=lambda one: one.offset):
        if entry.offset < end:
            raise DocumentError(Failure.BOMB, "a ZIP archive whose members lie over one another")
        end = entry.offset + _LOCAL + entry.packed


def _named(entries: list[Entry], declared: int) -> Directory:
    """Decode the names of all entries; those in a local encoding together, as one alone is too short to tell which."""
    local = [entry.raw for entry in entries if entry.raw and not entry.name]
    if not local:
        return Directory(tuple(entries), declared, ())
    notes: tuple[str, ...] = ()
    try:
        decoded = decode(b"\n".join(raw.replace(b"\n", b" ") for raw in local))
        texts, notes = decoded.text.split("\n"), tuple(f"of the names in it, {note}" for note in decoded.notes)
    except DocumentError:
        texts = []
    if len(texts) != len(local):
        texts = [raw.decode("cp437") for raw in local]
    waiting = iter(texts)
    named = (replace(one, name=next(waiting)) if one.raw and not one.name else one for one in entries)
    return Directory(tuple(named), declared, notes)
