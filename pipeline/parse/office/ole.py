"""The names of the streams in an OLE compound file ([MS-CFB]); enough to say which program it is from."""

import struct

from pipeline.errors import DocumentError, Failure

_END = 0xFFFFFFFA  # sector numbers from here on are marks
_ENTRY = 128
_SECTOR_SIZES = {9: 512, 12: 4096}


def stream_names(data: bytes) -> set[str]:
    """The names in its directory; raises DocumentError(CORRUPT)."""
    try:
        return set(_names(data))
    except (struct.error, KeyError, UnicodeDecodeError) as error:
        raise DocumentError(
            Failure.CORRUPT, "an OLE compound file (Office 97-2003) whose directory is damaged"
        ) from error


def _names(data: bytes) -> list[str]:
    size = _SECTOR_SIZES[struct.unpack_from("<H", data, 30)[0]]
    names, seen = [], set[int]()
    sector = struct.unpack_from("<I", data, 48)[0]
    while sector < _END and sector not in seen:
        seen.add(sector)
        start = (sector + 1) * size
        for entry in range(start, min(start + size, len(data) - _ENTRY + 1), _ENTRY):
            length = struct.unpack_from("<H", data, entry + 64)[0]
            if 2 <= length <= 64:
                names.append(data[entry : entry + length - 2].decode("utf-16-le"))
        sector = _next_sector(data, sector, size)
    return names


def _next_sector(data: bytes, sector: int, size: int) -> int:
    """From the table of sectors, whose first 109 sectors the header lists (that is 7 MiB and more of document)."""
    per_sector = size // 4
    if sector // per_sector >= 109:
        return _END
    table = struct.unpack_from("<I", data, 76 + 4 * (sector // per_sector))[0]
    return int(struct.unpack_from("<I", data, (table + 1) * size + 4 * (sector % per_sector))[0])
