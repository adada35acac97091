"""MSG: heads, bodies in three forms, what is attached, messages in messages, and items that are no mail."""

import datetime
import struct

import pytest

from pipeline.errors import Failure
from tests.pipeline.parse.compound import Tree, compound
from tests.pipeline.parse.formats.test_eml import envelope
from tests.pipeline.parse.legacy import item

SENT = datetime.datetime(2026, 11, 20, 9, 30, tzinfo=datetime.UTC)
TICKS = int((SENT - datetime.datetime(1601, 1, 1, tzinfo=datetime.UTC)).total_seconds()) * 10_000_000
PEOPLE: dict[int, str | bytes] = {0x0042: "Ann", 0x0065: "ann@example.org", 0x0037: "Hello"}


def recipient(name: str, address: str, kind: int) -> Tree:
    return item({0x3001: name, 0x39FE: address}, {0x0C15: (3, kind)}, header=8)


def attached(name: str, data: bytes, mime: str = "") -> Tree:
    return item({0x3707: name, 0x3701: data, 0x370E: mime}, {0x3705: (3, 1)}, header=8)


def test_a_mail_is_laid_out_as_an_eml_is(parse) -> None:
    tree = item(
        {**PEOPLE, 0x1000: "Dear Bob,\r\nyes.\r\n", 0x1013: b"<title>no</title><p>Dear <b>Bob</b>,<br>yes.</p>"},
        {0x0039: (0x40, TICKS)},
        **{
            "__recip_version1.0_#00000000": recipient("Bob", "bob@example.org", 1),
            "__recip_version1.0_#00000001": recipient("", "cy@example.org", 1),
            "__recip_version1.0_#00000002": recipient("Dan", "/o=x/cn=dan", 2),
        },
    )
    parsed = parse(compound(tree))
    assert parsed.media_type == "application/vnd.ms-outlook"
    assert parsed.text == (
        "From: Ann <ann@example.org>\nTo: Bob <bob@example.org>, cy@example.org\nCc: Dan\n"
        "Date: Fri, 20 Nov 2026 09:30:00 +0000\nSubject: Hello\n\nDear Bob,\nyes."
    )


EUC_TW = b"".join(b"\x8e\xa2" + bytes((0xA1 + i % 90, 0xFE - i % 87)) + b"\xc4\xd9" for i in range(100))  # no table
RICH = b"{\\rtf1\\ansi Pay 9 EUR\\par}"


def rtf(data: bytes = RICH) -> bytes:
    return struct.pack("<II4sI", len(data) + 12, len(data), b"MELA", 0) + data


@pytest.mark.parametrize(
    ("bodies", "native", "text", "unsure"),
    [
        ({0x1013: b"<p>Pay 5 EUR</p>", 0x1009: rtf()}, 0, "Pay 5 EUR", "its HTML: 7"),
        ({0x1009: rtf()}, 0, "Pay 9 EUR", "its RTF: 7"),
        ({0x1009: rtf()}, 2, "Pay 9 EUR", "its RTF: 7"),
        ({0x1009: rtf()}, 1, "Pay 7 EUR", ""),  # the message says that the plain text was written
        ({0x1013: b"<p>Pay <b>7</b> EUR</p>"}, 3, "Pay 7 EUR", ""),
        ({0x1013: b"<img src=x>"}, 3, "Pay 7 EUR", "its HTML, which Outlook shows, shows no text"),
        ({0x1013: EUC_TW}, 0, "Pay 7 EUR", "its HTML, which Outlook shows, cannot be read"),
        ({0x1009: b"damaged"}, 0, "Pay 7 EUR", "its RTF, which Outlook shows, cannot be read"),
    ],
)
def test_the_body_that_outlook_shows_is_read(parse, bodies, native: int, text: str, unsure: str) -> None:
    parsed = parse(compound(item({0x1000: "Pay 7 EUR", **bodies}, {0x1016: (3, native)} if native else {})))
    assert parsed.text == text
    assert [unsure in why for why in parsed.unsure] == ([True] if unsure else [])


def test_html_is_read_in_its_encoding(parse) -> None:
    body = "<p>Привет</p>".encode("cp1251")
    assert parse(compound(item({0x1013: body}, {0x3FDE: (3, 1251)}))).text == "Привет"


def test_texts_of_one_byte_are_in_the_code_page_of_the_message(parse) -> None:
    tree = item({}, {0x3FFD: (3, 1253)})
    tree |= {"__substg1.0_0037001E": "Θέμα".encode("cp1253"), "__substg1.0_1000001E": "Λήψη".encode("cp1253")}
    assert parse(compound(tree)).text == "Subject: Θέμα\n\nΛήψη"


LITERAL = b"{\\rtf1\\ansi all of it\\par}"


def packed(kind: bytes, data: bytes) -> bytes:
    return struct.pack("<II4sI", len(data) + 12, 99, kind, 0) + data


def lzfu() -> bytes:
    """A reference to what the ring begins with ("{\\rtf1\\ansi"), then letters, then the end."""
    begin, letters = b"\x01" + struct.pack(">H", 0 << 4 | 11 - 2), b" all of it\\par}"
    assert len(letters) == 7 + 8
    end = struct.pack(">H", (207 + 11 + len(letters)) << 4)
    return packed(b"LZFu", begin + letters[:7] + b"\0" + letters[7:] + b"\x01" + end)


@pytest.mark.parametrize("rtf", [packed(b"MELA", LITERAL), lzfu()])
def test_compressed_rtf(parse, rtf: bytes) -> None:
    rtf = rtf[:4] + struct.pack("<I", len(LITERAL)) + rtf[8:]
    assert parse(compound(item({0x1009: rtf}))).text == "all of it"


def test_damaged_rtf(fail) -> None:
    for data in (b"x", packed(b"what", b"x"), packed(b"LZFu", b"\xff\xff"), packed(b"LZFu", b"\x01\xff\x00")):
        assert fail(compound(item({0x1009: data}))).failure is Failure.CORRUPT


def test_attachments_are_documents_of_their_own(parse_members) -> None:
    inner = item(
        {0x0037: "A/B", 0x1000: "inner"}, header=24, **{"__attach_version1.0_#00000000": attached("c.txt", b"see")}
    )
    link = item({0x3707: "far.doc"}, {0x3705: (3, 7)}, header=8)
    tree = item(
        {**PEOPLE, 0x1000: "outer"},
        **{
            "__attach_version1.0_#00000000": attached("a.txt", b"first"),
            "__attach_version1.0_#00000001": {**item({0x3001: "A"}, header=8), "__substg1.0_3701000D": inner},
            "__attach_version1.0_#00000002": link,
            "__attach_version1.0_#00000003": attached("", b"last"),
        },
    )
    parsed, members = parse_members(compound(tree))
    assert members == {
        "a.txt": b"first", "A B/c.txt": b"see", "far.doc": Failure.UNSUPPORTED, "without a name": b"last",
    }  # fmt: skip
    assert parsed.text.split("\n\n")[1:] == [
        "outer", "Attachment: a.txt", "Forwarded message:", "Subject: A/B", "inner", "Attachment: c.txt",
        "Attachment: far.doc", "Attachment: without a name",
    ]  # fmt: skip
    assert [one.title for one in parsed.sections] == [
        "Headers", "Body", "Forwarded message: A/B", "Body",
    ]  # fmt: skip


def test_pictures_that_the_text_shows_are_counted(parse_members) -> None:
    picture = {
        **attached("logo.PNG", b"x"),
        "__properties_version1.0": bytes(8) + struct.pack("<HHIQ", 11, 0x7FFE, 6, 1),
    }
    parsed, members = parse_members(compound(item({0x1000: "x"}, **{"__attach_version1.0_#00000000": picture})))
    assert (parsed.text, members) == ("x", {})
    assert parsed.notes == ("pictures shown in its text, not read: 1",)


def test_what_is_signed_can_be_read_and_what_is_locked_cannot(fail, parse_members) -> None:
    def smime(kind: str, mime: str) -> bytes:
        part = attached("smime.p7m", b"x", mime)
        return compound(item({0x001A: kind, 0x0037: "S"}, **{"__attach_version1.0_#00000000": part}))

    assert fail(smime("IPM.Note.SMIME", "application/pkcs7-mime")).failure is Failure.ENCRYPTED
    for data in (
        smime("IPM.Note.SMIME", "application/pkcs7-mime; smime-type=signed-data"),
        smime("IPM.Note.SMIME.MultipartSigned", "multipart/signed"),
    ):
        assert parse_members(data)[1] == {"smime.p7m": b"x"}


def test_an_envelope_that_does_not_say_so_is_signed_all_the_same(parse_members) -> None:
    data = envelope(b"Content-Type: text/plain\n\nHello\n")
    part = attached("smime.p7m", data, "application/pkcs7-mime")
    tree = item({0x001A: "IPM.Note.SMIME", 0x0037: "S"}, **{"__attach_version1.0_#00000000": part})
    assert parse_members(compound(tree))[1] == {"smime.p7m": data}


def test_a_cipher_in_the_text_is_left_out_and_told(parse, fail) -> None:
    cipher = "-----BEGIN PGP MESSAGE-----\r\n\r\nhQEMA+/x\r\n-----END PGP MESSAGE-----\r\n"
    parsed = parse(compound(item({0x1000: f"Hi Bo,\r\n{cipher}"})))
    assert parsed.text == "Hi Bo,"
    assert parsed.unsure == ("an encrypted message (OpenPGP) in it was left out",)
    assert fail(compound(item({0x1000: cipher}))).failure is Failure.ENCRYPTED


def test_a_uuencoded_file_in_the_text_is_a_document(parse_members) -> None:
    text = "see\r\nbegin 644 k.txt\r\n%:&5L;&\\\r\n`\r\nend\r\n"
    parsed, members = parse_members(compound(item({0x1000: text})))
    assert (parsed.text, members) == ("see", {"k.txt": b"hello"})


def test_an_appointment_has_its_own_fields(parse) -> None:
    names = {"__substg1.0_00030102": struct.pack("<IHHIHHIHH", 0x8208, 0, 0, 0x820D, 0, 1, 0x8208, 1, 5)}
    tree = item(
        {0x001A: "IPM.Appointment", 0x0037: "Meeting", 0x8000: "Room 5"},
        {0x8001: (0x40, TICKS)},
        **{"__nameid_version1.0": names},
    )
    assert parse(compound(tree)).text == (
        "Subject: Meeting\n\nLocation: Room 5\nStart: Fri, 20 Nov 2026 09:30:00 +0000"
    )


def test_times_beyond_reason_are_left_out(parse) -> None:
    assert parse(compound(item({0x1000: "x"}, {0x0039: (0x40, 2**63)}))).text == "x"


def test_messages_in_messages(parse) -> None:
    tree = item({0x1000: "innermost"}, header=24)
    for _ in range(20):
        part = {**item({}, header=8), "__substg1.0_3701000D": tree}
        tree = item({}, header=24, **{"__attach_version1.0_#00000000": part})
    assert parse(compound({**tree, "__properties_version1.0": bytes(32)})).text.endswith("innermost")
