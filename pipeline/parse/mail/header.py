"""The header of a mail or of a MIME part (RFC 5322, RFC 2045): its fields, their texts, the encodings they declare."""

import contextlib
import email.header
import email.parser
import email.policy
import re
from email.message import Message

from pipeline.errors import DocumentError
from pipeline.parse.encoding.decode import Decoded, decode, is_known
from pipeline.parse.writer import one_line

_HEADER = re.compile(r"([!-9;-~]+)[ \t]*:")
_MULTIPART = re.compile(
    r"(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*?"
    r"Content-Type[ \t]*:\s*multipart/[^\n]*(?:\n[ \t][^\n]*)*?\bboundary\s*=",
    re.IGNORECASE,
)
_USUAL = {
    "from", "to", "cc", "subject", "date", "received", "message-id", "mime-version", "content-type", "return-path",
    "delivered-to", "reply-to", "sender", "x-mailer", "content-transfer-encoding", "x-originating-ip", "dkim-signature",
}  # fmt: skip
_GOES_ON = (" ", "\t", ">From ")  # how lines among headers begin that are none
_UTF_7 = re.compile(r"utf-?7", re.IGNORECASE)
_ENTITY = re.compile(
    rb"\s*(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*?Content-(?:Type|Transfer-Encoding)[ \t]*:", re.IGNORECASE
)
_HEAD = 4096  # bytes in which a MIME part says that it is one
_OF_7_BITS = {"utf-7", "hz-gb-2312", "hz"}


def is_mail(head: str, *, named: bool = False) -> bool:
    """Whether a text begins with header fields, at least three (or two, if one is Received) of those that mail has.

    In a file that is `named` as a mail, one of them is enough.
    """
    if not _HEADER.match(head) and not head.startswith(_GOES_ON):
        return False
    found = set()
    for line in head.split("\n\n" if "\r" not in head else "\r\n\r\n", 1)[0].splitlines():
        match = _HEADER.match(line)
        if match:
            found.add(match[1].lower())
        elif not line.startswith(_GOES_ON):
            break
    if found and _MULTIPART.match(head):  # a part of a mail, as Outlook keeps what is signed
        return True
    usual = found & _USUAL
    return len(usual) > (0 if named else 2) or (
        len(usual) == 2 and not usual.isdisjoint({"received", "message-id", "mime-version", "from"})
    )


def is_entity(data: bytes) -> bool:
    """Whether bytes are a MIME part: they begin with fields, one of which says what the content is."""
    return _ENTITY.match(data[:_HEAD]) is not None


def decode_text(data: bytes, declared: str | None) -> tuple[Decoded, list[str]]:
    """The text of bytes whose encoding a mail declares, and a note for the row where that is not followed; raises
    DocumentError.

    Encodings of 7 bits (UTF-7 of RFC 2152, HZ of RFC 1843) look like ASCII: only the declaration tells them.
    """
    name = "utf-7" if _UTF_7.search(declared or "") else (declared or "").lower()
    if name in _OF_7_BITS:
        with contextlib.suppress(UnicodeDecodeError):
            return Decoded(data.decode(name), name, 0.8), []
    found = decode(data, name)
    plain = found.confidence == 1 and name not in _OF_7_BITS and b"\x1b" not in data
    if not name or plain or is_known(name):
        return found, []
    return found, [f"the encoding that it declares, {name!r}, is not read; {found.encoding} is"]


def read_header(data: bytes) -> "Message[str, str]":
    """The fields of a header without zero bytes, at which the library stumbles; bytes that are not ASCII are read line
    by line, each in its mailer's encoding."""
    data = data.replace(b"\0", b"")
    text = data.decode() if data.isascii() else "".join(map(_line, data.splitlines(keepends=True)))
    return email.parser.HeaderParser(policy=email.policy.compat32).parsestr(text)


def header_text(value: object) -> str:
    """A header's text: encoded words (RFC 2047) decoded, raw bytes too, and on one line."""
    pieces = []
    raw = str(value).encode("utf-8", "surrogateescape")
    for piece, charset in email.header.decode_header(decode(raw).text if raw else ""):
        data = piece.encode() if isinstance(piece, str) else piece
        pieces.append(decode_text(data, charset)[0].text if data else "")
    return one_line("".join(pieces))


def _line(data: bytes) -> str:
    try:
        return decode(data).text
    except DocumentError:
        return data.decode("latin-1")
