"""E-mail (RFC 5322, MIME): headers, the best text part, forwarded messages, and the names of what is attached."""

import email
import email.header
import email.policy
import re
from email.message import Message

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.decode import Decoded, declared_in_markup, decode
from pipeline.parse.formats.base import Source, finish
from pipeline.parse.formats.html import write_html
from pipeline.parse.writer import TextWriter, one_line

PARSER = "eml/1"
_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_HEADER = re.compile(r"([!-9;-~]+)[ \t]*:")
_USUAL = {
    "from", "to", "cc", "subject", "date", "received", "message-id", "mime-version", "content-type", "return-path",
    "delivered-to", "reply-to", "sender", "x-mailer", "content-transfer-encoding", "x-originating-ip", "dkim-signature",
}  # fmt: skip


def is_mail(head: str) -> bool:
    """Whether a text begins with header fields, at least three (or two, if one is Received) of those that mail has."""
    found = set()
    for line in head.split("\n\n" if "\r" not in head else "\r\n\r\n", 1)[0].splitlines():
        match = _HEADER.match(line)
        if match:
            found.add(match[1].lower())
        elif not line.startswith((" ", "\t", ">From ")):
            break
    usual = found & _USUAL
    return len(usual) > 2 or (
        len(usual) == 2 and not usual.isdisjoint({"received", "message-id", "mime-version", "from"})
    )


def parse(source: Source, media_type: str) -> Parsed:
    """The message; raises DocumentError."""
    message = email.message_from_bytes(source.data.lstrip(b"\xef\xbb\xbf\r\n"), policy=email.policy.compat32)
    reading = _Reading(source.writer())
    reading.message(message)
    notes = [f"attachment not read: {name}" for name in reading.attachments]
    notes += [f"its structure is damaged: {defect}" for defect in dict.fromkeys(reading.defects)]
    return finish(source, reading.writer, media_type, PARSER, notes=notes, decoded=reading.decoded)


class _Reading:
    """One message being read, those that it forwards included."""

    def __init__(self, writer: TextWriter) -> None:
        self.writer = writer
        self.attachments: list[str] = []
        self.defects: list[str] = []
        self.decoded: Decoded | None = None  # of the first body

    def message(self, message: "Message[str, str]") -> None:
        """Headers, then the body."""
        self.writer.gap()
        for name in _SHOWN:
            for value in (value for key, value in message.raw_items() if key.lower() == name.lower()):
                self.writer.line(f"{name}: {header_text(value)}")
        self.writer.gap()
        self._part(message)

    def _part(self, part: "Message[str, str]") -> None:
        kind = part.get_content_type()
        self.defects += [type(defect).__name__ for defect in part.defects]
        if kind == "multipart/encrypted" or str(part.get_param("smime-type", "")).lower() == "enveloped-data":
            raise DocumentError(Failure.ENCRYPTED, "an encrypted message")
        if part.is_multipart():
            self._parts(kind, part)
        elif kind.startswith("multipart/"):  # its boundary never comes
            self._body(part, "text/plain")
        elif part.get_content_disposition() == "attachment" or part.get_filename() or not kind.startswith("text/"):
            self._attachment(part, kind)
        else:
            self._body(part, kind)

    def _parts(self, kind: str, part: "Message[str, str]") -> None:
        parts = [one for one in part.get_payload() if isinstance(one, Message)]
        if kind == "message/rfc822":
            self.writer.block("Forwarded message:")
            for one in parts:
                self.message(one)
        elif kind == "multipart/alternative":
            self._part(_best(parts)) if parts else None
        else:
            for one in parts:
                self._part(one)

    def _attachment(self, part: "Message[str, str]", kind: str) -> None:
        name = one_line(header_text(part.get_filename() or f"without a name ({kind})"))
        self.attachments.append(name)
        self.writer.block(f"Attachment: {name}")

    def _body(self, part: "Message[str, str]", kind: str) -> None:
        payload = part.get_payload(decode=True)
        data = payload if isinstance(payload, bytes) else b""
        if not data.strip():
            return
        decoded = decode(data, part.get_content_charset() or declared_in_markup(data))
        self.decoded = self.decoded or decoded
        self.writer.gap()
        if kind in {"text/html", "application/xhtml+xml"}:
            write_html(self.writer, decoded.text)
        else:
            self.writer.line(decoded.text)
        self.writer.gap()


def _best(parts: "list[Message[str, str]]") -> "Message[str, str]":
    """Of alternatives the plain text, if there is something in it; else the last, which is the richest."""
    for part in parts:
        payload = part.get_payload(decode=True)
        if part.get_content_type() == "text/plain" and isinstance(payload, bytes) and payload.strip():
            return part
    return parts[-1]


def header_text(value: object) -> str:
    """A header's text: encoded words (RFC 2047) decoded, raw bytes too, and on one line."""
    pieces = []
    raw = str(value).encode("utf-8", "surrogateescape")
    for piece, charset in email.header.decode_header(decode(raw).text if raw else ""):
        data = piece.encode() if isinstance(piece, str) else piece
        pieces.append(decode(data, charset).text if data else "")
    return one_line("".join(pieces))
