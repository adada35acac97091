"""Records of PowerPoint 97-2003 ([MS-PPT] 2.3.1) and of its drawings ([MS-ODRAW]): a header of eight bytes, then data.

A container's data are records again. They are walked as they lie in memory; nothing is copied.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.errors import DocumentError, Failure

_HEADER = struct.Struct("<HHI")
_CONTAINER = 0xF
_DEPTH = 200


@dataclass(frozen=True)
class Record:
    """One record: its type, its instance (which of several), and its data."""

    kind: int
    instance: int
    data: memoryview
    is_container: bool
    depth: int = 0

    def children(self) -> "Iterator[Record]":
        """The records inside this one; raises DocumentError(CORRUPT)."""
        return records(self.data, self.depth + 1)

    def first(self, *kinds: int) -> "Record | None":
        """The record that lies at the end of this path of types, the first at each step."""
        found: Record | None = self
        for kind in kinds:
            found = next((one for one in found.children() if one.kind == kind), None) if found else None
        return found

    def number(self, offset: int, size: int = 4) -> int:
        """A number without sign in the data; 0 where the data end before it."""
        return int.from_bytes(self.data[offset : offset + size], "little")


def records(data: memoryview, depth: int = 0) -> Iterator[Record]:
    """The records that follow one another; raises DocumentError(CORRUPT) where one is longer than what is there."""
    if depth > _DEPTH:
        raise DocumentError(Failure.CORRUPT, "its records are nested too deep")
    at = 0
    while at + _HEADER.size <= len(data):
        version, kind, length = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        if at + length > len(data):
            raise DocumentError(Failure.CORRUPT, f"a record of type {kind:#06x} is longer than what holds it")
        yield Record(kind, version >> 4, data[at : at + length], version & 0xF == _CONTAINER, depth)
        at += length


def record_at(data: memoryview, offset: int) -> Record:
    """The record that begins at a place in the data; raises DocumentError(CORRUPT) where there is none."""
    if offset + _HEADER.size > len(data):
        raise DocumentError(Failure.CORRUPT, "a record lies beyond the end of its stream")
    length = _HEADER.unpack_from(data, offset)[2]
    return next(records(data[offset : offset + _HEADER.size + length]))


def below(parents: Iterable[Record], kind: int) -> Iterator[Record]:
    """All records of a type, however deep, in their order."""
    for record in parents:
        if record.kind == kind:
            yield record
        elif record.is_container:
            yield from below(record.children(), kind)
