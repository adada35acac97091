"""What mails declare of their texts: encodings of 7 bits, encodings that nobody knows; parts of mails as files."""

import pytest

HEAD = b"From: a@example.org\nTo: b@example.org\nSubject: x\nMIME-Version: 1.0\n"


def declared(charset: str, data: bytes, kind: str = "text/plain") -> bytes:
    return HEAD + f"Content-Type: {kind}; charset={charset}\n\n".encode() + data


@pytest.mark.parametrize("name", ["utf-7", "UTF-7", "unicode-1-1-utf-7", "csUnicode11UTF7", "x-unicode-2-0-utf-7"])
def test_utf_7_is_read_where_it_is_declared(parse, name: str) -> None:
    parsed = parse(declared(name, b"Gr+APwA3w-e: 5 +IKw-, 1 +- 1 +AD0 2"))
    assert parsed.text.endswith("\n\nGrüße: 5 €, 1 + 1 = 2")
    assert (parsed.encoding, parsed.notes) == ("utf-7", ())
    assert parse(declared("us-ascii", b"5 +IKw-")).text.endswith("5 +IKw-")
    page = HEAD + b"Content-Type: text/html\n\n<meta charset=utf-7><p>5 +IKw-</p>"  # which no program follows
    assert parse(page).text.endswith("5 +IKw-")


def test_utf_7_in_html_and_in_the_subject(parse) -> None:
    data = declared("utf-7", b"+ADw-p+AD4-Gr+APwA3w-e+ADw-/p+AD4-", "text/html")
    data = data.replace(b"Subject: x", b"Subject: =?utf-7?Q?5_+IKw-?=")
    assert parse(data).text.endswith("Subject: 5 €\n\nGrüße")


def test_hz_is_read_where_it_is_declared(parse) -> None:
    assert parse(declared("hz-gb-2312", "合同 4711".encode("hz"))).text.endswith("\n\n合同 4711")


@pytest.mark.parametrize(
    ("name", "data", "text", "note"),
    [
        ("utf-7", "Grüße".encode(), "Grüße", "the encoding that it declares, 'utf-7', is not read; utf-8 is"),
        ("x-odd", "Grüße".encode("latin-1"), "Grüße", "the encoding that it declares, 'x-odd', is not read; cp1252 is"),
        ("x-odd", "Grüße".encode(), "Grüße", ""),  # UTF-8 that holds needs no declaration
        ("x-odd", b"5 EUR", "5 EUR", ""),
        ("iso-2022-cn", b"\x1b$)A\x0e:O\x0f", ":O",
         "the encoding that it declares, 'iso-2022-cn', is not read; utf-8 is"),
        ("windows-1252", "Grüße".encode("cp1252"), "Grüße", ""),
    ],
)  # fmt: skip
def test_a_declaration_that_is_not_followed_is_noted(parse, name: str, data: bytes, text: str, note: str) -> None:
    parsed = parse(declared(name, data))
    assert parsed.text.endswith(text)
    assert note in (parsed.notes or ("",))


def test_a_part_of_a_mail_is_told_by_its_fields(parse_members) -> None:
    """As Outlook keeps what is signed."""
    data = (
        b'Content-Type: multipart/signed;\n protocol="application/x-pkcs7-signature"; boundary="s"\n\n'
        b"--s\nContent-Type: multipart/mixed; boundary=q\n\n--q\nContent-Type: text/plain\n\nthe text\n"
        b"--q\nContent-Type: text/plain; name=k.txt\nContent-Disposition: attachment\n\nthe file\n--q--\n"
        b"--s\nContent-Type: application/x-pkcs7-signature; name=smime.p7s\n\nMIIB\n--s--\n"
    )
    for name in ("smime.p7m", "part"):
        parsed, members = parse_members(data, name)
        assert parsed.media_type == "message/rfc822"
        assert (parsed.text, members) == ("the text\n\nAttachment: k.txt", {"k.txt": b"the file"})
    assert parse_members(b"Content-Type: text/plain\n\nHello\n", "smime.p7m")[0].text == "Hello"
    assert parse_members(b"Content-Type: text/plain\n\nHello\n", "a.txt")[0].media_type == "text/plain"


def mixed(*parts: bytes) -> bytes:
    return HEAD + b'Content-Type: multipart/mixed; boundary="b"\n\n--b\n' + b"\n--b\n".join(parts) + b"\n--b--\n"


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        (b'access-type=URL; URL="https://example.org/a b\n /c.pdf"', "https://example.org/ab/c.pdf"),
        (b"access-type=anon-ftp; site=ftp.example.org; directory=pub; name=c.pdf", "ftp.example.org/pub/c.pdf"),
        (b"access-type=mail-server; server=ann@example.org", "ann@example.org"),
    ],
)
def test_a_file_that_lies_elsewhere_is_named(parse_members, fields: bytes, where: str) -> None:
    inner = b"Content-Type: application/pdf; name=contract.pdf\nContent-ID: <x>\n\n"
    parsed, members = parse_members(mixed(b"\nhi", b"Content-Type: message/external-body; " + fields + b"\n\n" + inner))
    assert parsed.text.endswith(f"hi\n\nAttachment: contract.pdf not in the mail: {where}")
    assert parsed.notes == (f"a file that is attached lies elsewhere: {where}",)
    assert members == {}


def test_a_part_of_a_message_is_for_a_person(parse) -> None:
    field = b'Content-Type: message/partial; id="x"; number=%d; total=2\n\n'
    parsed = parse(HEAD + field % 1 + b"Subject: the whole\nContent-Type: text/html\n\n<p>the begin")
    assert parsed.text.endswith("Forwarded message:\n\nSubject: the whole\n\nthe begin")
    assert parsed.unsure == ("it holds only part 1 of 2 of a message",)
    parsed = parse(HEAD + field % 2 + b" and the end")
    assert parsed.text.endswith("and the end")
    assert parsed.unsure == ("it holds only part 2 of 2 of a message",)


def test_zero_bytes_in_a_field_break_nothing(parse) -> None:
    for field in (b"text/plain; format*=\0''x; charset*=\0''y", b"text/plain; name*=u\0'\0'x"):
        assert parse(HEAD + b"X-Pad: " + b"x" * 100 + b"\nContent-Type: " + field + b"\n\nHello\n").text


def test_fields_without_an_end_are_no_mail(parse) -> None:
    assert parse(b"X-A: b\n c\n" * 200_000, "x.eml").media_type == "text/plain"
