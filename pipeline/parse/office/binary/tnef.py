"""Items of Outlook that were sent as winmail.dat ([MS-OXTNEF]): attributes, one after another, each with a sum.

An attribute is of the message or of a file: level, number, type, length, data, the sum of the data's bytes. Two of them
hold properties of MAPI, by number, in which the bodies are.
"""

import datetime
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import format_datetime

from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding import codepages
from pipeline.parse.encoding.decode import decode
from pipeline.parse.office.binary.mapi import Body

TNEF = "winmail.dat (TNEF of Outlook)"
SIGNATURE = b"\x78\x9f\x3e\x22"
_FILES = 10_000
_BEGIN = 6  # bytes of the signature and a key
_ATTRIBUTE = struct.Struct("<BHHI")  # level, number, type, length
_SUM = 2
_SUBJECT, _BODY, _SENT, _PAGE, _PROPERTIES = 0x8004, 0x800C, 0x8005, 0x9007, 0x9003
_FILE_BEGINS, _FILE_TITLE, _FILE_DATA, _FILE_PROPERTIES = 0x9002, 0x8010, 0x800F, 0x9005
_OF_FILES = {_FILE_BEGINS, _FILE_TITLE, _FILE_DATA, _FILE_PROPERTIES}
_LONG_NAME, _SHOWN_NAME, _OBJECT = 0x3707, 0x3001, 0x3701
_TEXT, _RTF, _HTML, _NATIVE, _MARKUP_PAGE = 0x1000, 0x1009, 0x1013, 0x1016, 0x3FDE
_TITLE, _SENDER, _ADDRESS = 0x0037, 0x0C1A, 0x0C1F
_MANY, _NAMED, _NAMED_BY_TEXT = 0x1000, 0x8000, 1
_STRING, _WIDE, _BINARY, _INNER = 0x001E, 0x001F, 0x0102, 0x000D
_SIZES = {2: 4, 3: 4, 4: 4, 10: 4, 11: 4, 5: 8, 6: 8, 7: 8, 20: 8, 64: 8, 72: 16}  # bytes, by type
_INTERFACE = 16  # bytes that say what an object is: a message, or a file of OLE


@dataclass
class Item:
    """A message as Outlook packed it: its head, its bodies, its files; `bad_sums`: attributes that are damaged."""

    head: list[tuple[str, str]] = field(default_factory=list)
    body: Body = field(default_factory=Body)
    files: list[tuple[str, bytes]] = field(default_factory=list)
    bad_sums: int = 0

    @property
    def damage(self) -> str:
        """What is wrong with it, for people; "" for nothing."""
        return f"attributes of its {TNEF} with a wrong sum: {self.bad_sums}" if self.bad_sums else ""


def read_tnef(data: bytes) -> Item:
    """The item; raises DocumentError(CORRUPT), BOMB beyond 10,000 files."""
    if not data.startswith(SIGNATURE):
        raise _damaged("it does not begin as one")
    item, old, files = Item(), dict[int, bytes](), list[dict[int, bytes]]()
    for number, content, is_whole in _attributes(data):
        item.bad_sums += not is_whole
        if number == _FILE_BEGINS:
            files.append({})
        (files[-1] if files and number in _OF_FILES else old)[number] = content
        if len(files) > _FILES:
            raise DocumentError(Failure.BOMB, f"a {TNEF} with more than {_FILES:,} files")
    page = codepages.of_page(int.from_bytes(old.get(_PAGE, b"")[:4], "little"))
    values = _Values(old.get(_PROPERTIES, b""), page)
    sender, address = values.text(_SENDER), values.text(_ADDRESS)
    item.head = [
        ("From", f"{sender} <{address}>" if sender and "@" in address else sender or address),
        ("Date", _moment(old.get(_SENT, b""))),
        ("Subject", values.text(_TITLE) or _decoded(old.get(_SUBJECT, b""), page)),
    ]
    item.body = Body(
        values.text(_TEXT) or _decoded(old.get(_BODY, b""), page),
        values.bytes(_HTML),
        codepages.of_page(int.from_bytes(values.bytes(_MARKUP_PAGE), "little")),
        values.bytes(_RTF),
        int.from_bytes(values.bytes(_NATIVE), "little"),
    )
    for one in files:  # a message within is a file of the same kind as this one
        values = _Values(one.get(_FILE_PROPERTIES, b""), page)
        name = values.text(_LONG_NAME) or _decoded(one.get(_FILE_TITLE, b""), page) or values.text(_SHOWN_NAME)
        inner = values.bytes(_OBJECT)[_INTERFACE:]
        name = name or ("message.tnef" if inner.startswith(SIGNATURE) else "without a name")
        item.files.append((name, inner or one.get(_FILE_DATA, b"")))
    return item


def _attributes(data: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """Number and data of each attribute, and whether its sum is right."""
    at = _BEGIN
    while at < len(data):
        if at + _ATTRIBUTE.size > len(data):
            raise _damaged("it is cut off")
        _, number, _, length = _ATTRIBUTE.unpack_from(data, at)
        begin = at + _ATTRIBUTE.size
        at = begin + length + _SUM
        if at > len(data):
            raise _damaged("it is cut off")
        content = data[begin : begin + length]
        yield number, content, sum(content) & 0xFFFF == int.from_bytes(data[at - _SUM : at], "little")


class _Values:
    """Properties of MAPI by number, of each the first value."""

    def __init__(self, data: bytes, page: str | None) -> None:
        self._page = page
        try:
            self._values = dict(_properties(data)) if data else {}
        except struct.error as error:
            raise _damaged("its properties are cut off") from error

    def text(self, number: int) -> str:
        """The text of a property; "" where there is none."""
        kind, value = self._values.get(number, (0, b""))
        if kind == _WIDE:
            return value.decode("utf-16-le", "replace").rstrip("\0")
        return _decoded(value, self._page) if kind == _STRING else ""

    def bytes(self, number: int) -> bytes:
        """The bytes of a property; a text in two bytes a character becomes UTF-8."""
        kind, value = self._values.get(number, (0, b""))
        return value.decode("utf-16-le", "replace").encode("utf-8", "replace") if kind == _WIDE else value


def _properties(data: bytes) -> Iterator[tuple[int, tuple[int, bytes]]]:
    """Number, type and first value of each property; raises struct.error where they are cut off."""
    (count,), at = struct.unpack_from("<I", data), 4
    for _ in range(count):
        kind, number = struct.unpack_from("<HH", data, at)
        at += 4
        if number >= _NAMED:
            by, length = struct.unpack_from("<16xII", data, at)
            at += 24 + ((length + 3) // 4 * 4 if by == _NAMED_BY_TEXT else 0)
        base, values = kind & ~_MANY, 1
        has_length = base in {_STRING, _WIDE, _BINARY, _INNER}
        if not has_length and base not in _SIZES:
            raise _damaged(f"a property of the unknown type {kind:#06x}")
        if has_length or kind & _MANY:
            (values,) = struct.unpack_from("<I", data, at)
            at += 4
        first = b""
        for place in range(values):
            length = size = _SIZES.get(base, 0)
            if has_length:
                (length,) = struct.unpack_from("<I", data, at)
                at, size = at + 4, (length + 3) // 4 * 4
            if at + length > len(data):
                raise struct.error
            first = data[at : at + length] if place == 0 else first
            at += size
        yield number, (base, first)


def _decoded(data: bytes, page: str | None) -> str:
    data = data.rstrip(b"\0")
    return decode(data, page).text if data else ""


def _moment(data: bytes) -> str:
    """A time of seven numbers of two bytes, the last the day of the week; "" for none."""
    if len(data) < 12:
        return ""
    try:
        year, month, day, hour, minute, second = struct.unpack_from("<6H", data)
        return format_datetime(datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC))
    except ValueError:
        return ""


def _damaged(why: str) -> DocumentError:
    return DocumentError(Failure.CORRUPT, f"a {TNEF}: {why}")
