"""PNG files of plain pixels (ISO/IEC 15948): made here, in this process, of nothing but numbers of colours."""

import struct
import zlib

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_EIGHT_BITS, _RGB, _DEFLATE, _FILTERS, _NO_INTERLACE = 8, 2, 0, 0, 0
_UNFILTERED = b"\0"
_LEVEL = 3  # of compression: pages of text become hardly smaller beyond, and take much longer


def png(width: int, height: int, rgb: bytes) -> bytes:
    """The file of a picture whose pixels are red, green and blue of each, row by row from the top."""
    if len(rgb) != 3 * width * height:
        raise ValueError(f"{len(rgb)} bytes are not {width} x {height} pixels")
    about = struct.pack(">IIBBBBB", width, height, _EIGHT_BITS, _RGB, _DEFLATE, _FILTERS, _NO_INTERLACE)
    row, view = 3 * width, memoryview(rgb)
    rows = b"".join(piece for at in range(0, len(rgb), row) for piece in (_UNFILTERED, view[at : at + row]))
    return _SIGNATURE + _chunk(b"IHDR", about) + _chunk(b"IDAT", zlib.compress(rows, _LEVEL)) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
