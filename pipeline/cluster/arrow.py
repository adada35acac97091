"""What an Arrow stream says of itself before it is read: whether its columns are compressed."""

import struct
from typing import Final

import pyarrow as pa

_HEADER_TYPE, _HEADER, _COMPRESSION = 1, 2, 3
"""Fields by their numbers (Apache Arrow, format/Message.fbs): two of a message, one of a batch of rows."""
_BATCH: Final = 3


def refuse_compressed(stream: bytes) -> None:
    """ValueError for a stream that is to be unpacked: a few bytes of it could become all of the memory, and no worker
    sends one. pa.ArrowException for what is no stream."""
    source = pa.BufferReader(stream)
    while source.tell() < len(stream):
        try:
            message = pa.ipc.read_message(source)
        except EOFError:
            return
        if message.type == "dictionary":
            raise ValueError("a dictionary, which no column has")
        if message.type == "record batch" and _is_compressed(bytes(message.metadata)):
            raise ValueError("columns that are compressed")


def _is_compressed(message: bytes) -> bool:
    """Whether the description of a batch of rows, a flatbuffer, names a compression."""
    try:
        root = struct.unpack_from("<I", message, 0)[0]
        kind, header = _field(message, root, _HEADER_TYPE), _field(message, root, _HEADER)
        if not kind or not header or message[kind] != _BATCH:
            raise ValueError("a batch of rows without its description")
        batch = header + struct.unpack_from("<I", message, header)[0]
        return _field(message, batch, _COMPRESSION) != 0
    except (struct.error, IndexError) as error:
        raise ValueError("a description of rows that is cut off") from error


def _field(message: bytes, table: int, number: int) -> int:
    """Where a field of a table of a flatbuffer stands; 0 where the table does not have it."""
    fields = table - struct.unpack_from("<i", message, table)[0]
    size, place = struct.unpack_from("<H", message, fields)[0], 4 + 2 * number
    offset = struct.unpack_from("<H", message, fields + place)[0] if place < size else 0
    return table + offset if offset else 0
