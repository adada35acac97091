"""Single compressed files: gzip (RFC 1952), bzip2, xz. A tape archive inside is unpacked at once."""

import bz2
from collections.abc import Callable
from itertools import chain

from pipeline.document import Parsed
from pipeline.parse.contract import Source, finish
from pipeline.parse.encoding.decode import decode
from pipeline.parse.formats.tar import unpack_tape
from pipeline.parse.unpack.names import printable, without_suffix
from pipeline.parse.unpack.streams import GZIPPED, XZ, Codec, Concatenated, DamagedError
from pipeline.parse.unpack.tape import BLOCK, is_tape

PARSER = "gz/1"
MAGIC = {"application/gzip": b"\x1f\x8b\x08", "application/x-bzip2": b"BZh", "application/x-xz": b"\xfd7zXZ\0"}
_CODECS: dict[str, Callable[[], Codec]] = {
    "application/gzip": GZIPPED, "application/x-bzip2": bz2.BZ2Decompressor, "application/x-xz": XZ,
}  # fmt: skip
_SUFFIXES = {".gz": "", ".bz2": "", ".xz": "", ".tgz": ".tar", ".tbz": ".tar", ".tbz2": ".tar", ".txz": ".tar"}
_EXTRA, _NAME = 4, 8  # flags of gzip


def parse(source: Source, media_type: str) -> Parsed:
    """The one file in it, or those of the tape archive in it; raises DocumentError(CORRUPT) for damage anywhere."""
    most = source.limits.unpacked_bytes
    stream = Concatenated(_CODECS[media_type], MAGIC[media_type], source.data, most)
    try:
        notes, pieces, head = list[str](), stream.pieces(), b""
        while len(head) < BLOCK and (piece := next(pieces, b"")):
            head += piece
        if is_tape(head):
            notes = unpack_tape(source, chain([head], pieces))
        else:
            named = _name_in(source.data) if media_type == "application/gzip" else ""
            name = printable(named) or without_suffix(source.name, _SUFFIXES)
            source.members.add(name, chain([head], pieces))
    except DamagedError as error:
        raise error.of("a compressed file") from error
    if stream.left:
        notes.append(f"bytes after its end that are not compressed, not read: {stream.left:,}")
    return finish(source, source.writer(), media_type, PARSER, notes=notes)


def _name_in(data: bytes) -> str:
    """The file's name in the header of gzip, without folders; "" where there is none."""
    if not data[3] & _NAME:
        return ""
    at = 10 + (2 + int.from_bytes(data[10:12], "little") if data[3] & _EXTRA else 0)
    raw = data[at : max(at, data.find(b"\0", at))].replace(b"\\", b"/").rpartition(b"/")[2]
    return decode(raw).text if raw else ""
