"""E-mail (RFC 5322, MIME): headers, the best MIME part with text, forwarded messages; attachments become documents.

Pictures that are shown in the text (a logo in each signature) are counted and are no documents.
"""

import email.header
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import unquote

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.encoding.decode import Decoded, declared_in_markup, decode
from pipeline.parse.formats.html import write_html
from pipeline.parse.mail.layout import PICTURES, SHOWN, MailLayout, file_name
from pipeline.parse.mail.parts import Part, read_parts
from pipeline.parse.mail.signed import signed_content
from pipeline.parse.unpack.names import from_title, left_out
from pipeline.parse.writer import one_line

PARSER = "eml/2"
_HEADER = re.compile(r"([!-9;-~]+)[ \t]*:")
_USUAL = {
    "from", "to", "cc", "subject", "date", "received", "message-id", "mime-version", "content-type", "return-path",
    "delivered-to", "reply-to", "sender", "x-mailer", "content-transfer-encoding", "x-originating-ip", "dkim-signature",
}  # fmt: skip
_DATA = {"text/calendar", "text/vcard", "text/x-vcard", "text/directory"}  # text for programs
_OF_PAGES = {"text/css", "text/javascript", "application/javascript", "application/x-javascript"}  # saved beside a page
_ENVELOPES = {"application/pkcs7-mime", "application/x-pkcs7-mime"}
_GOES_ON = (" ", "\t", ">From ")  # how lines among headers begin that are none
_NESTED = 5  # envelopes in envelopes
_REFERENCE = re.compile(rb"""cid:([^"'\s>)]+)""", re.IGNORECASE)
_SUFFIXES = {
    "application/pdf": "pdf", "application/msword": "doc", "application/rtf": "rtf", "application/zip": "zip",
    "application/json": "json", "application/xml": "xml", "text/plain": "txt", "text/html": "html", "text/csv": "csv",
    "text/xml": "xml", "text/calendar": "ics", "text/vcard": "vcf", "text/x-vcard": "vcf", "image/jpeg": "jpg",
    "image/png": "png", "image/gif": "gif", "image/tiff": "tif", "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt", "application/ms-tnef": "tnef", "application/gzip": "gz",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}  # fmt: skip


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
    usual = found & _USUAL
    return len(usual) > (0 if named else 2) or (
        len(usual) == 2 and not usual.isdisjoint({"received", "message-id", "mime-version", "from"})
    )


def parse(source: Source, media_type: str) -> Parsed:
    """The message; raises DocumentError."""
    reading = _Reading(source)
    reading.mail(_mail(source))
    notes = left_out(reading.counts)
    if reading.signed:
        notes.append("its signature was not checked")
    notes += [f"its structure is damaged: {damage}" for damage in reading.damage]
    return finish(source, reading.writer, media_type, PARSER, notes=notes, decoded=reading.decoded)


def _mail(source: Source) -> bytes:
    """The bytes of the mail; one that was saved as a text of two bytes a letter becomes bytes of UTF-8."""
    data = source.data if source.data[:64].count(0) == 0 else source.decoded.text.encode("utf-8", "replace")
    return data.lstrip(b"\xef\xbb\xbf\r\n")


@dataclass(frozen=True)
class _Place:
    """Where a MIME part stands: the folder of its attachments, its section, whether its text is read, and whether it is
    there to be shown in another part.
    """

    folder: str = ""
    title: str = "Body"
    read: bool = True
    related: bool = False


class _Reading:
    """One message being read, those that it forwards included."""

    def __init__(self, source: Source) -> None:
        self.writer = source.writer()
        self.counts = Counter[str]()
        self.damage: list[str] = []
        self.signed = False
        self.decoded: Decoded | None = None  # of the first body
        self._members = source.members
        self._layout = MailLayout(self.writer)
        self._shown: set[str] = set()  # the Content-IDs that texts refer to
        self._envelopes = 0

    def mail(self, data: bytes) -> None:
        """Write a whole mail: headers, then the body."""
        message = self._tree(data)
        self._message(message, "Headers", _Place())

    def _tree(self, data: bytes) -> Part:
        message, damage = read_parts(data)
        self.damage += damage
        for part in _all(message):
            if part.kind == "text/html" and not part.parts:
                self._shown.update(unquote(one.decode("latin-1")) for one in _REFERENCE.findall(_bytes(part)))
        return message

    def _message(self, message: Part, title: str, place: _Place) -> None:
        items = list(message.header.raw_items())
        fields = [(name, value) for name in SHOWN for key, value in items if key.lower() == name.lower()]
        self._layout.head(title, [(name, header_text(value)) for name, value in fields])
        self._part(message, place)

    def _part(self, part: Part, place: _Place) -> None:
        smime = str(part.header.get_param("smime-type", "")).lower()
        if part.kind == "multipart/encrypted" or smime == "enveloped-data":
            raise DocumentError(Failure.ENCRYPTED, "an encrypted message")
        if part.kind in _ENVELOPES and (smime == "signed-data" or part.number == 1):
            self._envelope(part, place)
        elif part.is_message:
            self._forwarded(part.parts[0], place)
        elif part.parts:
            self._parts(part, place)
        elif part.kind in _OF_PAGES and place.related:
            self.counts["styles and scripts of the page, no text"] += 1
        elif _is_text(part):
            self._body(part, place)
        elif part.kind in {"application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature"}:
            self.signed = True
        else:
            self._attachment(part, place)

    def _envelope(self, part: Part, place: _Place) -> None:
        self._envelopes += 1
        if self._envelopes > _NESTED:
            raise DocumentError(Failure.BOMB, f"a mail with more than {_NESTED} signed envelopes")
        self.signed = True
        self._part(self._tree(signed_content(_bytes(part))), place)

    def _forwarded(self, message: Part, place: _Place) -> None:
        subject = header_text(message.header.get("subject", ""))
        title = self._layout.forwarded(subject)
        folder = f"{place.folder}{from_title(subject, 'forwarded message')}/"
        self._message(message, title, _Place(folder, title))

    def _parts(self, part: Part, place: _Place) -> None:
        if part.kind == "multipart/alternative":
            best = _best(part.parts)
            for one in part.parts:  # attachments may be in those that are not read: Apple Mail puts them there
                self._part(one, place if one is best else replace(place, read=False))
        elif part.kind == "multipart/signed":
            self._part(part.parts[0], place)
            self.signed = True
        else:
            related = part.kind == "multipart/related"
            for one in part.parts:
                self._part(one, replace(place, related=place.related or (related and one is not part.parts[0])))

    def _attachment(self, part: Part, place: _Place) -> None:
        if self._is_decoration(part, place):
            self.counts[PICTURES] += 1
            return
        given = header_text(part.header.get_filename() or "")
        name = given or f"part-{part.number}.{_SUFFIXES.get(part.kind, 'bin')}"
        self._layout.attachment(place.title, given or f"without a name ({part.kind})")
        self._members.add(place.folder + file_name(name), part.content())

    def _is_decoration(self, part: Part, place: _Place) -> bool:
        """Whether it is a picture that the text shows. One that is called an attachment is that only if the text names
        it and it comes with the text."""
        if not part.kind.startswith("image/"):
            return False
        named = str(part.header.get("content-id", "")).strip(" <>") in self._shown
        disposition = part.header.get_content_disposition()
        if disposition == "attachment":
            return named and place.related
        return named or place.related or (disposition == "inline" and not part.header.get_filename())

    def _body(self, part: Part, place: _Place) -> None:
        data = _bytes(part) if place.read else b""
        if not data.strip():
            return
        decoded = decode(data, part.header.get_content_charset() or declared_in_markup(data))
        if decoded.text.lstrip().startswith("-----BEGIN PGP MESSAGE-----"):
            raise DocumentError(Failure.ENCRYPTED, "an encrypted message (OpenPGP)")
        self.decoded = self.decoded or decoded
        self._layout.enter(place.title)
        if part.kind in {"text/html", "application/xhtml+xml"}:
            write_html(self.writer, decoded.text)
        else:
            self.writer.line(decoded.text)
        self.writer.gap()


def _is_text(part: Part) -> bool:
    """Whether a MIME part is text to be read in place, as are a multipart without parts and a mail server's report."""
    if part.header.get_content_disposition() == "attachment" or part.header.get_filename():
        return part.kind.startswith("multipart/")
    return part.kind.startswith(("text/", "message/", "multipart/")) and part.kind not in _DATA


def _best(parts: list[Part]) -> Part:
    """The alternative to read: the plain text, if there is something in it, else the last, richest text."""
    for part in parts:
        if part.kind == "text/plain" and _bytes(part).strip():
            return part
    return next((one for one in reversed(parts) if one.parts or _is_text(one)), parts[-1])


def _all(part: Part) -> Iterator[Part]:
    yield part
    for one in part.parts:
        yield from _all(one)


def _bytes(part: Part) -> bytes:
    return b"".join(part.content())


def header_text(value: object) -> str:
    """A header's text: encoded words (RFC 2047) decoded, raw bytes too, and on one line."""
    pieces = []
    raw = str(value).encode("utf-8", "surrogateescape")
    for piece, charset in email.header.decode_header(decode(raw).text if raw else ""):
        data = piece.encode() if isinstance(piece, str) else piece
        pieces.append(decode(data, charset).text if data else "")
    return one_line("".join(pieces))
