"""S/MIME: what is signed is read wherever it stands; what is encrypted is told."""

import base64

import pytest

from pipeline.errors import Failure
from tests.pipeline.parse.formats.test_eml import HEAD, der, envelope

PART = (
    b"Content-Type: multipart/mixed; boundary=q\r\n\r\n--q\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
    + "Die Kündigung 4711.\r\n".encode()
    + b"--q\r\nContent-Type: text/plain; name=k.txt\r\nContent-Disposition: attachment\r\n\r\nthe file\r\n--q--\r\n"
)
TYPES = [
    "application/octet-stream; name=smime.p7m",
    "application/pkcs7-mime; name=smime.p7m",
    "application/x-pkcs7-mime; smime-type=signed-data",
    "application/pkcs7-signature; name=smime.p7m",
]


def coded(kind: str, data: bytes) -> bytes:
    fields = f"Content-Type: {kind}\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64\n\n"
    return fields.encode() + base64.encodebytes(data)


def beside(*parts: bytes) -> bytes:
    return HEAD + b"Content-Type: multipart/mixed; boundary=m\n\n--m\n" + b"\n--m\n".join(parts) + b"\n--m--\n"


@pytest.mark.parametrize("kind", TYPES)
def test_what_is_signed_is_read_in_its_place(parse_members, kind: str) -> None:
    parsed, members = parse_members(HEAD + coded(kind, envelope(PART)))
    assert parsed.text.endswith("Subject: x\n\nDie Kündigung 4711.\n\nAttachment: k.txt")
    assert (members, parsed.notes) == ({"k.txt": b"the file"}, ("its signature was not checked",))
    parsed, members = parse_members(beside(b"\na gateway's words", coded(kind, envelope(PART))))
    assert parsed.text.endswith("a gateway's words\n\nDie Kündigung 4711.\n\nAttachment: k.txt")
    assert members == {"k.txt": b"the file"}


def test_a_signed_file_is_attached(parse_members) -> None:
    data = envelope(b"%PDF-1.4 x")
    parsed, members = parse_members(beside(b"\nsee", coded("application/pkcs7-mime; name=contract.pdf.p7m", data)))
    assert members == {"contract.pdf.p7m": data}
    assert parsed.text.endswith("see\n\nAttachment: contract.pdf.p7m")


def test_a_signed_part_in_a_file_of_its_own_is_a_mail(parse_members) -> None:
    assert parse_members(envelope(PART), "smime.p7m")[1] == {"smime.eml": PART}
    assert parse_members(envelope(b"just words"), "note.txt.p7m")[1] == {"note.txt": b"just words"}


AUTHENTICATED = der(0x30, der(0x06, bytes.fromhex("2a864886f70d0109100117")), der(0xA0, der(0x30)))
COMPRESSED = der(0x30, der(0x06, bytes.fromhex("2a864886f70d0109100109")), der(0xA0, der(0x30)))


def test_what_is_compressed_is_named(fail) -> None:
    for data in (COMPRESSED, HEAD + coded("application/pkcs7-mime; smime-type=compressed-data", COMPRESSED)):
        assert (fail(data).failure, fail(data).reason) == (Failure.UNSUPPORTED, "a compressed document (PKCS #7)")


@pytest.mark.parametrize("kind", [*TYPES, "application/pkcs7-mime; smime-type=authEnveloped-data"])
@pytest.mark.parametrize("data", [envelope(b"x", kind=3), AUTHENTICATED])
def test_what_is_encrypted_is_told(fail, parse_members, kind: str, data: bytes) -> None:
    assert fail(HEAD + coded(kind, data)).failure is Failure.ENCRYPTED
    parsed, members = parse_members(beside(b"\na gateway's words", coded(kind, data)))
    assert parsed.text.endswith("a gateway's words")
    assert list(members.values()) == [Failure.ENCRYPTED]
    assert parsed.unsure == ("an encrypted message in it was left out",)


def test_an_encrypted_message_beside_text_leaves_the_text(parse) -> None:
    inner = b"Content-Type: multipart/encrypted; boundary=e\n\n--e\n\nVersion: 1\n--e\n\nhQEM\n--e--"
    parsed = parse(beside(inner, b"\nthe words of a list"))
    assert parsed.text.endswith("the words of a list")
    assert parsed.unsure == ("an encrypted message in it was left out",)


def test_what_is_no_envelope_is_no_text(fail) -> None:
    for kind in ("signed-data", "certs-only"):
        data = HEAD + coded(f"application/pkcs7-mime; smime-type={kind}", bytes(range(256)))
        assert fail(data).failure is Failure.CORRUPT


def test_damage_of_an_envelope_costs_it_alone(fail, parse_members) -> None:
    data = envelope(PART)[:60]
    assert fail(HEAD + coded(TYPES[1], data)).failure is Failure.CORRUPT
    _, members = parse_members(beside(b"\nsee", coded(TYPES[1], data)))
    assert members == {"smime.p7m": data}
