"""Compressed RTF of Outlook ([MS-OXRTFCP]): literals and references into a ring of 4,096 bytes that is not empty."""

import struct

from pipeline.errors import DocumentError, Failure

_RING = 4096
_START = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_HEADER = 16


def decompress(data: bytes) -> bytes:
    """The RTF, at most nine times as long as `data`; raises DocumentError(CORRUPT)."""
    if len(data) < _HEADER:
        raise _damaged()
    _, size, kind = struct.unpack_from("<II4s", data)
    if kind == b"MELA":
        return data[_HEADER : _HEADER + size]
    if kind != b"LZFu":
        raise _damaged()
    return _expanded(data)


def _expanded(data: bytes) -> bytes:
    """The RTF that the data behind the header expand to: a byte of eight flags, then for each a byte or a reference
    of two. Raises DocumentError(CORRUPT)."""
    out, at = bytearray(_START), _HEADER
    while at < len(data):
        flags, at = data[at], at + 1
        for bit in range(8):
            if not flags >> bit & 1:
                out += data[at : at + 1]
                at += 1
                continue
            if at + 2 > len(data):
                raise _damaged()
            place, length = int.from_bytes(data[at : at + 2], "big") >> 4, (data[at + 1] & 15) + 2
            back = (len(out) - place) % _RING
            if back == 0:  # where the next byte would be written: the end
                return bytes(out[len(_START) :])
            _copy(out, back, length)
            at += 2
    return bytes(out[len(_START) :])


def _copy(out: bytearray, back: int, length: int) -> None:
    if back > len(out):  # a place in the ring that was never written
        raise _damaged()
    for _ in range(length):
        out.append(out[-back])


def _damaged() -> DocumentError:
    return DocumentError(Failure.CORRUPT, "the compressed RTF of the message is damaged")
