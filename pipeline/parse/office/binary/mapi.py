"""The properties of an Outlook item ([MS-OXMSG]): numbers and times in one stream, texts in one each.

Its RTF is compressed ([MS-OXRTFCP]): literals and references into a ring of 4,096 bytes that is not empty.
"""

import datetime
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import format_datetime

from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding import codepages
from pipeline.parse.encoding.decode import decode
from pipeline.parse.office.binary.ole import CompoundFile, Storage

FIXED = "__properties_version1.0"
_ENTRY = struct.Struct("<HH4xQ")  # type, number, value
_TIME, _UNICODE, _BYTES, _ANSI = 0x0040, 0x001F, 0x0102, 0x001E
_EPOCH = datetime.datetime(1601, 1, 1, tzinfo=datetime.UTC)
_BODY, _MESSAGE_PAGE, _INTERNET_PAGE = 0x1000, 0x3FFD, 0x3FDE
_NAMES, _NAMED_BY_TEXT, _FIRST_NAMED = "__nameid_version1.0", 1, 0x8000


@dataclass(frozen=True)
class Body:
    """The bodies of one item: as plain text, as HTML in an encoding, as compressed RTF; `native` says which of them a
    person wrote, if it is known (PidTagNativeBody).
    """

    text: str = ""
    markup: bytes = b""
    encoding: str | None = None  # of the markup
    rtf: bytes = b""
    native: int = 0


class Properties:
    """The properties of one message, recipient or attachment; raises DocumentError(CORRUPT).

    `header`: bytes before the first entry, by what it is. `encoding`: of texts that are not Unicode.
    """

    def __init__(self, file: CompoundFile, storage: Storage, header: int, encoding: str | None = None) -> None:
        self._file = file
        self.storage = storage
        data = (file.read(storage, FIXED) or b"")[header:]
        self._fixed = {
            number: (kind, value) for kind, number, value in _ENTRY.iter_unpack(data[: len(data) // 16 * 16])
        }
        self.encoding = encoding  # else the one that the message names, else what its body looks like
        for page in (_MESSAGE_PAGE, _INTERNET_PAGE):
            self.encoding = self.encoding or codepages.of_page(self.number(page) or 0)
        if not self.encoding and (body := self._stream(_BODY, _ANSI)):
            self.encoding = decode(body).encoding

    def text(self, number: int) -> str:
        """The text of a property; "" where there is none."""
        wide = self._stream(number, _UNICODE)
        if wide is not None:
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        narrow = (self._stream(number, _ANSI) or b"").rstrip(b"\0")
        return decode(narrow, self.encoding).text if narrow else ""

    def binary(self, number: int) -> bytes | None:
        """The bytes of a property; a text that has no stream of bytes gives its own."""
        streams = (self._stream(number, kind) for kind in (_BYTES, _ANSI, _UNICODE))
        return next((data for data in streams if data is not None), None)

    def number(self, number: int) -> int | None:
        """The number that a property holds; None where there is none."""
        kind, value = self._fixed.get(number, (0, None))
        return None if value is None or kind in {_TIME, _UNICODE, _ANSI, _BYTES} else value & 0xFFFFFFFF

    def time(self, number: int) -> str:
        """The time that a property holds, as mails write it; "" where there is none."""
        kind, value = self._fixed.get(number, (0, 0))
        try:
            moment = _EPOCH + datetime.timedelta(microseconds=value // 10)
        except OverflowError:
            return ""
        return format_datetime(moment) if kind == _TIME and value else ""

    def value(self, number: int) -> str:
        """The text or the time that a property holds."""
        return self.text(number) or self.time(number)

    def inside(self, prefix: str, header: int) -> "Iterator[Properties]":
        """The properties of each recipient or of each attachment."""
        for name, storage in sorted(self.storage.storages.items()):
            if name.startswith(prefix):
                yield Properties(self._file, storage, header, self.encoding)

    def _stream(self, number: int, kind: int) -> bytes | None:
        return self._file.read(self.storage, f"__substg1.0_{number:04X}{kind:04X}")


def named(file: CompoundFile) -> dict[int, int]:
    """The numbers under which properties that are known by a longer number (LID) stand in this file."""
    storage = file.root.storages.get(_NAMES)
    data = (file.read(storage, "__substg1.0_00030102") if storage else None) or b""
    entries = struct.iter_unpack("<IHH", data[: len(data) // 8 * 8])
    return {lid: _FIRST_NAMED + index for lid, kind, index in entries if not kind & _NAMED_BY_TEXT}


_RING = 4096
_START = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_HEADER = 16


def decompress(data: bytes) -> bytes:
    """The RTF, at most nine times as long as `data`; raises DocumentError(CORRUPT).

    A byte of eight flags comes first, then for each a byte or a reference of two.
    """
    damaged = DocumentError(Failure.CORRUPT, "the compressed RTF of the message is damaged")
    if len(data) < _HEADER:
        raise damaged
    _, size, kind = struct.unpack_from("<II4s", data)
    if kind == b"MELA":
        return data[_HEADER : _HEADER + size]
    if kind != b"LZFu":
        raise damaged
    out, at = bytearray(_START), _HEADER
    while at < len(data):
        flags, at = data[at], at + 1
        for bit in range(8):
            if not flags >> bit & 1:
                out += data[at : at + 1]
                at += 1
                continue
            if at + 2 > len(data):
                raise damaged
            place, length = int.from_bytes(data[at : at + 2], "big") >> 4, (data[at + 1] & 15) + 2
            back = (len(out) - place) % _RING
            if back == 0:  # where the next byte would be written: the end
                return bytes(out[len(_START) :])
            if back > len(out):  # a place in the ring that was never written
                raise damaged
            for _ in range(length):
                out.append(out[-back])
            at += 2
    return bytes(out[len(_START) :])
