"""ZIP archives: each file in them becomes a document of its own, in the order of the directory."""

import bz2
import lzma
import stat
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.unpack.directory import Entry, read_directory
from pipeline.parse.unpack.names import left_behind, left_out, printable
from pipeline.parse.unpack.streams import DEFLATED, DICTIONARY, PIECE, XZ, Codec, DamagedError, expand

PARSER = "zip/2"
_STORED, _LZMA = 0, 14
_LZMA_HEADER = 9  # bytes
_CODECS: dict[int, Callable[[], Codec]] = {8: DEFLATED, 12: bz2.BZ2Decompressor, 95: XZ}
_NAMED = {  # 4.4.5
    1: "Shrink", 2: "Reduce", 3: "Reduce", 4: "Reduce", 5: "Reduce", 6: "Implode", 9: "Deflate64", 10: "PKWARE DCL",
    93: "Zstandard", 94: "MP3", 96: "JPEG", 97: "WavPack", 98: "PPMd", 99: "AES encryption",
}  # fmt: skip
_ENCRYPTED = "it has a password"


def parse(source: Source, media_type: str) -> Parsed:
    """The files in it; raises DocumentError(ENCRYPTED) where each of them has a password."""
    directory = read_directory(source.data)
    files = [entry for entry in directory.entries if not entry.is_folder]
    if files and all(entry.encrypted for entry in files):
        raise DocumentError(
            Failure.ENCRYPTED, f"a ZIP archive with a password, of {len(files):,} file{'s' * (len(files) != 1)}"
        )
    counts: Counter[str] = Counter()
    for entry in files:
        if (left := _left(entry)) is None:
            name = printable(entry.name)
            try:
                if entry.encrypted:
                    raise DamagedError(Failure.ENCRYPTED, _ENCRYPTED)
                source.members.add(name, content(source.data, entry))
            except DamagedError as error:
                source.members.refuse(name, min(entry.size, 2**63), error.failure, error.reason)
        else:
            counts[left] += 1
    notes = [*directory.notes, *left_out(counts)]
    if directory.declared & 0xFFFF != len(directory.entries) & 0xFFFF:
        notes.append(f"its end record counts {directory.declared:,} files, its directory {len(directory.entries):,}")
    return finish(source, source.writer(), media_type, PARSER, notes=notes)


def _left(entry: Entry) -> str | None:
    if left := left_behind(entry.name):
        return left
    if entry.mode and stat.S_IFMT(entry.mode) not in (0, stat.S_IFREG):
        return "links and devices in it, not followed"
    return None


def content(data: bytes, entry: Entry) -> Iterator[bytes]:
    """A member's bytes, in pieces. Raises DamagedError, also where they are not as long as the directory says."""
    # The place of a member's compressed bytes, after its local header, whose name and fields may be longer.
    try:
        magic, name, extra = struct.unpack_from("<4s22x2H", data, entry.offset)
    except struct.error as error:
        raise DamagedError(Failure.CORRUPT, "its header is cut") from error
    begin = entry.offset + 30 + name + extra
    if magic != b"PK\x03\x04" or begin + entry.packed > len(data):
        raise DamagedError(Failure.CORRUPT, "its header is not where the archive says")
    packed = memoryview(data)[begin : begin + entry.packed]
    stored = (bytes(packed[at : at + PIECE]) for at in range(0, len(packed), PIECE))
    pieces = stored if entry.method == _STORED else _expanded(_codec(entry, packed), packed, entry)
    size = crc = 0
    for piece in pieces:
        size += len(piece)
        crc = zlib.crc32(piece, crc)
        if size > entry.size:
            raise DamagedError(Failure.CORRUPT, f"it is longer than the {entry.size:,} bytes that the archive says")
        yield piece
    if size < entry.size:
        raise DamagedError(Failure.CORRUPT, f"it has {size:,} of the {entry.size:,} bytes that the archive says")
    if crc != entry.crc:
        raise DamagedError(Failure.CORRUPT, "its checksum (CRC-32) is wrong")


def _expanded(codec: Codec, packed: memoryview, entry: Entry) -> Iterator[bytes]:
    begin = _LZMA_HEADER if entry.method == _LZMA else 0
    if entry.method != _LZMA or entry.flags & 2:  # then it has a mark of its end
        yield from expand(codec, packed, begin)
        return
    left, pieces = entry.size, expand(codec, packed, begin)
    while left > 0 and (piece := next(pieces, b"")):
        yield piece
        left -= len(piece)


def _codec(entry: Entry, packed: memoryview) -> Codec:
    if entry.method in _CODECS:
        return _CODECS[entry.method]()
    if entry.method != _LZMA:
        name = _NAMED.get(entry.method, f"number {entry.method}")
        raise DamagedError(Failure.UNSUPPORTED, f"packed by a method that is not read ({name}); unpack the archive")
    # LZMA by the five bytes of properties before the stream (5.8.8).
    if len(packed) < _LZMA_HEADER or packed[2] != 5 or packed[3]:
        raise DamagedError(Failure.CORRUPT, "its LZMA properties are damaged")
    rest, lc = divmod(packed[4], 9)
    pb, lp = divmod(rest, 5)
    window = int.from_bytes(packed[5:9], "little")
    if window > DICTIONARY:
        raise DamagedError(Failure.OUT_OF_MEMORY, f"it needs {window:,} bytes of memory to be unpacked")
    try:
        options = {"id": lzma.FILTER_LZMA1, "dict_size": max(window, 4096), "lc": lc, "lp": lp, "pb": pb}
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[options])
    except (lzma.LZMAError, ValueError) as error:
        raise DamagedError(Failure.CORRUPT, "its LZMA properties are damaged") from error
