"""E-mail (RFC 5322, MIME): headers, the MIME parts that mail programs show, forwarded messages; attachments become
documents.

Of alternatives the last that has something to show is read (RFC 2046, 5.1.4) and compared with the others. Pictures
that are shown in the text (a logo in each signature) are counted and are no documents.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import unquote

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.encoding.decode import Decoded, declared_in_markup, decode
from pipeline.parse.formats.html import write_html
from pipeline.parse.formats.ics import write_cards
from pipeline.parse.formats.msg import write_body
from pipeline.parse.formats.rtf import write_rtf
from pipeline.parse.mail.alternatives import compare
from pipeline.parse.mail.header import decode_text, header_text, is_entity, read_header
from pipeline.parse.mail.layout import PICTURES, SHOWN, MailLayout, file_name, name_of
from pipeline.parse.mail.parts import (
    CARDS,
    ENVELOPES,
    MARKUP,
    Part,
    by_what_is_shown,
    called,
    is_text,
    may_be_envelope,
    read_parts,
    root,
)
from pipeline.parse.mail.plain import ARMOUR, LOCKED, Plain, give, plain_of_enriched, take_apart, unflow
from pipeline.parse.mail.signed import signed_content
from pipeline.parse.office.binary.mapi import Body
from pipeline.parse.office.binary.tnef import TNEF, read_tnef
from pipeline.parse.unpack.names import from_title, left_out
from pipeline.parse.writer import TextWriter, one_line

PARSER = "eml/5"
_TNEF = {"application/ms-tnef", "application/vnd.ms-tnef"}
_OF_PAGES = {"text/css", "text/javascript", "application/javascript", "application/x-javascript"}  # saved beside a page
_RTF, _ENRICHED = "text/rtf", {"text/enriched", "text/richtext"}
_KNOWN = {*MARKUP, *CARDS, *_ENRICHED, "text/plain", "text/csv", "text/markdown", "text/rfc822-headers"}
_COMPARED = 5  # alternatives beside the one that is read
_NESTED = 5  # envelopes in envelopes
_REFERENCE = re.compile(rb"""cid:([^"'\s>)]+)""", re.IGNORECASE)


def parse(source: Source, media_type: str) -> Parsed:
    """The message; raises DocumentError."""
    reading = _Reading(source)
    data = source.data if source.data[:64].count(0) == 0 else source.decoded.text.encode("utf-8", "replace")
    reading.mail(data.lstrip(b"\xef\xbb\xbf\r\n"))
    if reading.locked and not reading.found:
        raise DocumentError(Failure.ENCRYPTED, reading.locked[0])
    for why in reading.locked:
        source.hidden.review(f"{why} in it was left out")
    locked = [f"left out of it: {why}" for why in reading.locked]
    notes = [*left_out(reading.counts), *dict.fromkeys([*reading.notes, *locked])]
    if reading.signed:
        notes.append("its signature was not checked")
    notes += [f"its structure is damaged: {damage}" for damage in reading.damage]
    return finish(source, reading.writer, media_type, PARSER, notes=notes, decoded=reading.decoded)


@dataclass(frozen=True)
class _Place:
    """Where a MIME part stands: the folder of its attachments, its section, whether its text is read, whether it is
    there to be shown in another part, and whether it is an alternative to others.
    """

    folder: str = ""
    title: str = "Body"
    read: bool = True
    related: bool = False
    alternative: bool = False


class _Reading:
    """One message being read, those that it forwards included."""

    def __init__(self, source: Source) -> None:
        self.writer = source.writer()
        self.counts = Counter[str]()
        self.damage: list[str] = []
        self.notes: list[str] = []
        self.locked: list[str] = []  # what is encrypted
        self.found = False  # whether there is anything but that
        self.signed = False
        self.decoded: Decoded | None = None  # of the first body
        self._members = source.members
        self._layout = MailLayout(self.writer)
        self._bodies: list[str] = []  # the texts that were read
        self._first = 0  # of them, of the present message
        self._shown: set[str] = set()  # the Content-IDs that texts refer to
        self._envelopes = 0

    def mail(self, data: bytes) -> None:
        """Write a whole mail: headers, then the body."""
        message = self._tree(data)
        self._message(message, "Headers", _Place())

    def _tree(self, data: bytes) -> Part:
        message, damage = read_parts(data)
        self.damage += damage
        for part in message.walk():
            if part.kind == "text/html" and not part.parts:
                self._shown.update(unquote(one.decode("latin-1")) for one in _REFERENCE.findall(part.whole))
        return message

    def _message(self, message: Part, title: str, place: _Place) -> None:
        items = list(message.header.raw_items())
        fields = [(name, value) for name in SHOWN for key, value in items if key.lower() == name.lower()]
        self._layout.head(title, [(name, header_text(value)) for name, value in fields])
        outer, self._first = self._first, len(self._bodies)
        self._part(message, place)
        self._first = outer

    def _part(self, part: Part, place: _Place) -> None:
        if part.kind == "multipart/encrypted":
            self.locked.append("an encrypted message")
        elif may_be_envelope(part):
            self._envelope(part, place)
        elif part.is_message:
            self._forwarded(part.parts[0], place)
        elif part.parts:
            self._parts(part, place)
        elif part.kind in _OF_PAGES and place.related:
            self.counts["styles and scripts of the page, no text"] += 1
        elif part.kind == "message/external-body":
            # Name a file that is not in the mail (RFC 2046, 5.2.3; RFC 2017).
            inner = read_header(part.whole)
            fields = [part.parameter(name) for name in ("url", "server", "site", "directory", "name")]
            where = "".join(fields[0].split()) or "/".join(filter(None, map(one_line, fields[1:])))
            name = header_text(inner.get_filename() or "")
            self._layout.attachment(place.title, f"{name} not in the mail: {where}".strip())
            self.notes.append(f"a file that is attached lies elsewhere: {where}")
        elif part.kind == "message/partial":
            self._partial(part, place)
        elif is_text(part, alternative=place.alternative, related=place.related):
            self._body(part, place)
        elif part.kind in {"application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature"}:
            self.signed = True
        elif part.kind in _TNEF or str(part.header.get_filename() or "").lower() == "winmail.dat":
            self._tnef(part, place)
        else:
            self._attachment(part, place)

    def _envelope(self, part: Part, place: _Place) -> None:
        """Read what is signed where it is a MIME part; what is encrypted or another document is attached."""
        data = part.whole
        smime = part.parameter("smime-type").lower()
        in_place = part.kind in ENVELOPES and (smime == "signed-data" or part.number == 1)
        locked, content = smime.endswith("enveloped-data"), b""
        try:
            if not locked:
                content = data if is_entity(data) else signed_content(data)
        except DocumentError as error:
            locked = error.failure is Failure.ENCRYPTED
            if in_place and not locked:
                raise
        if locked:
            self.locked.append("an encrypted message")
            self._members.refuse(place.folder + name_of(part), len(data), Failure.ENCRYPTED, "an encrypted message")
        elif content and (in_place or is_entity(content)):
            self._envelopes += 1
            if self._envelopes > _NESTED:
                raise DocumentError(Failure.BOMB, f"a mail with more than {_NESTED} signed envelopes")
            self.signed = True
            self._part(self._tree(content), place)
        else:
            self._attachment(part, place)

    def _forwarded(self, message: Part, place: _Place) -> None:
        subject = header_text(message.header.get("subject", ""))
        title = self._layout.forwarded(subject)
        folder = f"{place.folder}{from_title(subject, 'forwarded message')}/"
        self._message(message, title, _Place(folder, title))

    def _parts(self, part: Part, place: _Place) -> None:
        if part.kind == "multipart/alternative":
            self._alternatives(part, place)
        elif part.kind == "multipart/signed":
            self.signed = True
            for one in (part.parts[0], *part.parts[2:]):  # the second is the signature
                self._part(one, place)
        elif part.kind == "multipart/related":
            shows = root(part)
            self._part(shows, place)
            for one in part.parts:
                if one is not shows:
                    self._part(one, replace(place, related=True, alternative=False))
        else:
            for one in part.parts:
                self._part(one, replace(place, alternative=False))

    def _alternatives(self, part: Part, place: _Place) -> None:
        """Read the last alternative that has something to show, then invitations; compare it with the others. Files
        may be attached in those that are not read: Apple Mail puts them there."""
        place = replace(place, alternative=True)
        shown = by_what_is_shown(part.parts) if place.read else []
        done, text = list[Part](), ""
        while shown and not text.strip():
            done.append(shown.pop())
            before = len(self._bodies)
            self._part(done[-1], place)
            text = "\n\n".join(self._bodies[before:])
        numbers = {one.number for one in done}
        for one in part.parts:
            if one.number not in numbers:
                self._part(one, place if one.kind in CARDS else replace(place, read=False))
        if text.strip():
            for one in done[:-1]:
                if one.parts or one.whole.strip():
                    self.writer.review(f"its {called(one)}, which mail programs show, shows no text")
            best = done[-1]
            if len(shown) > _COMPARED:
                self.writer.review(f"only {_COMPARED} of its {len(shown):,} other alternatives were compared")
            for other in shown[:_COMPARED]:
                names = called(best), called(other)
                unread = self._text_of(other, TextWriter.aside)
                if unread.strip():
                    self.notes += compare(
                        self.writer, text, unread, names, lambda: self._text_of(best, TextWriter.unseen)
                    )

    def _text_of(self, part: Part, inner: Callable[[TextWriter], TextWriter]) -> str:
        if part.parts:
            return "\n\n".join(self._text_of(one, inner) for one in part.parts)
        data = part.whole if is_text(part, alternative=True) else b""
        if not data.strip() or part.kind in CARDS:
            return ""
        text, writer = _decoded(part, data)[0].text, inner(self.writer)
        is_rtf = _is_rtf(part, data)
        if part.kind not in MARKUP and not is_rtf:
            return _text_in(part, take_apart(text))
        with contextlib.suppress(DocumentError):
            _ = write_rtf(writer, data) if is_rtf else write_html(writer, text, titled=False)
        return writer.finish()[0]

    def _tnef(self, part: Part, place: _Place) -> None:
        """Read what Outlook packed into one part: its body where the mail has none, and its files."""
        try:
            item = read_tnef(part.whole)
            if place.read:
                self._packed_body(item.body, place)
        except DocumentError as error:
            if error.failure is not Failure.CORRUPT:
                raise
            self.writer.review(f"its {TNEF} cannot be read: {error.reason}")
            self._attachment(part, place)
            return
        if item.damage:
            self.writer.review(item.damage)
        for name, content in item.files:
            self.found = True
            self._layout.attachment(place.title, name)
            self._members.add(place.folder + file_name(name), [content])

    def _packed_body(self, body: Body, place: _Place) -> None:
        self._layout.enter(place.title)
        texts, before = "\n\n".join(self._bodies[self._first :]), self.writer.length
        inner = self.writer.aside() if texts.strip() else self.writer
        self.notes += write_body(inner, body, self._members, place.folder)
        self.writer.gap()
        if inner is self.writer:
            self._took(self.writer.since(before))
        elif (text := inner.finish()[0]).strip():
            self.notes += compare(self.writer, texts, text, ("text", TNEF))

    def _attachment(self, part: Part, place: _Place) -> None:
        if self._is_decoration(part, place):
            self.counts[PICTURES] += 1
            return
        self.found = True
        given = header_text(part.header.get_filename() or "")
        self._layout.attachment(place.title, given or f"without a name ({part.kind})")
        self._members.add(place.folder + name_of(part), part.content())
        self._behind(part)

    def _behind(self, part: Part) -> None:
        if part.behind:
            self.notes.append("text behind the end of a part in base64, kept; not every mail program shows it")
            self.writer.line(part.behind.decode("utf-8", "backslashreplace"))
            self.writer.gap()

    def _partial(self, part: Part, place: _Place) -> None:
        """Read what is there of a message that was sent in several mails (RFC 2046, 5.2.2)."""
        number, total = (part.parameter(name) or "?" for name in ("number", "total"))
        self.writer.review(f"it holds only part {number} of {total} of a message")
        if number == "1":
            self._forwarded(self._tree(part.whole), place)
        else:
            self._body(part, place)

    def _is_decoration(self, part: Part, place: _Place) -> bool:
        """Whether it is a picture that the text shows. One that is called an attachment is that only if the text names
        it and it comes with the text."""
        if not part.kind.startswith("image/"):
            return False
        named = part.content_id in self._shown
        disposition = part.header.get_content_disposition()
        if disposition == "attachment":
            return named and place.related
        return named or place.related or (disposition == "inline" and not part.header.get_filename())

    def _body(self, part: Part, place: _Place) -> None:
        data = part.whole if place.read else b""
        if not data.strip():
            return
        self._layout.enter(place.title)
        before = self.writer.length
        try:
            notes = self._write(part, data, place)
        except DocumentError as error:
            if error.failure not in {Failure.CORRUPT, Failure.UNSUPPORTED}:
                raise
            self.writer.review(f"its {called(part)} cannot be read: {error.reason}")
            self._attachment(part, place)
            return
        self.notes += notes
        self.writer.gap()
        self._behind(part)
        self._took(self.writer.since(before))

    def _write(self, part: Part, data: bytes, place: _Place) -> list[str]:
        if part.kind in CARDS:
            decoded, notes = write_cards(self.writer, self._members, data, part.header.get_content_charset())
            self.decoded = self.decoded or decoded
            return notes
        if _is_rtf(part, data):
            return write_rtf(self.writer, data)
        decoded, notes = _decoded(part, data)
        if part.kind.startswith("text/") and part.kind not in _KNOWN:
            notes = [*notes, f"a part of the type {part.kind}, read as plain text"]
        self.decoded, text = self.decoded or decoded, decoded.text
        if part.kind in MARKUP and ARMOUR not in text:
            write_html(self.writer, text, titled=False)
            return notes
        if part.kind in MARKUP:
            inner = self.writer.inner()
            write_html(inner, text, titled=False)
            text = inner.finish()[0]
        plain = take_apart(text)
        # Account for what was cut out of a text.
        give(plain.files, self._members, place.folder)
        self.found |= bool(plain.files)
        self.counts["files that stood in its text, documents of their own"] += len(plain.files)
        self.counts["OpenPGP keys in its text, left out"] += plain.keys
        self.locked += [LOCKED] if plain.locked else []
        self.signed |= plain.signed
        for damage in plain.damage:
            self.writer.review(damage)
        self.writer.line(_text_in(part, plain))
        return notes

    def _took(self, text: str) -> None:
        self._bodies.append(text)
        self.found |= bool(text.strip())


def _is_rtf(part: Part, data: bytes) -> bool:
    return part.kind == _RTF and data.lstrip().startswith(b"{\\rtf")


def _decoded(part: Part, data: bytes) -> tuple[Decoded, list[str]]:
    declared = part.header.get_content_charset()
    return decode_text(data, declared) if declared else (decode(data, declared_in_markup(data)), [])


def _text_in(part: Part, plain: Plain) -> str:
    """A text with its soft line breaks joined, where it has such."""
    if part.kind in _ENRICHED:
        return plain_of_enriched(plain.text)
    said = {name: part.parameter(name).lower() for name in ("format", "delsp")}
    flows = part.kind == "text/plain" and said["format"] == "flowed"
    return unflow(plain.text, joined=said["delsp"] == "yes") if flows else plain.text
