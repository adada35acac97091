"""Calendars and cards: lines unfolded, values unescaped, dates that people read, files within."""

import base64

import pytest

from pipeline.errors import Failure


def event(*lines: str, end: str = "\r\n") -> bytes:
    return end.join(["BEGIN:VCALENDAR", "VERSION:2.0", "BEGIN:VEVENT", *lines, "END:VEVENT", "END:VCALENDAR"]).encode()


def test_an_invitation(parse) -> None:
    data = (
        "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nPRODID:x\r\nBEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nEND:VTIMEZONE\r\n"
        'BEGIN:VEVENT\r\nDTSTART;TZID=Europe/Berlin:20261130T140000\r\nDTEND;TZID="Europe/Berlin":20261130T153000\r\n'
        "SUMMARY;LANGUAGE=de:Besichtigung\\, Haus 7\r\n"
        'ORGANIZER;CN="Weber, Anna":mailto:anna@example.org\r\nATTENDEE;ROLE=CHAIR:MAILTO:bo@example.org\r\n'
        "DESCRIPTION:Die Kaution betr\r\n ägt 2.4\r\n\t00 EUR.\\nGruß\\; A.\\\\B\r\n"
        "X-WR-RELCALID:1\r\nDTSTAMP:20261101T000000Z\r\n"
        "BEGIN:VALARM\r\nTRIGGER:-PT15M\r\nDESCRIPTION:Reminder\r\nEND:VALARM\r\n"
        "END:VEVENT\r\nEND:VCALENDAR\r\n"
    ).encode()
    folded = data.replace("ä".encode(), b"\xc3\r\n \xa4")  # within a character
    for one in (data, folded, b"\xef\xbb\xbf" + data, data.replace(b"\r\n", b"\n"), data.decode().encode("utf-16")):
        parsed = parse(one, "x")
        assert parsed.media_type == "text/calendar"
        assert parsed.text == (
            "Method: REQUEST\n\nStart: 2026-11-30 14:00 (Europe/Berlin)\nEnd: 2026-11-30 15:30 (Europe/Berlin)\n"
            "Summary: Besichtigung, Haus 7\nOrganizer: Weber, Anna <anna@example.org>\nAttendee: bo@example.org\n"
            "Description: Die Kaution beträgt 2.400 EUR.\nGruß; A.\\B\n\nDescription: Reminder"
        )
        assert parsed.notes == (
            "fields for programs, not read: 4",
            "fields of one program (X-), not read: 1",
        )


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("DTSTART:20261130", "Start: 2026-11-30"),
        ("DTSTART;VALUE=DATE:20261130", "Start: 2026-11-30"),
        ("DUE:20261130T080005Z", "Due: 2026-11-30 08:00:05 UTC"),
        ("EXDATE;TZID=Asia/Tokyo:20261130T080000,20261207T080000",
         "Not on: 2026-11-30 08:00 (Asia/Tokyo), 2026-12-07 08:00 (Asia/Tokyo)"),
        ("FREEBUSY:20261130T080000Z/PT1H", "Busy: 2026-11-30 08:00 UTC/PT1H"),
        ("DTSTART:soon", "Start: soon"),
        ("RRULE:FREQ=WEEKLY;COUNT=4", "Repeats: FREQ=WEEKLY;COUNT=4"),
        ("LAST-SEEN:x", "Last seen: x"),
        ("SUMMARY;CHARSET=\0x:Gr\u00fc\u00dfe", "Summary: Grüße"),
        ("SUMMARY;CHARSET=zlib:x", "Summary: x"),
        ("STATUS:CANCELLED", "Status: CANCELLED"),
        ('LOCATION;ALTREP="cid:a:b;c":Room 7: left', "Location: Room 7: left"),
        ("ATTACH:https://example.org/a.pdf", "Attach: https://example.org/a.pdf"),
        ("X-ALT-DESC;FMTTYPE=text/html:<p>Pay <b>5</b> EUR\\, please</p>", "Description: Pay 5 EUR, please"),
    ],
)  # fmt: skip
def test_fields(parse, field: str, line: str) -> None:
    assert parse(event(field)).text == line


def test_two_descriptions_that_differ_are_for_a_person(parse) -> None:
    html = "X-ALT-DESC;FMTTYPE=text/html:<p>Pay {} EUR to Ann.</p>"
    same = parse(event("DESCRIPTION:Pay 5 EUR to Ann.", html.format(5)))
    assert (same.text, same.unsure) == ("Description: Pay 5 EUR to Ann.", ())
    assert "9" in parse(event("DESCRIPTION:Pay 5 EUR to Ann.", html.format(9))).unsure[0]


def test_a_file_within_is_a_document(parse_members) -> None:
    field = "ATTACH;FILENAME=../k.txt;ENCODING=BASE64;VALUE=BINARY:" + base64.b64encode(b"the file").decode()
    parsed, members = parse_members(event("SUMMARY:x", field))
    assert members == {".._k.txt": b"the file"}
    assert parsed.text == "Summary: x\nAttachment: ../k.txt"


CARD_3 = (
    "BEGIN:VCARD\nVERSION:3.0\nN:Weber;Anna;;Dr.;\nFN:Dr. Anna Weber\nORG:Nord\\, Süd GmbH;Sales\n"
    "item1.TEL;TYPE=WORK,VOICE:+49 30 1234\nTEL;TYPE=cell:0170 5\nADR;TYPE=HOME:;;Ring 7;Köln;;50667;Germany\n"
    "BDAY:1980-05-17\nNOTE:pays\\nlate\nPHOTO;ENCODING=b;TYPE=JPEG:/9j/4A==\nREV:2026\nEND:VCARD\n"
)
CARD_21 = (
    "BEGIN:VCARD\r\nVERSION:2.1\r\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Ann =C3=84rger=\r\n mann\r\n"
    "NOTE;QUOTED-PRINTABLE;CHARSET=ISO-8859-1:Gr=FC=DFe=0D=0A=\r\nbis bald\r\nTEL;HOME;FAX:5\r\nEND:VCARD\r\n"
)


def test_cards(parse) -> None:
    parsed = parse(CARD_3.encode(), "a.vcf")
    assert (parsed.media_type, parsed.parser) == ("text/vcard", "vcf/2")
    assert parsed.text == (
        "Name: Weber, Anna, Dr.\nName: Dr. Anna Weber\nOrganization: Nord, Süd GmbH, Sales\nPhone (work): +49 30 1234\n"
        "Phone (cell): 0170 5\nAddress (home): Ring 7, Köln, 50667, Germany\nBirthday: 1980-05-17\nNote: pays\nlate"
    )
    assert parsed.notes == ("fields for programs, not read: 2", "pictures, sounds and keys, not read: 1")
    assert parse(CARD_21.encode()).text == "Name: Ann Ärger mann\nNote: Grüße\nbis bald\nPhone (home, fax): 5"
    assert parse(CARD_3.encode() * 2).text.count("Name: Dr. Anna Weber") == 2


def test_lines_that_are_no_fields_are_counted(parse) -> None:
    parsed = parse(event("SUMMARY:x", "no field at all", 'BAD;P="open:y'))
    assert (parsed.text, parsed.notes[-1]) == ("Summary: x", "lines that are no fields: 2")


def test_one_that_says_nothing_is_empty(fail) -> None:
    assert fail(event("UID:1")).failure is Failure.EMPTY


def test_text_about_calendars_is_text(parse) -> None:
    assert parse(b"The line BEGIN:VCALENDAR begins one.\n").media_type == "text/plain"


def test_long_lines_and_many_folds(parse) -> None:
    folds = "DESCRIPTION:" + "\r\n ".join(["x"] * 100_000)
    soft = "NOTE;ENCODING=QUOTED-PRINTABLE:" + "=\r\n".join(["y"] * 100_000)
    parsed = parse(event(folds, soft))
    assert parsed.text == f"Description: {'x' * 100_000}\nNote: {'y' * 100_000}"
    assert parse(event("SUMMARY:z", 'A;B="' * 100_000)).text == "Summary: z"
