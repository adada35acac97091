"""Calendars (RFC 5545, vCalendar 1.0), and cards of people for vcf.py: a line for each field.

Lines are unfolded as bytes, for programs fold within a character, too. Fields for programs alone are counted.
"""

import binascii
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.document import Parsed
from pipeline.parse.contract import Source, finish
from pipeline.parse.encoding.decode import Decoded, decode
from pipeline.parse.formats.html import write_html
from pipeline.parse.mail.alternatives import compare
from pipeline.parse.mail.header import decode_text
from pipeline.parse.members import Members
from pipeline.parse.unpack.names import left_out, one_name, printable
from pipeline.parse.writer import TextWriter

PARSER = "ics/2"
_BEGIN = re.compile(rb"\s*BEGIN:V(CALENDAR|CARD)\s", re.IGNORECASE)
_HEAD = 200  # bytes that are looked at
_LINE = re.compile(r'(?:[\w-]+\.)?([\w-]+)((?:;(?:[^":;]|"[^"]*")*)*):(.*)', re.DOTALL)
_PARAMETER = re.compile(r';([\w-]+)(?:=((?:[^";]|"[^"]*")*))?')
_QUOTED = re.compile(rb"ENCODING=QUOTED-PRINTABLE|;QUOTED-PRINTABLE", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_TIME = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d):?(\d\d)?(Z?))?")
_NAMES = {
    "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "RRULE": "Repeats", "EXDATE": "Not on", "RDATE": "Also on",
    "RECURRENCE-ID": "Instead of", "FREEBUSY": "Busy",
    "FN": "Name", "N": "Name", "ORG": "Organization", "TEL": "Phone", "ADR": "Address",
    "BDAY": "Birthday", "PERCENT-COMPLETE": "Percent complete", "X-ALT-DESC": "Description",
    "X-WR-CALNAME": "Calendar",
}  # fmt: skip
_TIMES = {"DTSTART", "DTEND", "DUE", "COMPLETED", "EXDATE", "RDATE", "RECURRENCE-ID", "BDAY", "ANNIVERSARY", "FREEBUSY"}
_LISTS = {"N", "ADR", "ORG"}  # several values, between semicolons
_FILES = {"ATTACH", "PHOTO", "LOGO", "SOUND", "KEY"}
_FOR_PROGRAMS = {
    "VERSION", "PRODID", "CALSCALE", "UID", "DTSTAMP", "CREATED", "LAST-MODIFIED", "SEQUENCE", "TRANSP", "REV", "CLASS",
    "ACTION", "TRIGGER", "SOURCE", "REFRESH-INTERVAL", "PROFILE", "MAILER", "CLIENTPIDMAP", "ACKNOWLEDGED", "KIND",
}  # fmt: skip
_TYPES_SAID = {"home", "work", "cell", "fax", "pager", "mobile", "main", "car"}
_PERSON = re.compile(r"mailto:", re.IGNORECASE)


def is_mine(source: Source) -> bool:
    """Whether the document begins as a calendar does."""
    return begins(source.data) == "CALENDAR"


def parse(source: Source, media_type: str) -> Parsed:
    """The events and tasks in it; raises DocumentError."""
    return read(source, media_type, PARSER)


def begins(data: bytes) -> str:
    """What begins in these bytes: "CALENDAR", "CARD" or ""."""
    found = _BEGIN.match(data[:_HEAD].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe"))
    return found[1].decode().upper() if found else ""


def read(source: Source, media_type: str, parser: str) -> Parsed:
    """A calendar, or the cards of one file; raises DocumentError."""
    writer = source.writer()
    decoded, notes = write_cards(writer, source.members, source.data)
    return finish(source, writer, media_type, parser, notes=notes, decoded=decoded)


def write_cards(
    writer: TextWriter, members: Members, data: bytes, declared: str | None = None
) -> tuple[Decoded, list[str]]:
    """Write the fields of a calendar or of cards, and give the files in them to `members`. Returns how they were
    decoded, and notes for the row; raises DocumentError."""
    if 0 in data[:_HEAD]:
        data = decode(data, declared).text.encode("utf-8", "replace")
    lines = [line for line in _lines(data) if line.strip()]
    decoded = decode(b"\n".join(lines), declared)
    reading = _Reading(writer, members)
    for line in lines:
        reading.field(_field(line, decoded.encoding))
    return decoded, [*left_out(reading.counts), *dict.fromkeys(reading.notes)]


@dataclass(frozen=True)
class _Field:
    """A field: its name in upper case ("": a line that is none), its parameters (those without a name are types), its
    value as it is written.
    """

    name: str
    parameters: dict[str, str]
    value: str


def _lines(data: bytes) -> Iterator[bytes]:
    """The lines as they were before they were folded, or broken by quoted-printable (vCard 2.1)."""
    gathered: list[bytes] = []
    quoted = False
    for line in data.removeprefix(b"\xef\xbb\xbf").splitlines():
        if quoted and gathered[-1].endswith(b"="):
            gathered[-1] = gathered[-1][:-1]
            gathered.append(line)
        elif gathered and line[:1] in {b" ", b"\t"}:
            gathered.append(line[1:])
        else:
            yield b"".join(gathered)
            gathered, quoted = [line], _QUOTED.search(line.partition(b":")[0]) is not None
    yield b"".join(gathered)


def _field(line: bytes, encoding: str) -> _Field:
    found = _LINE.fullmatch(line.decode("latin-1"))
    if found is None:
        return _Field("", {}, "")
    value, parameters = found[3].encode("latin-1"), _parameters(found[2])
    if _QUOTED.search(found[2].encode("latin-1")):
        value = binascii.a2b_qp(value)
    declared = parameters.get("CHARSET")
    text = decode_text(value, declared)[0].text if declared and value else value.decode(encoding, "replace")
    return _Field(found[1].upper(), parameters, text)


def _parameters(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in _PARAMETER.findall(text):
        name, value = (name.upper(), value.replace('"', "")) if value else ("TYPE", name)
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


class _Reading:
    def __init__(self, writer: TextWriter, members: Members) -> None:
        self.counts = Counter[str]()
        self.notes: list[str] = []
        self._writer = writer
        self._members = members
        self._open: list[str] = []  # the names of what has begun
        self._described = ""
        self._named = False

    def field(self, field: _Field) -> None:
        """Write a field, begin or end what holds fields."""
        if field.name == "BEGIN":
            self._open.append(field.value.strip().upper())
            self._writer.gap()
            self._described, self._named = self._described if field.value == "VALARM" else "", False
        elif field.name == "END":
            self._open = self._open[:-1]
            self._writer.gap()
        elif not field.name:
            self.counts["lines that are no fields"] += 1
        elif field.name in _FOR_PROGRAMS or "VTIMEZONE" in self._open:
            self.counts["fields for programs, not read"] += 1
        elif field.name.startswith("X-") and field.name not in _NAMES:
            self.counts["fields of one program (X-), not read"] += 1
        elif field.name in _FILES:
            self._file(field)
        elif field.value.strip():
            self._line(field)

    def _line(self, field: _Field) -> None:
        value = self._value(field)
        if field.name == "X-ALT-DESC":
            value = self._other_description(field)
        elif field.name == "DESCRIPTION":
            self._described = value
        elif field.name == "N" and self._named:
            return
        self._named |= field.name == "FN"
        if value.strip():
            name = _NAMES.get(field.name, field.name.capitalize().replace("-", " "))
            types = ", ".join(one for one in field.parameters.get("TYPE", "").lower().split(",") if one in _TYPES_SAID)
            self._writer.line(f"{name} ({types}): {value}" if types else f"{name}: {value}")

    def _value(self, field: _Field) -> str:
        if field.name in _TIMES:
            zone = field.parameters.get("TZID", "")
            periods = (one.split("/") for one in field.value.split(","))
            return ", ".join("/".join(_moment(moment, zone) for moment in one) for one in periods)
        if field.name in _LISTS:
            return ", ".join(filter(None, (_unescaped(one).strip() for one in re.split(r"(?<!\\);", field.value))))
        if _PERSON.match(field.value):
            name, address = field.parameters.get("CN", ""), field.value[len("mailto:") :]
            return f"{name} <{address}>" if name and name != address else address
        return _unescaped(field.value)

    def _other_description(self, field: _Field) -> str:
        """The description in HTML, which Outlook shows, where it is the only one; else it is compared with that."""
        inner = self._writer.aside()
        write_html(inner, _unescaped(field.value), titled=False)
        text = inner.finish()[0]
        if not self._described:
            return text
        self.notes += compare(self._writer, self._described, text, ("description", "description in HTML"))
        return ""

    def _file(self, field: _Field) -> None:
        """A file within a field is a document of its own, and a picture of a person none; an address stays."""
        kind = field.parameters.get("ENCODING", field.parameters.get("TYPE", "")).upper()
        address = field.value.strip()
        if not ({"B", "BASE64"} & set(kind.split(","))) and address[:5].lower() != "data:":
            self._writer.line(f"{field.name.capitalize()}: {address}")
        elif field.name != "ATTACH":
            self.counts["pictures, sounds and keys, not read"] += 1
        else:
            name = printable(field.parameters.get("FILENAME") or field.parameters.get("X-FILENAME") or "attachment")
            self._writer.line(f"Attachment: {name}")
            data = address.rpartition("base64,")[2].encode("ascii", "replace")
            self._members.add(one_name(name), [_of_base64(data)])


def _of_base64(data: bytes) -> bytes:
    data = re.sub(rb"[^A-Za-z0-9+/]", b"", data)
    return binascii.a2b_base64(data[: len(data) - (len(data) % 4 == 1)] + b"=" * (-len(data) % 4))


def _unescaped(value: str) -> str:
    return _ESCAPE.sub(lambda one: {"n": "\n", "N": "\n"}.get(one[1], one[1]), value)


def _moment(value: str, zone: str) -> str:
    """A date, and the time of day with its zone, as people write them; what is none stays."""
    found = _TIME.fullmatch(value.strip())
    if found is None:
        return value.strip()
    year, month, day, hour, minute, second, utc = found.groups()
    text = f"{year}-{month}-{day}"
    if hour is None:
        return text
    text += f" {hour}:{minute}" + (f":{second}" if second not in {None, "00"} else "")
    return f"{text} UTC" if utc else f"{text} ({zone})" if zone else text
