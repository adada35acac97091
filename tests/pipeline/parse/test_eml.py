"""E-mail: headers, bodies, attachments."""

from email.message import EmailMessage

from pipeline.errors import Failure


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


def test_the_plain_alternative_is_taken_and_attachments_are_named(parse) -> None:
    message = letter()
    message.set_content("plain text")
    message.add_alternative("<p>rich text</p>", subtype="html")
    message.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="Vertrag Köln.pdf")
    message.add_attachment("notes", filename="notes.txt")
    parsed = parse(message.as_bytes())
    assert parsed.text.endswith("plain text\n\nAttachment: Vertrag Köln.pdf\n\nAttachment: notes.txt")
    assert "rich" not in parsed.text
    assert parsed.notes == ("attachment not read: Vertrag Köln.pdf", "attachment not read: notes.txt")


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
