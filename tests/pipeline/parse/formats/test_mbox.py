"""Mailboxes: where a message begins, and what it is called."""

import pytest

from pipeline.parse.formats.mbox import is_mailbox

LINE = b"From ann@example.org Fri Nov 20 10:00:00 2026\n"
MAIL = b"From: ann@example.org\nTo: bo@example.org\nSubject: %s\n\n%s\n"


def test_each_message_is_a_document(parse_members, parse) -> None:
    box = LINE + MAIL % (b"Rent: May/June", b"one") + b"\n" + LINE + MAIL % (b"=?utf-8?q?Gr=C3=BC=C3=9Fe?=", b"two")
    parsed, found = parse_members(box, "inbox")
    assert (parsed.text, parsed.media_type, parsed.notes) == ("", "application/mbox", ())
    assert found == {
        "0001 Rent May June.eml": MAIL % (b"Rent: May/June", b"one"),
        "0002 Grüße.eml": MAIL % (b"=?utf-8?q?Gr=C3=BC=C3=9Fe?=", b"two"),
    }
    assert parse(found["0001 Rent May June.eml"]).media_type == "message/rfc822"


def test_line_ends_of_windows_and_the_line_of_thunderbird(parse_members) -> None:
    box = (LINE + MAIL % (b"a", b"one") + b"\nFrom - Tue Nov 03 10:00:00 2026\n" + MAIL % (b"b", b"two")).replace(
        b"\n", b"\r\n"
    )
    assert list(parse_members(box)[1]) == ["0001 a.eml", "0002 b.eml"]


def test_words_that_look_like_a_beginning_are_none(parse_members) -> None:
    text = b"one\nFrom here on it is text.\n\nFrom June on, at 10:30, too.\n\n>From x\n>>From y\n"
    box = LINE + MAIL % (b"a", text) + b"\n" + LINE + MAIL % (b"", b"two")
    found = parse_members(box)[1]
    assert list(found) == ["0001 a.eml", "0002 without a subject.eml"]
    assert found["0001 a.eml"] == MAIL % (b"a", text.replace(b">From x", b"From x").replace(b">>From", b">From"))


def test_a_length_that_fits_is_believed(parse_members) -> None:
    inner = b"quoted:\n\n" + LINE + b"Subject: inner\n\n>From x\n"
    fields = b"Subject: a\nContent-Length: %d\n\n"
    box = LINE + fields % len(inner) + inner + b"\n" + LINE + MAIL % (b"b", b"two")
    found = parse_members(box)[1]
    assert found["0001 a.eml"] == fields % len(inner) + inner
    assert list(found) == ["0001 a.eml", "0002 b.eml"]
    lie = LINE + fields % 3 + b"one two\n\n" + LINE + MAIL % (b"b", b"two")
    assert list(parse_members(lie)[1]) == ["0001 a.eml", "0002 b.eml"]


@pytest.mark.parametrize(
    "text", [b"From ann@example.org\nSubject: x\n", b"From now on\n10:00 tea\n", b"Dear Ann,\n\n" + LINE + b"A: b\n"]
)
def test_what_is_no_mailbox(text: bytes) -> None:
    assert not is_mailbox(text)


def test_many_messages(parse_members) -> None:
    mails = [MAIL % (b"letter %d" % number, b"text\n" * 100) for number in range(5000)]
    found = parse_members(b"\n".join(LINE + mail for mail in mails))[1]
    assert list(found.values()) == mails
