"""E-mail: headers, bodies, attachments."""

import base64
import binascii
import random
import time
from email.message import EmailMessage
from pathlib import Path

import pytest

from pipeline.errors import DocumentError, Failure
from pipeline.parse.mail.parts import read_parts

HEAD = b"From: a@example.org\nTo: b@example.org\nSubject: x\nMIME-Version: 1.0\n"
LOGO = b"\x89PNG\r\n\x1a\n logo"


def letter(**headers: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in ({"From": "Ann <ann@example.org>", "To": "bo@example.org", "Subject": "Rent"} | headers).items():
        message[name] = value
    return message


def test_headers_and_text(parse) -> None:
    message = letter(Subject="Mietvertrag für Köln", Cc="Zoë <zoe@example.org>", Date="Fri, 20 Nov 2026 10:00:00 +0000")
    message.set_content("Guten Tag,\n\nanbei der Vertrag für Köln.\n")
    parsed = parse(message.as_bytes())
    assert parsed.media_type == "message/rfc822"
    assert parsed.text == (
        "From: Ann <ann@example.org>\nTo: bo@example.org\nCc: Zoë <zoe@example.org>\n"
        "Date: Fri, 20 Nov 2026 10:00:00 +0000\n"
        "Subject: Mietvertrag für Köln\n\nGuten Tag,\n\nanbei der Vertrag für Köln."
    )
    assert parsed.encoding == "utf-8"


def test_the_html_alternative_is_taken_and_attachments_are_named(parse) -> None:
    message = letter()
    message.set_content("plain text")
    message.add_alternative("<p>rich <b>text</b></p>", subtype="html")
    message.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="Vertrag Köln.pdf")
    message.add_attachment("notes", filename="notes.txt")
    parsed = parse(message.as_bytes())
    assert parsed.text.endswith("rich text\n\nAttachment: Vertrag Köln.pdf\n\nAttachment: notes.txt")
    assert "plain" not in parsed.text
    assert parsed.notes == (
        "words that only its plain text has: 1 (plain)",
        "words that only its HTML has: 1 (rich)",
        "documents inside it, not read: 2",
    )


def test_html_is_read_where_there_is_nothing_else(parse) -> None:
    message = letter()
    message.set_content(" \n")
    message.add_alternative("<p>Hello <b>Bo</b></p><script>x</script>", subtype="html")
    assert parse(message.as_bytes()).text.endswith("Subject: Rent\n\nHello Bo")


def test_a_forwarded_message_is_read(parse) -> None:
    inner = letter(Subject="Inner")
    inner.set_content("the inner text")
    outer = letter(Subject="Fwd: Inner")
    outer.set_content("see below")
    outer.add_attachment(inner)
    text = parse(outer.as_bytes()).text
    assert text.index("see below") < text.index("Forwarded message:") < text.index("Subject: Inner")
    assert text.endswith("the inner text")


def test_lies_about_the_charset_are_seen_through(parse) -> None:
    head = b"From: a@example.org\nTo: b@example.org\nSubject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?= =?nonsense?Q?=41?=\n"
    for declared in (b"us-ascii", b"no-such-thing", b"iso-8859-1"):
        body = b"Content-Type: text/plain; charset=" + declared + b"\nContent-Transfer-Encoding: 8bit\n\n"
        text = parse(head + body + "Grüße aus Köln — 你好".encode()).text
        assert "Grüße aus Köln — 你好" in text
        assert "Subject: GrüßeA" in text


def test_raw_bytes_in_headers(parse) -> None:
    assert "Subject: Käse" in parse("From: a@b\nTo: c@d\nSubject: Käse\n\ntext".encode()).text


def test_encrypted_mail_says_so(fail) -> None:
    head = b"From: a@example.org\nTo: b@example.org\nSubject: x\nMIME-Version: 1.0\n"
    smime = b"Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\n\nMIIB"
    assert fail(head + smime).failure is Failure.ENCRYPTED
    pgp = b'Content-Type: multipart/encrypted; protocol="application/pgp-encrypted"; boundary=x\n\n--x\n\ny\n--x--\n'
    assert fail(head + pgp).failure is Failure.ENCRYPTED


def test_a_broken_boundary_loses_no_text(parse) -> None:
    head = b"From: a@example.org\nTo: b@example.org\nSubject: x\nContent-Type: multipart/mixed; boundary=missing\n\n"
    assert "all the text" in parse(head + b"all the text\n").text


def test_deep_nesting_ends_in_a_failure_or_text(pool, parse_with) -> None:
    message = b"From: a@b\nTo: c@d\nSubject: end\n\nthe end\n"
    for _ in range(60):
        message = b"From: a@b\nTo: c@d\nSubject: x\nContent-Type: message/rfc822\n\n" + message
    assert parse_with(pool, message).text.endswith("the end")


def mixed(*parts: bytes) -> bytes:
    return HEAD + b'Content-Type: multipart/mixed; boundary="b"\n\n--b\n' + b"\n--b\n".join(parts) + b"\n--b--\n"


def test_attachments_are_documents(parse_members) -> None:
    message = letter()
    message.set_content("see below")
    message.add_attachment(bytes(range(256)) * 9, maintype="application", subtype="pdf", filename="Vertrag Köln.pdf")
    message.add_attachment("Grüße", filename="notes.txt")
    message.add_attachment(b"BEGIN:VCALENDAR", maintype="text", subtype="calendar")
    parsed, found = parse_members(message.as_bytes())
    assert list(found) == ["Vertrag Köln.pdf", "notes.txt", "part-5.ics"]
    assert found["Vertrag Köln.pdf"] == bytes(range(256)) * 9
    assert found["notes.txt"] == "Grüße\n".encode()
    assert parsed.notes == ()
    assert parsed.text.endswith("Attachment: notes.txt\n\nAttachment: without a name (text/calendar)")


@pytest.mark.parametrize(
    ("field", "name"),
    [
        (b'Content-Disposition: attachment; filename="=?utf-8?b?w7xiZXIucGRm?="', "über.pdf"),
        (b"Content-Disposition: attachment; filename*=utf-8''%C3%BCber.pdf", "über.pdf"),
        (b"Content-Disposition: attachment; filename*0*=utf-8''%C3%BC; filename*1=ber.pdf", "über.pdf"),
        ('Content-Disposition: attachment; filename="über.pdf"'.encode(), "über.pdf"),
        ('Content-Disposition: attachment; filename="über.pdf"'.encode("latin-1"), "über.pdf"),
        (b'Content-Disposition: attachment; filename="../../etc/passwd"', ".._.._etc_passwd"),
        (b'Content-Disposition: attachment; filename="C:\\\\letters\\\\x.doc"', "x.doc"),
        (b'Content-Disposition: attachment; filename="offer 3/2026.pdf"', "offer 3_2026.pdf"),
        (b"Content-Disposition: attachment", "part-3.pdf"),
    ],
)
def test_names_of_attachments(parse_members, field: bytes, name: str) -> None:
    attached = b"Content-Type: application/pdf\n" + field + b"\n\n%PDF-1.4"
    _, found = parse_members(mixed(b"\nsee below", attached))
    assert found == {name: b"%PDF-1.4"}


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", "x-uuencode", "binary"])
def test_encodings_of_attachments(parse_members, encoding: str) -> None:
    data = random.Random(7).randbytes(3000).replace(b"\n--", b"")
    lines = b"".join(binascii.b2a_uu(data[at : at + 45]) for at in range(0, len(data), 45))
    coded = {
        "base64": base64.encodebytes(data),
        "quoted-printable": binascii.b2a_qp(data, istext=False),
        "x-uuencode": b"begin 644 x.bin\n" + lines + b"`\n\nend\n",
        "binary": data,
    }[encoding]
    head = f"Content-Type: application/pdf; name=x.pdf\nContent-Transfer-Encoding: {encoding}\n\n".encode()
    assert parse_members(mixed(b"\ntext", head + coded))[1] == {"x.pdf": data}


def test_base64_in_pieces_with_padding_loses_nothing(parse_members) -> None:
    head = b"Content-Type: application/pdf; name=x.pdf\nContent-Transfer-Encoding: base64\n\n"
    assert parse_members(mixed(b"\ntext", head + b"T25l\nIQ==\nVHdv\n IQ= ="))[1] == {"x.pdf": b"One!Two!"}


def test_pictures_that_are_shown_are_no_documents(parse_members) -> None:
    message = letter()
    message.set_content(" ")
    message.add_alternative('<p>Regards<img src="cid:logo@example"></p>', subtype="html")
    message.get_payload()[1].add_related(LOGO, "image", "png", cid="<logo@example>", filename="logo.png")
    message.add_attachment(LOGO, maintype="image", subtype="png", filename="scan.png")
    message.add_attachment(LOGO, maintype="image", subtype="png", disposition="inline", filename="photograph.png")
    message.add_attachment(LOGO, maintype="image", subtype="png", disposition="inline")
    parsed, found = parse_members(message.as_bytes())
    assert list(found) == ["scan.png", "photograph.png"]
    assert parsed.notes == ("pictures shown in its text, not read: 2",)


def test_a_saved_page_is_its_text(parse_members) -> None:
    """MHTML, as browsers save it."""
    style = "p { color: red }\n"
    data = (
        "From: <Saved by Blink>\nSubject: A page\nMIME-Version: 1.0\n"
        'Content-Type: multipart/related; type="text/html"; boundary="b"\n\n'
        "--b\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n"
        "<h1>Gr=C3=BC=C3=9Fe</h1><p>text</p>\n"
        f"--b\nContent-Type: text/css\nContent-Location: cid:css\n\n{style}"
        "--b\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n--b--\n"
    )
    parsed, members = parse_members(data.encode(), "page.mht")
    assert parsed.text == "From: <Saved by Blink>\nSubject: A page\n\nGrüße\n\ntext"
    assert members == {}
    assert [note.rpartition(":")[0] for note in parsed.notes] == [
        "styles and scripts of the page, no text", "pictures shown in its text, not read",
    ]  # fmt: skip


@pytest.mark.parametrize("html", [b"<p>rich</p>", b"<p> </p>"])
def test_attachments_among_the_pieces_of_an_alternative(parse_members, html: bytes) -> None:
    """As Apple Mail writes them. Where the HTML shows no text, the plain one is read."""
    inner = b"Content-Type: multipart/mixed; boundary=c\n\n--c\nContent-Type: text/html\n\n" + html + b"\n--c\n"
    inner += b"Content-Type: application/pdf; name=x.pdf\nContent-Disposition: inline\n\n%PDF\n--c--\n"
    data = HEAD + b"Content-Type: multipart/alternative; boundary=b\n\n--b\n\nplain\n--b\n" + inner + b"\n--b--\n"
    parsed, found = parse_members(data)
    assert found == {"x.pdf": b"%PDF"}
    expected = "rich\n\nAttachment: x.pdf" if b"rich" in html else "Attachment: x.pdf\n\nplain"
    assert parsed.text.endswith(f"Subject: x\n\n{expected}")


def test_a_mail_that_is_nothing_but_a_scan(parse_members) -> None:
    data = HEAD + b"Content-Type: image/jpeg\nContent-Transfer-Encoding: base64\n\n/9j/4A==\n"
    assert parse_members(data)[1] == {"part-1.jpg": b"\xff\xd8\xff\xe0"}


def test_attachments_of_forwarded_mails_lie_in_folders(parse_members) -> None:
    inner = letter(Subject="Re: offer/order")
    inner.set_content("the inner text")
    inner.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="offer.pdf")
    outer = letter(Subject="Fwd")
    outer.set_content("see below")
    outer.add_attachment(inner)
    outer.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="offer.pdf")
    parsed, found = parse_members(outer.as_bytes())
    assert list(found) == ["Re offer order/offer.pdf", "offer.pdf"]
    titles = [(one.title, one.kind, one.level) for one in parsed.sections]
    assert titles == [
        ("Headers", "mail", 0),
        ("Body", "mail", 0),
        ("Forwarded message: Re: offer/order", "mail", 0),
        ("Body", "mail", 0),
    ]
    place = parsed.text.index("the inner text")
    assert parsed.section_of(place) == "Forwarded message: Re: offer/order"
    assert parsed.section_of(parsed.text.index("see below")) == "Body"


def test_a_message_that_was_encoded_is_read(parse) -> None:
    inner = base64.encodebytes(b"Subject: inner\n\nthe inner text\n")
    part = b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + inner
    assert parse(mixed(part)).text.endswith("Subject: inner\n\nthe inner text")


def test_what_a_mail_server_reports_is_text(parse) -> None:
    report = b"Content-Type: message/delivery-status\n\nFinal-Recipient: rfc822; b@example.org\nAction: failed"
    assert "Action: failed" in parse(mixed(b"\nnot delivered", report)).text


def test_signatures_are_no_documents(parse_members) -> None:
    signed = b'Content-Type: multipart/signed; boundary="s"; micalg=sha-256\n\n--s\n\nthe text\n--s\n'
    signed += b"Content-Type: application/octet-stream; name=smime.p7s\n\nxyz\n--s--\n"
    parsed, found = parse_members(HEAD + signed)
    assert (found, parsed.notes) == ({}, ("its signature was not checked",))
    assert parsed.text.endswith("the text")
    more = signed.replace(b"--s--\n", b"--s\n\nwhat a list adds\n--s--\n")
    assert parse_members(HEAD + more)[0].text.endswith("the text\n\nwhat a list adds")


def der(tag: int, *contents: bytes) -> bytes:
    content = b"".join(contents)
    length = bytes([len(content)]) if len(content) < 128 else b"\x84" + len(content).to_bytes(4, "big")
    return bytes([tag]) + length + content


def ber(tag: int, *contents: bytes) -> bytes:
    """With its length left open."""
    return bytes([tag, 0x80]) + b"".join(contents) + b"\0\0"


def oid(kind: int) -> bytes:
    return der(0x06, bytes.fromhex("2a864886f70d0107") + bytes([kind]))


def envelope(content: bytes | None, *, kind: int = 2, ends: bool = True) -> bytes:
    """SignedData without signers."""
    make = der if ends else ber
    pieces = [der(0x04, (content or b"")[at : at + 40]) for at in range(0, len(content or b""), 40)]
    octets = der(0x04, content or b"") if ends else ber(0x24, *pieces)
    inner = make(0x30, oid(1), *([] if content is None else [make(0xA0, octets)]))
    return make(0x30, oid(kind), make(0xA0, make(0x30, der(2, b"\1"), make(0x31), inner, der(0x31))))


@pytest.mark.parametrize("ends", [True, False])
def test_signed_envelopes(parse_members, ends: bool) -> None:
    text = b"Content-Type: text/plain; charset=utf-8\n\n" + "Grüße aus Köln\n".encode() * 30
    field = b"Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\n"
    coded = base64.encodebytes(envelope(text, ends=ends))
    parsed, found = parse_members(HEAD + field + b"Content-Transfer-Encoding: base64\n\n" + coded)
    assert parsed.text.endswith("Grüße aus Köln")
    assert (found, parsed.notes) == ({}, ("its signature was not checked",))
    parsed, found = parse_members(envelope(b"%PDF-1.4 x", ends=ends), "contract.pdf.p7m")
    assert (parsed.media_type, found) == ("application/pkcs7-mime", {"contract.pdf": b"%PDF-1.4 x"})


def test_other_envelopes_say_what_they_are(fail) -> None:
    assert fail(envelope(b"x", kind=3)).failure is Failure.ENCRYPTED
    assert fail(envelope(b"x", kind=5)).failure is Failure.UNSUPPORTED
    assert fail(envelope(None)).failure is Failure.UNSUPPORTED
    data = envelope(b"text " * 100)
    for part in range(1, 20):
        assert fail(data[: len(data) * part // 20 + 16]).failure is Failure.CORRUPT
    deep = envelope(b"", ends=False).replace(b"\x24\x80", b"\x24\x80" * 5000)
    assert fail(deep).failure is Failure.CORRUPT


def test_an_openpgp_message_in_the_text(fail) -> None:
    assert fail(HEAD + b"\n-----BEGIN PGP MESSAGE-----\n\nhQEMA\n").failure is Failure.ENCRYPTED


def test_a_mail_saved_as_utf_16(parse) -> None:
    assert parse((HEAD + b"\nGr\xfc\xdfe").decode("latin-1").encode("utf-16"), "x.eml").text.endswith("x\n\nGrüße")


def test_few_headers_are_enough_in_a_file_called_a_mail(parse) -> None:
    data = b"Subject: Rent\n\ntext\n"
    assert parse(data, "0001 Rent.eml").media_type == "message/rfc822"
    assert parse(data, "notes.txt").media_type == "text/plain"


def nested(levels: int) -> bytes:
    opened = [b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (level, level) for level in range(levels)]
    return HEAD + b"".join(opened) + b"\ntext\n"


@pytest.mark.parametrize(
    ("data", "failure"),
    [
        (nested(10_000), Failure.BOMB),
        (b"From: a@b\nTo: c@d\nSubject: x\nContent-Type: message/rfc822\n\n" * 10_000, Failure.BOMB),
        (mixed(*[b"\nx"] * 200_000), Failure.BOMB),
        (HEAD + b"X-Long: " + b"y" * 2_000_000 + b"\n\ntext", Failure.TOO_LARGE),
        (HEAD + b"X-Many: y\n" * 200_000 + b"\ntext", Failure.TOO_LARGE),
        (HEAD + b'Content-Type: text/plain; x="' + b";" * 100_000 + b"\n\ntext", Failure.TOO_LARGE),
    ],
)
def test_depth_parts_and_headers_have_limits(fail, data: bytes, failure: Failure) -> None:
    began = time.perf_counter()
    assert fail(data).failure is failure
    assert time.perf_counter() - began < 10


def test_the_parts_are_those_of_the_library(data_folder: Path) -> None:
    """Bodies and attachments of real mails, byte for byte as Python's email package decodes them."""
    import email

    files = [path for path in data_folder.glob("documents/**/*") if "reports" not in path.parts]  # those are odd
    mails = [path for path in files if path.suffix == ".eml" or "RFC822" in path.name]
    assert len(mails) > 5
    for path in mails:
        data = path.read_bytes().lstrip()
        if b"message/external-body" in data:  # which the library takes for a message
            continue
        expected = [one for one in email.message_from_bytes(data).walk() if not one.is_multipart()]
        waiting, found = [read_parts(data)[0]], []
        while waiting:
            part = waiting.pop(0)
            waiting[:0] = part.parts
            found += [] if part.parts else [part]
        assert [one.kind for one in found] == [one.get_content_type() for one in expected], path
        for one, reference in zip(found, expected, strict=True):
            assert b"".join(one.content()) == reference.get_payload(decode=True), path


def test_damage_anywhere_gives_a_document_or_a_typed_failure(parse_members) -> None:
    message = letter()
    message.set_content("text")
    message.add_attachment(bytes(range(256)), maintype="application", subtype="pdf", filename="Vertrag Köln.pdf")
    inner = letter(Subject="inner")
    inner.set_content("the inner text")
    message.add_attachment(inner)
    original, rng = message.as_bytes(), random.Random(20261122)
    for _ in range(200):
        data = bytearray(original)
        for _ in range(rng.randint(1, 8)):
            place = rng.randrange(len(data))
            data[place : place + rng.randint(0, 9)] = rng.randbytes(rng.randint(0, 3))
        try:
            parse_members(bytes(data), "x.eml")
        except DocumentError as error:
            assert error.failure is not Failure.CRASHED, (error, bytes(data))  # noqa: PT017
