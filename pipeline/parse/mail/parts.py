"""The MIME parts of a mail (RFC 5322, RFC 2046) as places in its bytes: nothing is copied until it is asked for.

Python's own parser goes through a mail line by line, once for each level of parts that is open; a mail of ten thousand
levels takes it hours. Here a level is one search for its boundary, and levels, parts and headers have limits.
"""

import binascii
import email.utils
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property

from pipeline.errors import DocumentError, Failure
from pipeline.parse.limits import MIB
from pipeline.parse.mail.header import read_header

_LEVELS = 100
_PARTS = 10_000
_HEADER = MIB  # bytes of one part's header
_FIELD = 1 << 13  # characters of a field that is taken apart: the library takes the square of them in time
_FIELDS = re.compile(rb"(?:(?:[!-9;-~]*+:|[!-9;-~]++[ \t]*+:|[ \t]|>?From )[^\n]*+\n?)*+")
_BLANK = re.compile(rb"[ \t]*\r?\n")
_AFTER_BOUNDARY = re.compile(rb"(--)?[ \t]*(?:\r?\n|\Z)")
_NOT_BASE64 = bytes(set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="))
_PADS = re.compile(b"=+")
_BASE64 = re.compile(rb"(?:[ \t]*+[A-Za-z0-9+/]*+[= \t]*+(?:[\r\n]++|\Z))*+")  # whole lines of it
_GOES_ON = re.compile(rb"^[A-Za-z0-9+/]{40}", re.MULTILINE)  # a line of base64 behind others: those are damage
_AMP = "text/x-amp-html"
MARKUP = {"text/html", "application/xhtml+xml", _AMP}
CARDS = {"text/calendar", "text/x-vcalendar", "text/vcard", "text/x-vcard", "text/directory"}
ENVELOPES = {"application/pkcs7-mime", "application/x-pkcs7-mime"}
_UU = {"x-uuencode", "uuencode", "uue", "x-uue"}


@dataclass
class Part:
    """A MIME part: its header, its content data[begin:end] as it is encoded, and the parts in a multipart or a message.

    `number` counts from 1 through the whole mail.
    """

    header: "Message[str, str]"
    data: bytes
    begin: int
    end: int
    number: int
    parts: "list[Part]" = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The media type of the MIME part, in lower case."""
        return self.header.get_content_type()

    @property
    def is_message(self) -> bool:
        """Whether the MIME part holds a message of its own."""
        return self.kind in {"message/rfc822", "message/global", "message/news"}

    @property
    def encoding(self) -> str:
        """The encoding of the MIME part's content, in lower case ("base64")."""
        return str(self.header.get("content-transfer-encoding", "")).strip().lower()

    def parameter(self, name: str) -> str:
        """A parameter of the media type; "" where there is none."""
        return email.utils.collapse_rfc2231_value(self.header.get_param(name, ""))

    @property
    def content_id(self) -> str:
        """The name under which other parts refer to this one; "" for none."""
        return str(self.header.get("content-id", "")).strip(" <>")

    @property
    def whole(self) -> bytes:
        """The bytes of the MIME part, decoded."""
        return b"".join(self.content())

    def walk(self) -> "Iterator[Part]":
        """This part and those in it."""
        yield self
        for one in self.parts:
            yield from one.walk()

    @cached_property
    def _after(self) -> int:
        """Where base64 ends: programs of mailing lists add their text behind it as it is."""
        lines = _BASE64.match(self.data, self.begin, self.end)
        after = lines.end() if lines and self.encoding == "base64" else self.end
        has_any = self.data[self.begin : after].strip() and not _GOES_ON.search(self.data, after, self.end)
        return after if has_any else self.end

    @property
    def behind(self) -> bytes:
        """The text behind the base64 of the MIME part; mail programs show it or not."""
        return self.data[self._after : self.end].strip()

    def content(self) -> Iterator[bytes]:
        """The bytes of the MIME part, decoded, in pieces."""
        if self.encoding == "base64":
            yield from _base64(self.data, self.begin, self._after)
        elif self.encoding == "quoted-printable":
            yield binascii.a2b_qp(self.data[self.begin : self.end])
        elif self.encoding in _UU:
            yield from _uu(self.data[self.begin : self.end])
        else:
            for at in range(self.begin, self.end, MIB):
                yield self.data[at : min(at + MIB, self.end)]


def read_parts(data: bytes) -> tuple[Part, list[str]]:
    """The message as a tree, and what is wrong with it. Raises DocumentError beyond limits."""
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    reader = _Reader()
    return reader.part(data, 0, len(data), 0, None), list(dict.fromkeys(reader.damage))


class _Reader:
    def __init__(self) -> None:
        self._count = 0
        self.damage: list[str] = []

    def part(self, data: bytes, begin: int, end: int, level: int, default: str | None) -> Part:
        """The MIME part that is data[begin:end], with those in it."""
        self._count += 1
        if level > _LEVELS or self._count > _PARTS:
            raise DocumentError(Failure.BOMB, f"a mail of more than {_LEVELS} levels or {_PARTS:,} parts")
        header, begin = _header(data, begin, end)
        if default:
            header.set_default_type(default)
        part = Part(header, data, begin, end, self._count)
        if part.is_message:
            part.parts = [self._message(part, level)]
        elif part.kind.startswith("multipart/"):
            part.parts = list(self._parts(part, level))
        return part

    def _message(self, part: Part, level: int) -> Part:
        if part.encoding in ("base64", "quoted-printable", *_UU):  # which nobody should do to a message
            data = part.whole
            return self.part(data, 0, len(data), level + 1, None)
        return self.part(part.data, part.begin, part.end, level + 1, None)

    def _parts(self, part: Part, level: int) -> Iterator[Part]:
        """The MIME parts between the boundaries; none where there is no boundary, which is noted in `damage`."""
        boundary = str(part.header.get_boundary("")).encode("utf-8", "surrogateescape")
        default = "message/rfc822" if part.kind == "multipart/digest" else None
        begin = None
        for at, after, last in _borders(part, boundary) if boundary.strip() else ():
            if begin is not None:
                yield self.part(part.data, begin, _before(part.data, begin, at), level + 1, default)
            begin = after
            if last:
                return
        if begin is None:
            self.damage.append("the boundary between its parts is missing")
        else:
            self.damage.append("the boundary after its last part is missing")
            yield self.part(part.data, begin, part.end, level + 1, default)


def _header(data: bytes, begin: int, end: int) -> "tuple[Message[str, str], int]":
    found = _FIELDS.match(data, begin, end)
    after = found.end() if found else begin
    if after - begin > _HEADER:
        raise DocumentError(Failure.TOO_LARGE, f"a mail with a header of {after - begin:,} bytes; {_HEADER:,} are read")
    header = read_header(data[begin:after])
    for name in ("content-type", "content-disposition", "content-transfer-encoding", "content-id"):
        if len(str(header.get(name, ""))) > _FIELD:
            raise DocumentError(Failure.TOO_LARGE, f"a mail whose {name} has more than {_FIELD:,} characters")
    blank = _BLANK.match(data, after, end)
    return header, blank.end() if blank else after


def _borders(part: Part, boundary: bytes) -> Iterator[tuple[int, int, bool]]:
    """The lines that are the boundary: their begin, their end, and whether they say that it is the last."""
    mark = b"--" + boundary.rstrip()
    at = part.data.find(mark, part.begin, part.end)
    while at >= 0:
        after = at + len(mark)
        if at == part.begin or part.data[at - 1] == 0x0A:
            rest = _AFTER_BOUNDARY.match(part.data, after, part.end)
            if rest:
                yield at, rest.end(), rest[1] is not None
        at = part.data.find(mark, after, part.end)


def _before(data: bytes, begin: int, at: int) -> int:
    """The end of a content: the line end before a boundary belongs to the boundary."""
    if at > begin and data[at - 1] == 0x0A:
        at -= 1
    return at - 1 if at > begin and data[at - 1] == 0x0D else at


def _base64(data: bytes, begin: int, end: int) -> Iterator[bytes]:
    """Decode base64 (RFC 2045) in pieces; several texts of it, each with its padding, may follow one another."""
    rest = b""
    for at in range(begin, end, MIB):
        *padded, rest = _PADS.split(rest + data[at : min(at + MIB, end)].translate(None, _NOT_BASE64))
        for piece in padded:
            yield _decoded(piece)
        whole = len(rest) // 4 * 4
        yield binascii.a2b_base64(rest[:whole])
        rest = rest[whole:]
    yield _decoded(rest)


def _decoded(piece: bytes) -> bytes:
    """Base64 whose padding is gone; a single character at its end holds no byte."""
    odd = len(piece) % 4
    return binascii.a2b_base64(piece[:-1] if odd == 1 else piece + b"=" * (-odd % 4))


def _uu(data: bytes) -> Iterator[bytes]:
    """Decode the lines between "begin MODE NAME" and "end" (uuencode)."""
    lines = iter(data.splitlines())
    for line in lines:
        if line.startswith(b"begin "):
            break
    for line in filter(None, lines):
        if line.strip() == b"end":
            return
        try:
            yield binascii.a2b_uu(line)
        except binascii.Error:  # some programs count the bytes of a line wrongly
            length = (((line[0] - 32) & 63) * 4 + 5) // 3
            try:
                yield binascii.a2b_uu(line[:length])
            except binascii.Error as error:
                raise DocumentError(Failure.CORRUPT, f"a part of the mail is no uuencoded text: {error}") from error


def may_be_envelope(part: Part) -> bool:
    """Whether a MIME part may be a signed or encrypted envelope; gateways give these any type."""
    named = str(part.header.get_filename() or "").lower().endswith(".p7m")
    return not part.parts and (part.kind in ENVELOPES or named)


def is_text(part: Part, *, alternative: bool = False, related: bool = False) -> bool:
    """Whether a MIME part is text to be read in place, as are a multipart without parts and a mail server's report."""
    if part.header.get_content_disposition() == "attachment" or (related and part.kind == "text/plain"):
        return part.kind.startswith("multipart/")
    if part.header.get_filename():
        return (alternative and part.kind in {*MARKUP, *CARDS, "text/plain"}) or part.kind.startswith("multipart/")
    return part.kind.startswith(("text/", "message/", "multipart/")) or part.kind in MARKUP


def by_what_is_shown(parts: list[Part]) -> list[Part]:
    """The alternatives that hold text, without invitations: last those that mail programs show, in their order."""
    texts = [one for one in parts if one.parts or (is_text(one, alternative=True) and one.kind not in CARDS)]
    return sorted(texts, key=_is_shown)


def _is_shown(part: Part) -> bool:
    return any(map(_is_shown, part.parts)) or part.kind in {*MARKUP, "text/plain"}


def called(part: Part) -> str:
    """The name of an alternative for people."""
    kinds = {one.kind for one in part.walk()}
    if kinds & MARKUP:
        return "HTML" if kinds & MARKUP != {_AMP} else "page for AMP"
    return "plain text" if "text/plain" in kinds else f"text of the type {part.kind}"


def root(part: Part) -> Part:
    """The part of a multipart/related that shows the others (RFC 2387, 3.2)."""
    start = part.parameter("start").strip(" <>")
    return next((one for one in part.parts if start and one.content_id == start), part.parts[0])
