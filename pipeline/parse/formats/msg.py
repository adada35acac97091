"""Outlook items ([MS-OXMSG]): a mail as eml.py writes it, appointments, contacts and tasks with their own fields.

What is attached is a document of its own. A message inside the message is written where it is attached, and what is
attached to that one stands in a folder named by its subject.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.encoding import codepages
from pipeline.parse.encoding.decode import declared_in_markup, decode
from pipeline.parse.formats.html import write_html
from pipeline.parse.formats.rtf import write_rtf
from pipeline.parse.mail.alternatives import compare
from pipeline.parse.mail.layout import PICTURES, MailLayout, file_name
from pipeline.parse.mail.plain import LOCKED, Plain, give, take_apart
from pipeline.parse.mail.signed import is_cms, signed_content
from pipeline.parse.members import Members
from pipeline.parse.office.binary.mapi import FIXED, Body, Properties, decompress, named
from pipeline.parse.office.binary.ole import CompoundFile
from pipeline.parse.office.embedded import file_of
from pipeline.parse.unpack.names import from_title, left_out
from pipeline.parse.writer import TextWriter, one_line

PARSER = "msg/4"
_OF_FILE, _OF_MESSAGE, _OF_PART = 32, 24, 8  # bytes before the entries of properties
_CLASS, _SUBJECT, _BODY, _HTML, _RTF, _PAGE = 0x001A, 0x0037, 0x1000, 0x1013, 0x1009, 0x3FDE
_NATIVE, _PLAIN = 0x1016, 1
_SENT, _DELIVERED = 0x0039, 0x0E06
_FROM = ((0x0042, 0x5D02, 0x0065), (0x0C1A, 0x5D01, 0x0C1F))  # name, address, address where it may be of Exchange
_RECIPIENT = (0x3001, 0x39FE, 0x3003)
_RECIPIENT_KIND, _SHOWN_TO = 0x0C15, {"To": 0x0E04, "Cc": 0x0E03}
_KINDS = {1: "To", 2: "Cc"}
_DATA, _METHOD, _NAMES, _MIME = 0x3701, 0x3705, (0x3707, 0x3704, 0x3001), 0x370E
_UNSEEN, _PICTURES = 0x7FFE, (".png", ".jpg", ".jpeg", ".gif", ".bmp")  # pictures that the text shows
_STORAGE = "__substg1.0_3701000d"
_FIELDS = {  # by what the class begins with: properties that are shown, by number or as a name's number
    "ipm.appointment": (("Location", 0x8208), ("Start", 0x820D), ("End", 0x820E)),
    "ipm.schedule.meeting": (("Location", 0x8208), ("Start", 0x820D), ("End", 0x820E)),
    "ipm.task": (("Start", 0x8104), ("Due", 0x8105), ("Owner", 0x811F)),
    "ipm.contact": (
        ("Name", 0x3001), ("Company", 0x3A16), ("Title", 0x3A17), ("Department", 0x3A18), ("E-mail", 0x8083),
        ("E-mail", 0x8093), ("E-mail", 0x80A3), ("Business phone", 0x3A08), ("Home phone", 0x3A09),
        ("Mobile", 0x3A1C), ("Fax", 0x3A24), ("Business address", 0x801B), ("Home address", 0x801A),
        ("Web page", 0x802B),
    ),
}  # fmt: skip


def parse(source: Source, media_type: str) -> Parsed:
    """The item; raises DocumentError."""
    file = CompoundFile(source.data)
    reading = _Reading(source, file)
    message = Properties(file, file.root, _OF_FILE)
    if _is_locked(message):
        raise DocumentError(Failure.ENCRYPTED, "an encrypted message")
    reading.message(message, "", "Headers", "Body")
    notes = [*left_out(reading.counts), *reading.notes]
    return finish(source, reading.writer, media_type, PARSER, notes=notes)


def write_body(writer: TextWriter, body: Body, members: Members, folder: str = "") -> list[str]:
    """Write the body that Outlook shows: the HTML, else the RTF, else the plain text, or that one if it is said to be
    what was written. The plain text beside another is compared with it; files in it go to `members`. Notes for the row;
    raises DocumentError."""
    plain = take_apart(body.text)
    kinds: dict[str, Callable[[TextWriter], list[str]]] = {"plain text": lambda one: _write_text(one, plain)}
    if body.rtf:
        kinds["RTF"] = lambda one: write_rtf(one, decompress(body.rtf))
    if body.markup.strip():
        kinds["HTML"] = lambda one: _write_markup(one, body)
    names = ["plain text"] if body.native == _PLAIN and body.text.strip() else [*kinds][::-1]
    for name in names:
        before = writer.length
        try:
            notes = kinds[name](writer)
        except DocumentError as error:
            if error.failure not in {Failure.CORRUPT, Failure.UNSUPPORTED} or not body.text.strip():
                raise
            writer.review(f"its {name}, which Outlook shows, cannot be read: {error.reason}")
            continue
        if name == "plain text":
            give(plain.files, members, folder)
        if (text := writer.since(before)).strip() or name == names[-1]:
            if name == "plain text" or not body.text.strip():
                return notes
            unseen = partial(_unseen, writer, kinds[name])
            return notes + compare(writer, text, body.text, (name, "plain text"), unseen)
        if name != "plain text" and body.text.strip():
            writer.review(f"its {name}, which Outlook shows, shows no text")
    return []


def _unseen(writer: TextWriter, write: Callable[[TextWriter], object]) -> str:
    inner = writer.unseen()
    write(inner)
    return inner.finish()[0]


def _write_markup(writer: TextWriter, body: Body) -> list[str]:
    text = decode(body.markup, body.encoding or declared_in_markup(body.markup)).text
    write_html(writer, text, titled=False)
    return []


def _write_text(writer: TextWriter, plain: Plain) -> list[str]:
    """Write a plain text without the cipher in it; raises DocumentError(ENCRYPTED) where there is nothing else."""
    if plain.locked and not plain.text.strip():
        raise DocumentError(Failure.ENCRYPTED, LOCKED)
    for why in [*plain.damage, *([f"{LOCKED} in it was left out"] if plain.locked else [])]:
        writer.review(why)
    writer.line(plain.text)
    return [f"left out of it: {LOCKED}"] if plain.locked else []


class _Reading:
    def __init__(self, source: Source, file: CompoundFile) -> None:
        self.writer = source.writer()
        self.notes: list[str] = []
        self.counts = Counter[str]()
        self._source = source
        self._file = file
        self._layout = MailLayout(self.writer)
        self._named = named(file)

    def message(self, message: Properties, folder: str, head: str, section: str) -> None:
        """Write a message, its head and its body in sections so called, then what is attached, into a folder."""
        self._layout.head(head, _head(message))
        kind = message.text(_CLASS).lower()
        for prefix, fields in _FIELDS.items():
            if kind.startswith(prefix):
                values = [
                    (name, message.value(self._named.get(number, 0) if number >= 0x8000 else number))
                    for name, number in fields
                ]
                self._layout.head(head, values)
        self._layout.enter(section)
        page = codepages.of_page(message.number(_PAGE) or 0)
        markup, rtf = message.binary(_HTML) or b"", message.binary(_RTF) or b""
        body = Body(message.text(_BODY), markup, page, rtf, message.number(_NATIVE) or 0)
        self.notes += write_body(self.writer, body, self._source.members, folder)
        self.writer.gap()
        for attachment in message.inside("__attach", _OF_PART):
            self._attachment(attachment, folder, section)

    def _attachment(self, attachment: Properties, folder: str, section: str) -> None:
        name = next(filter(None, (one_line(attachment.text(number)) for number in _NAMES)), "without a name")
        inner = attachment.storage.storages.get(_STORAGE)
        data = attachment.binary(_DATA) if inner is None else None
        if inner is not None and FIXED in inner.streams:
            message = Properties(self._file, inner, _OF_MESSAGE)
            subject = one_line(message.text(_SUBJECT))
            title = self._layout.forwarded(subject)
            if _is_locked(message):
                self.notes.append(f"a message inside is encrypted: {subject}")
            self.message(message, f"{folder}{from_title(subject, 'forwarded message')}/", title, title)
            return
        if attachment.number(_UNSEEN) and name.lower().endswith(_PICTURES):
            self.counts[PICTURES] += 1
            return
        self._layout.attachment(section, name)
        if inner is not None and (found := file_of(self._file, inner)):
            name, data = found
        name = folder + file_name(name)
        if data is None:
            reason = "an object of another program" if inner else "only a link to a file"
            self._source.members.refuse(name, 0, Failure.UNSUPPORTED, reason)
        else:
            self._source.members.add(name, [data])


def _is_locked(message: Properties) -> bool:
    """Whether the message is only an envelope; one that is signed can be read."""
    if message.text(_CLASS).lower() != "ipm.note.smime":
        return False
    parts = list(message.inside("__attach", _OF_PART))
    return not any("signed" in part.text(_MIME).lower() or _is_signed(part.binary(_DATA) or b"") for part in parts)


def _is_signed(data: bytes) -> bool:
    try:
        return is_cms(data) and signed_content(data) != b""
    except DocumentError:
        return False


def _head(message: Properties) -> Iterator[tuple[str, str]]:
    yield "From", next(filter(None, (_address(message, numbers) for numbers in _FROM)), "")
    people: dict[str, list[str]] = {}
    for one in message.inside("__recip", _OF_PART):
        people.setdefault(_KINDS.get((one.number(_RECIPIENT_KIND) or 1) & 0xF, ""), []).append(
            _address(one, _RECIPIENT)
        )
    for name, number in _SHOWN_TO.items():
        yield name, ", ".join(filter(None, people.get(name, []))) or message.text(number)
    yield "Date", message.time(_SENT) or message.time(_DELIVERED)
    yield "Subject", message.text(_SUBJECT)


def _address(one: Properties, numbers: tuple[int, int, int]) -> str:
    """A person as mails write one: the name, then the address, unless that is one of Exchange."""
    name, *addresses = (one_line(one.text(number)) for number in numbers)
    address = next((address for address in addresses if "@" in address), "")
    return f"{name} <{address}>" if name and address and name != address else name or address
