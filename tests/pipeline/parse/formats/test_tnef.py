"""winmail.dat: bodies, files, messages within; in mails and as a file; damaged ones."""

import base64
import random
import struct

import pytest

from pipeline.errors import DocumentError, Failure
from tests.pipeline.parse.formats.test_msg import rtf

HEAD = b"From: a@example.org\nTo: b@example.org\nSubject: x\nMIME-Version: 1.0\n"


def attribute(number: int, data: bytes, *, level: int = 1, kind: int = 6, wrong: int = 0) -> bytes:
    total = (sum(data) + wrong) & 0xFFFF
    return struct.pack("<BHHI", level, number, kind, len(data)) + data + struct.pack("<H", total)


def prop(number: int, value: str | bytes | int, *, name: bytes = b"") -> bytes:
    if isinstance(value, int):
        return struct.pack("<HH", 3, number) + name + struct.pack("<I", value)
    data = value if isinstance(value, bytes) else value.encode("utf-16-le") + b"\0\0"
    kind = 0x102 if isinstance(value, bytes) else 0x1F
    return struct.pack("<HH", kind, number) + name + struct.pack("<II", 1, len(data)) + data + bytes(-len(data) % 4)


def properties(number: int, *values: bytes, level: int = 1) -> bytes:
    return attribute(number, struct.pack("<I", len(values)) + b"".join(values), level=level)


def tnef(*attributes: bytes) -> bytes:
    return b"\x78\x9f\x3e\x22\x01\x00" + b"".join(attributes)


def file(name: str, data: bytes, *more: bytes) -> bytes:
    pieces = [attribute(0x9002, bytes(14), level=2), attribute(0x8010, name.encode("cp1252") + b"\0", level=2)]
    return b"".join([*pieces, attribute(0x800F, data, level=2), *more])


OLD = tnef(
    attribute(0x9007, struct.pack("<II", 1252, 0)),
    attribute(0x8004, "Kündigung".encode("cp1252") + b"\0"),
    attribute(0x8005, struct.pack("<7H", 2026, 11, 2, 9, 0, 0, 1)),
    attribute(0x800C, "Grüße, 5 €\r\nBo".encode("cp1252") + b"\0"),
    file("CONTRA~1.TXT", b"lease 4711", properties(0x9005, prop(0x3707, "contract of lease.txt"), level=2)),
    file("../b.txt", b"more"),
)


def test_a_file(parse_members) -> None:
    parsed, members = parse_members(OLD, "winmail.dat")
    assert parsed.media_type == "application/ms-tnef"
    assert parsed.text == (
        "Date: Mon, 02 Nov 2026 09:00:00 +0000\nSubject: Kündigung\n\nGrüße, 5 €\nBo\n\n"
        "Attachment: contract of lease.txt\n\nAttachment: ../b.txt"
    )
    assert members == {"contract of lease.txt": b"lease 4711", ".._b.txt": b"more"}
    assert parsed.unsure == ()


NAMED = bytes(16) + struct.pack("<II", 1, 6) + "Odd".encode("utf-16-le") + bytes(2)
PEOPLE = (prop(0x0037, "Rent"), prop(0x0C1A, "Ann"), prop(0x0C1F, "ann@example.org"), prop(0x8001, 5, name=NAMED))


@pytest.mark.parametrize(
    ("bodies", "text"),
    [
        ([prop(0x1000, "Pay 5 €")], "Pay 5 €"),
        ([prop(0x1013, "<p>Pay <b>5</b> €</p>".encode()), prop(0x1000, "Pay 5 €")], "Pay 5 €"),
        ([prop(0x1013, "<p>Grüße</p>".encode("cp1252")), prop(0x3FDE, 1252)], "Grüße"),
        ([prop(0x1009, rtf())], "Pay 9 EUR"),
    ],
)
def test_bodies_in_properties(parse, bodies: list[bytes], text: str) -> None:
    parsed = parse(tnef(properties(0x9003, *PEOPLE, *bodies)))
    assert parsed.text == f"From: Ann <ann@example.org>\nSubject: Rent\n\n{text}"
    assert parsed.unsure == ()


def test_a_message_within_is_a_document(parse_members) -> None:
    inner = bytes(16) + OLD
    value = struct.pack("<HHII", 0x0D, 0x3701, 1, len(inner)) + inner + bytes(-len(inner) % 4)
    attached = attribute(0x9002, bytes(14), level=2) + properties(0x9005, value, level=2)
    assert parse_members(tnef(attached))[1] == {"message.tnef": OLD}


def mail(plain: bytes, data: bytes, kind: bytes = b"application/ms-tnef; name=winmail.dat") -> bytes:
    part = b"Content-Type: " + kind + b"\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(data)
    return HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + plain + b"\n--b\n" + part + b"\n--b--\n"


@pytest.mark.parametrize("kind", [b"application/ms-tnef", b"application/octet-stream; name=WINMAIL.DAT"])
def test_in_a_mail_it_is_read_in_its_place(parse_members, kind: bytes) -> None:
    parsed, members = parse_members(mail(b" ", OLD, kind))
    assert parsed.text.endswith(
        "Subject: x\n\nGrüße, 5 €\nBo\n\nAttachment: contract of lease.txt\n\nAttachment: ../b.txt"
    )
    assert list(members) == ["contract of lease.txt", ".._b.txt"]


def test_beside_the_text_of_a_mail_it_is_compared(parse) -> None:
    same = parse(mail("Grüße, 5 €\nBo".encode(), OLD))
    assert (same.text.count("Grüße"), same.unsure) == (1, ())
    other = parse(mail("Grüße, 7 €\nBo".encode(), OLD))
    assert "Grüße, 7 €" in other.text
    assert other.unsure == (
        "its winmail.dat (TNEF of Outlook), which is not read, says something else than its text: 5",
    )


def test_in_a_message_within_it_is_read_beside_the_text_around(parse) -> None:
    inner = b"Content-Type: message/rfc822\n\n" + mail(b" ", OLD)
    outer = HEAD + b"Content-Type: multipart/mixed; boundary=o\n\n--o\n\nsee below\n--o\n" + inner + b"\n--o--\n"
    parsed = parse(outer)
    assert parsed.text.index("see below") < parsed.text.index("Forwarded message:") < parsed.text.index("Grüße, 5 €")
    assert parsed.unsure == ()


def test_a_body_that_is_damaged_leaves_the_mail(parse_members) -> None:
    data = tnef(properties(0x9003, prop(0x1009, b"no compressed RTF")))
    parsed, members = parse_members(mail(b"hello", data))
    assert parsed.text.endswith("hello\n\nAttachment: winmail.dat")
    assert members == {"winmail.dat": data}
    assert "the compressed RTF of the message is damaged" in parsed.unsure[0]


def test_a_damaged_one(fail, parse_members) -> None:
    for end in (3, 7, 12, 60, len(OLD) - 1):
        error = fail(OLD[:end], "winmail.dat") if end > 3 else None
        if error:
            assert (error.failure, "winmail.dat (TNEF of Outlook)" in error.reason) == (Failure.CORRUPT, True)
    parsed, members = parse_members(mail(b"hello", OLD[:60]))
    assert members == {"winmail.dat": OLD[:60]}
    assert parsed.unsure == (
        "its winmail.dat (TNEF of Outlook) cannot be read: a winmail.dat (TNEF of Outlook): it is cut off",
    )
    wrong = tnef(attribute(0x800C, b"Hello\0", wrong=1))
    assert parse_members(wrong)[0].unsure == ("attributes of its winmail.dat (TNEF of Outlook) with a wrong sum: 1",)
    assert parse_members(mail(b" ", wrong))[0].unsure == (
        "attributes of its winmail.dat (TNEF of Outlook) with a wrong sum: 1",
    )


def test_too_many_files(fail) -> None:
    assert fail(tnef(attribute(0x9002, bytes(14), level=2) * 10_001)).failure is Failure.BOMB


def test_damage_anywhere_gives_a_document_or_a_typed_failure(parse_members) -> None:
    rng = random.Random(20261128)
    whole = tnef(properties(0x9003, *PEOPLE, prop(0x1013, b"<p>x</p>"), prop(0x1009, rtf()))) + OLD[6:]
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(6, len(data))] = rng.choice([0, 1, 0xFF, rng.randrange(256)])
        try:
            parse_members(bytes(data), "winmail.dat")
        except DocumentError as error:
            assert error.failure not in {Failure.CRASHED, Failure.TIMEOUT, Failure.OUT_OF_MEMORY}, bytes(data)  # noqa: PT017
