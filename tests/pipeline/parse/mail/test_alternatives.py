"""Alternatives of a mail: the one that programs show is read; what conversions do to it is no difference, other
amounts and other words are."""

import json
from email.message import EmailMessage
from pathlib import Path

import pytest

from pipeline.parse.mail.alternatives import difference
from tests.pipeline.parse.formats.test_msg import EUC_TW

INVOICE = """<html><head><title>Mail</title><style>p {color: black}</style></head><body>
<div style="display:none">Your invoice 4711 of November is here</div>
<p>Dear Ms <b>Weber</b>,</p>
<p>your invoice&nbsp;RE-2026-0815 of 2&nbsp;November&nbsp;2026 is <a href="https://shop.example.org/r/8f3a91?u=77">ready</a>.
<img src="cid:logo" alt="Shop Ltd"></p>
<table><tr><td>Item</td><td>Price</td></tr><tr><td>Chair, blue</td><td>EUR 1.240,50</td></tr>
<tr><td>Total due</td><td>EUR&nbsp;1.240,50</td></tr></table>
<ol><li>Pay to DE89 3704 0044 0532 0130 00.</li><li>Keep this letter.</li></ol>
<p>If you don&#8217;t pay, we will not deliver.</p>
<p>Kind regards<br>Shop Ltd<br>Phone +49 30 123456-78</p></body></html>"""

_DATA: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("conversions.json").read_text("utf-8"))
CONVERSIONS = _DATA["conversions"]


def mail(html: str, plain: str, *, first: str = "plain") -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Shop <a@example.org>", "b@example.org", "Invoice"
    parts = [("plain", plain), ("html", html)] if first == "plain" else [("html", html), ("plain", plain)]
    message.set_content(parts[0][1], subtype=parts[0][0], charset="utf-8", cte="quoted-printable")
    message.add_alternative(parts[1][1], subtype=parts[1][0], charset="utf-8", cte="quoted-printable")
    return message.as_bytes()


@pytest.mark.parametrize("program", CONVERSIONS)
def test_a_conversion_of_the_html_says_nothing_else(parse, program: str) -> None:
    parsed = parse(mail(INVOICE, CONVERSIONS[program]))
    assert parsed.unsure == ()
    assert "Total due | EUR 1.240,50" in parsed.text
    assert "1. Pay to DE89 3704 0044 0532 0130 00." in parsed.text
    assert "Mail" not in parsed.text  # the title of a page, which no mail program shows


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("1.240,50", "9.240,50", "9.240,50"),  # an amount
        ("1.240,50", "1240", "1240"),
        ("0130 00", "0130 99", "99"),  # an account
        ("2 November", "30 November", "30"),  # a date
        ("2026-0815", "2026-0816", "0816"),
        ("Kind regards", "I herewith terminate the lease agreement at once.\n\nKind regards", "I herewith terminate"),
        ("we will not deliver", "we will never deliver", "never"),
        ("we will not deliver", "we will not deliver. We do not lie", "not"),
    ],
)
def test_a_plain_text_that_says_something_else_is_for_a_person(parse, before: str, after: str, named: str) -> None:
    parsed = parse(mail(INVOICE, CONVERSIONS["Outlook"].replace(before, after)))
    assert "Total due | EUR 1.240,50" in parsed.text
    assert after not in parsed.text
    assert len(parsed.unsure) == 1
    assert parsed.unsure[0].startswith("its plain text, which is not read, says something else than its HTML: ")
    assert named in parsed.unsure[0]


def test_another_letter_in_the_plain_text_is_not_read(parse) -> None:
    html, plain = "<p>I complain about the noise in flat 7.</p>", "I hereby apply for the position of a clerk.\n"
    parsed = parse(mail(html, plain))
    assert parsed.text.endswith("\n\nI complain about the noise in flat 7.")
    assert parsed.unsure == (
        "its plain text, which is not read, says something else than its HTML: "
        '"I hereby apply for the position of a clerk."',
    )
    assert parsed.notes == (
        "words that only its plain text has: 5 (hereby, apply, for, position, clerk)",
        "numbers that only its HTML has: 1 (7)",
        "words that only its HTML has: 4 (complain, about, noise, flat)",
    )


def test_the_last_alternative_is_read_whatever_it_is(parse) -> None:
    parsed = parse(mail("<p>Pay 5 EUR to Ann.</p>", "Pay 9 EUR to Ann.\n", first="html"))
    assert parsed.text.endswith("\n\nPay 9 EUR to Ann.")
    assert parsed.unsure == ("its HTML, which is not read, says something else than its plain text: 5",)


def test_html_that_shows_nothing_is_for_a_person(parse) -> None:
    parsed = parse(mail('<p><img src="https://example.org/all.png"></p>', "Pay 9 EUR to Ann.\n"))
    assert parsed.text.endswith("\n\nPay 9 EUR to Ann.")
    assert parsed.unsure == ("its HTML, which mail programs show, shows no text",)


def test_words_hidden_in_the_html_are_not_news_of_the_plain_text(parse) -> None:
    html = '<p>Hello Bo</p><p style="display:none">Everything about our new garden chairs of 2027</p>'
    parsed = parse(mail(html, "Everything about our new garden chairs of 2027\n\nHello Bo\n"))
    assert (parsed.unsure, parsed.notes) == ((), ())
    assert parsed.hidden[0].kind == "marked_hidden"


def test_scripts_without_spaces_are_compared_across_line_breaks(parse) -> None:
    html = "<p>見積書の金額は500円です。確認してください。</p>"
    assert parse(mail(html, "見積書の金額は500円です。確\n認してください。\n")).unsure == ()
    assert "9000" in parse(mail(html, "見積書の金額は9000円です。確認してください。\n")).unsure[0]
    assert "契約" in parse(mail(html, "契約を直ちに解除いたします。\n")).unsure[0]


NESTED = (
    "From: a@example.org\nTo: b@example.org\nSubject: x\nMIME-Version: 1.0\n"
    'Content-Type: multipart/alternative; boundary="a"\n\n--a\n\nthe plain text of it\n--a\n'
    'Content-Type: multipart/related; boundary="r"; start="<page>"\n\n'
    "--r\nContent-Type: text/plain\n\nan aside that no program shows\n"
    "--r\nContent-Type: text/html\nContent-ID: <page>\n\n<p>the plain text of it <img src='cid:logo'></p>\n"
    "--r\nContent-Type: image/png\nContent-ID: <logo>\n\nPNG\n--r--\n--a--\n"
)


def test_the_root_of_what_is_related_is_read_and_the_rest_is_attached(parse_members) -> None:
    parsed, members = parse_members(NESTED.encode())
    assert parsed.text.endswith("Subject: x\n\nthe plain text of it\n\nAttachment: without a name (text/plain)")
    assert members == {"part-4.txt": b"an aside that no program shows"}
    assert parsed.notes == ("pictures shown in its text, not read: 1",)
    assert parsed.unsure == ()


def test_every_other_alternative_is_compared_up_to_a_number(parse) -> None:
    part = "\n--a\nContent-Type: {}\n\n<p>Pay {} EUR to Ann.</p>"
    head = NESTED.partition("--a\n")[0]
    data = head + part.format("text/x-amp-html", 9) + part.format("text/html", 5) + "\n--a--\n"
    parsed = parse(data.encode())
    assert parsed.text.endswith("Pay 5 EUR to Ann.")
    assert parsed.unsure == ("its page for AMP, which is not read, says something else than its HTML: 9",)
    parsed = parse((head + part.format("text/html", 5) * 2_000 + "\n--a--\n").encode())
    assert parsed.unsure == ("only 5 of its 1,999 other alternatives were compared",)


def test_html_that_is_damaged_leaves_the_plain_text(parse_members) -> None:
    deep = "<div>" * 100_000 + "deep"
    parsed, members = parse_members(mail(deep, "Pay 9 EUR to Ann.\n"))
    assert parsed.text.endswith("\n\nAttachment: without a name (text/html)\n\nPay 9 EUR to Ann.")
    assert members == {"part-3.html": deep.encode() + b"\n"}
    assert parsed.unsure[0].startswith("its HTML cannot be read: ")


def test_html_in_an_encoding_that_is_not_known_leaves_the_plain_text(parse) -> None:
    part = NESTED.partition("--a\nContent-Type")[0].encode() + b"--a\nContent-Type: text/html\n\n"
    parsed = parse(part + EUC_TW + b"\n--a--\n")
    assert "the plain text of it" in parsed.text
    assert parsed.unsure[0].startswith("its HTML cannot be read: ")


def test_invitations_are_read_beside_the_text(parse) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "Viewing"
    message.set_content("Please come.\n")
    message.add_alternative("<p>Please come.</p>", subtype="html")
    event = (
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20261130T090000Z\r\nLOCATION:Flat 7\r\nEND:VEVENT\r\nEND:VCALENDAR"
    )
    message.add_alternative(event, subtype="calendar")
    parsed = parse(message.as_bytes())
    assert parsed.text.endswith("\n\nPlease come.\n\nStart: 2026-11-30 09:00 UTC\nLocation: Flat 7")
    assert parsed.unsure == ()


def test_a_mail_that_is_an_invitation(parse) -> None:
    data = NESTED.partition("Content-Type")[0] + "Content-Type: text/calendar; method=REQUEST\n\n"
    data += "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Viewing of fl\n at 7\nEND:VEVENT\nEND:VCALENDAR\n"
    assert parse(data.encode()).text.endswith("\n\nSummary: Viewing of flat 7")


@pytest.mark.parametrize("piece", ["a", "1", "1.", "1 ", "<http:", "{", "[image ", "- ", "&#", "@a", "1^", "\n "])
def test_long_lines_of_one_sign_are_compared(piece: str) -> None:
    """Work that grew with the square of a text would not end here."""
    text = piece * (100_000 // len(piece))
    for other in (f"{text}!", f"{text} @ ^ {{}} <", f"no@where {text}"):
        difference("Pay 5 EUR.", other, ("HTML", "plain text"))
        difference(other, "Pay 5 EUR.", ("HTML", "plain text"))


def test_a_mail_with_many_words_that_differ_is_compared_in_time(parse) -> None:
    words = " ".join(f"{number:x}q".translate(str.maketrans("0123456789", "ghijklmnop")) for number in range(60_000))
    parsed = parse(mail(f"<p>{words}</p>", words.replace("q", "z")))
    assert parsed.unsure
    assert any(note.startswith("words that only its plain text has: ") for note in parsed.notes)


def test_many_amounts_between_the_same_words_are_compared_in_time() -> None:
    read = "\n".join(f"Pay {number} EUR to Ann" for number in range(30_000))
    assert difference(read, read.replace("\n", " \n\n") + ".", ("HTML", "plain text"))[1] == ""
    assert '"-7 eur" for "0 eur"' in difference(read, read.replace("y 7 E", "y -7 E"), ("HTML", "plain text"))[1]


@pytest.mark.parametrize(
    ("read", "other", "told"),
    [
        ("Pay nine thousand EUR to DE11", "Pay one thousand EUR to DE11", '"one" for "nine"'),
        ("I reject the offer.", "I accept the offer.", '"accept" for "reject"'),
        ("The meeting is on Tuesday", "The meeting is on Monday", '"monday" for "tuesday"'),
        ("Reject", "Accept", '"accept" for "reject"'),
        ("The meeting is on Tuesday at noon", "The meeting is on Tuesday, at noon sharp", ""),
        ("The sum is 5 €", "The sum is 5 EUR", ""),
        ("Amount -500 EUR", "Amount 500 EUR", '"500 eur" for "-500 eur"'),
        ("Amount (500) EUR", "Amount 500 EUR", '"500 eur" for "-500 eur"'),
        ("Total 500-", "Total 500", '"500" for "-500"'),
        ("Amount <5 mg", "Amount > 5 mg", '">5 mg" for "<5 mg"'),
        ("Amount ≤ 5 mg", "Amount 5 mg", '"5 mg" for "<=5 mg"'),
        ("5 g salt", "5 mg salt", '"5 mg" for "5 g"'),
        ("Dose 5 mg then 6 \u00b5g", "Dose 5 \u00b5g then 6 mg", '"5 \u03bcg" for "5 mg"'),
        ("Growth 5% in all", "Growth 5 in all", '"5 in" for "5 % in"'),
        ("Price 5 USD or 6 EUR", "Price 5 EUR or 6 USD", '"5 eur" for "5 usd"'),
        ("10 mg once, 5 twice", "5 mg once, 10 twice", '"5 mg" for "10 mg"'),
        ("Rent | 500\nDeposit | 900", "Rent 900\nDeposit 500", '"900" for "500"'),
        ("5 | 10 | kept", "10 5 kept", '"10 5" for "5 10"'),
        ("Amount (500) EUR", "Amount \u2212500 €", ""),
        ("Pay EUR 500 now", "Pay 500 € now", ""),
        ("Amount ≤ 5", "AMOUNT <= 5", ""),
        ("Rent | 500\nDeposit | 900 EUR", "* *Rent* 500\n- Deposit\t900\nEUR", ""),
        ("- 500 g flour", "* 500 g flour", ""),
        ("Total 1 240,50 net", "Total 1.240,50 net", ""),
        ("Total 950^2 EUR", "Total 9502 EUR", ""),
        ("A range of 5-10 days", "A range of 5\u201310 days", ""),
    ],
)
def test_a_word_in_the_place_of_another_is_for_review(read: str, other: str, told: str) -> None:
    review = difference(read, other, ("HTML", "plain text"))[1]
    assert told in review
    assert bool(told) == bool(review)
