"""Plain texts of mails: soft line breaks, files between the lines, ciphers and signatures in armour."""

import base64
import binascii

import pytest

from pipeline.errors import Failure
from pipeline.parse.mail.plain import plain_of_enriched, take_apart, unflow

HEAD = "From: a@example.org\nTo: b@example.org\nSubject: x\nMIME-Version: 1.0\n"


def flowed(text: str, more: str = "") -> bytes:
    return f"{HEAD}Content-Type: text/plain; charset=utf-8; Format=Flowed{more}\n\n{text}".encode()


def test_soft_line_breaks_are_joined(parse) -> None:
    text = parse(flowed("The rent of EUR \n1,240.00 is due on 30 \nNovember.\n\n From Ann\n-- \nAnn \nLtd\n")).text
    assert text.endswith("\n\nThe rent of EUR 1,240.00 is due on 30 November.\n\nFrom Ann\n-- \nAnn Ltd")


def test_soft_line_breaks_within_words_lose_their_space(parse) -> None:
    text = parse(flowed("file RE-2026-44 \n17 of the Dampfschiff \nfahrt, \nall\n", '; DelSp="yes"')).text
    assert text.endswith("\n\nfile RE-2026-4417 of the Dampfschifffahrt,all")


@pytest.mark.parametrize(
    ("text", "joined", "expected"),
    [
        ("> a \n> b \n>> c \n>> d\ne", False, "> a b \n>> c d\ne"),
        ("> fl \n> owed", True, "> flowed"),
        (">  stuffed \n> on", False, ">  stuffed on"),
        ("> a \n> -- \n> b", False, "> a \n> -- \n> b"),
        ("a \n", False, "a \n"),
        ("a \n\nb", False, "a \n\nb"),
        ("a\nb", False, "a\nb"),
        ("a \r\nb\r\n", False, "a b\n"),
        ("", False, ""),
    ],
)
def test_quotes_and_signatures(text: str, joined: bool, expected: str) -> None:
    assert unflow(text, joined=joined) == expected


def test_a_parameter_in_the_way_of_rfc_2231(parse) -> None:
    data = flowed("EUR \n5\n").replace(b"Format=Flowed", b"format*=us-ascii''flowed")
    assert parse(data).text.endswith("EUR 5")


def test_a_text_that_does_not_flow_stays(parse) -> None:
    assert parse(f"{HEAD}\nEUR \n1,240\n".encode()).text.endswith("EUR \n1,240")


def uu(data: bytes, name: str = "note.txt") -> str:
    lines = [binascii.b2a_uu(data[at : at + 45]).decode().rstrip("\n") for at in range(0, len(data), 45)]
    return "\n".join([f"begin 644 {name}", *lines, "`", "end"])


def test_a_uuencoded_file_is_a_document(parse_members) -> None:
    data = bytes(range(256))
    for stripped in (False, True):
        block = uu(data, "the note.bin")
        block = "\n".join(map(str.rstrip, block.split("\n"))) if stripped else block
        parsed, members = parse_members(f"{HEAD}\nsee attached\n\n{block}\n\nregards\n".encode())
        assert members == {"the note.bin": data}
        assert parsed.text.endswith("\n\nsee attached\n\n\nregards")
        assert parsed.notes == ("files that stood in its text, documents of their own: 1",)


def test_a_file_in_base64_between_the_lines(parse_members) -> None:
    coded = base64.encodebytes(b"%PDF-1.4" * 30).decode()
    parsed, members = parse_members(f"{HEAD}\nsee\nbegin-base64 644 x.pdf\n{coded}====\nend of it\n".encode())
    assert members == {"x.pdf": b"%PDF-1.4" * 30}
    assert parsed.text.endswith("see\nend of it")


def test_a_file_that_has_no_end_is_for_a_person(parse_members) -> None:
    block = uu(b"x" * 90).removesuffix("`\nend")
    for end in ("Regards, Bo\n", "", "\n\nRegards, Bo"):
        parsed, members = parse_members(f"{HEAD}\nsee\n{block}{end}".encode())
        assert members == {"note.txt": b"x" * 90}
        assert parsed.text.endswith(f"see\n{end.strip()}".strip())
    assert parsed.unsure == ("the file note.txt in its text has no end",)


@pytest.mark.parametrize(
    "text",
    ["begin 644 the work\nOn Monday we start.\nend", "begin 2026 with a plan", "=ybegin line=128 size=5 name=x\nno end",
     "(This file must be converted with BinHex 4.0)\nor not", "-----END PGP MESSAGE-----"],
)  # fmt: skip
def test_words_that_begin_like_a_file_stay(text: str) -> None:
    assert take_apart(text).text == text


def test_files_in_other_codes_are_named(parse_members, fail) -> None:
    yenc = "=ybegin line=128 size=3 name=a.bin\nabc\n=yend size=3"
    binhex = "(This file must be converted with BinHex 4.0)\n\n:$f*TEQKPH#\n0N$!:\n"
    parsed, members = parse_members(f"{HEAD}\none\n{yenc}\ntwo\n{binhex}three\n".encode())
    assert members == {"a.bin": Failure.UNSUPPORTED, "binhex.hqx": Failure.UNSUPPORTED}
    assert [one.reason for one in parsed.members] == [
        "found a file in yEnc; decode it and drop what is inside",
        "found a file in BinHex 4.0; decode it and drop what is inside",
    ]
    assert parsed.text.endswith("one\ntwo\nthree")
    for data in (yenc, binhex):
        assert fail(data.encode(), "a.hqx").failure is Failure.UNSUPPORTED


ARMOUR = "-----BEGIN PGP {0}-----\nVersion: GnuPG v2\n\nhQEMA+/xyz\n=ab12\n-----END PGP {0}-----\n"
LOCKED = ARMOUR.format("MESSAGE")


def test_a_cipher_after_a_greeting_is_left_out_and_told(parse) -> None:
    for before, after in (("Hi Bo,\n\n", ""), ("Hi Bo,\n", "\nAnn\n"), ("Hi Bo,\n> ", "")):
        parsed = parse(f"{HEAD}\n{before}{LOCKED}{after}".encode())
        assert "hQEMA" not in parsed.text
        assert "PGP" not in parsed.text
        assert "Hi Bo," in parsed.text
        assert parsed.notes == ("left out of it: an encrypted message (OpenPGP)",)
        assert parsed.unsure == ("an encrypted message (OpenPGP) in it was left out",)


def test_a_cipher_in_html(parse) -> None:
    html = "<p>Hi Bo,</p>" + "<br>".join(LOCKED.split("\n"))
    parsed = parse(f"{HEAD}Content-Type: text/html\n\n{html}".encode())
    assert parsed.text.endswith("Subject: x\n\nHi Bo,")
    assert parsed.unsure == ("an encrypted message (OpenPGP) in it was left out",)


def test_a_mail_that_is_all_cipher_is_encrypted(fail) -> None:
    for text in (LOCKED, f"\n\n{LOCKED}\n\n", "-----BEGIN PGP MESSAGE-----\n\nhQEMA\n"):
        error = fail(f"{HEAD}\n{text}".encode())
        assert (error.failure, error.reason) == (Failure.ENCRYPTED, "an encrypted message (OpenPGP)")


def test_what_is_signed_in_clear_is_read_without_its_armour(parse) -> None:
    signed = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nPay 5 EUR.\n- -- \nBo\n"
    parsed = parse(f"{HEAD}\nHi\n{signed}{ARMOUR.format('SIGNATURE')}bye\n".encode())
    assert parsed.text.endswith("Hi\n\nPay 5 EUR.\n-- \nBo\nbye")
    assert (parsed.notes, parsed.unsure) == (("its signature was not checked",), ())


def test_a_key_is_left_out_and_counted(parse) -> None:
    parsed = parse(f"{HEAD}\nMy key:\n{ARMOUR.format('PUBLIC KEY BLOCK')}bye\n".encode())
    assert parsed.text.endswith("My key:\nbye")
    assert (parsed.notes, parsed.unsure) == (("OpenPGP keys in its text, left out: 1",), ())


@pytest.mark.parametrize(
    "line",
    ["begin 644 x\n", "begin-base64 644 x\n\n", "=ybegin size=1 name=x\n", "(This file must be converted with BinHex\n",
     "-----BEGIN PGP MESSAGE-----\n", "-----BEGIN PGP SIGNED MESSAGE-----\n", "> > >a \n"],
)  # fmt: skip
def test_the_same_line_a_hundred_thousand_times(line: str) -> None:
    """Work that grew with the square of the lines, or of a line, would not end here."""
    plain = take_apart(line * 100_000)
    assert len(plain.text) <= len(line) * 100_000
    assert len(unflow(line * 100_000, joined=True)) <= len(line) * 100_000
    assert len(take_apart(f"{line}{' ' * 400_000}!\n{line.rstrip()}{' ' * 400_000}!\n").text) > 400_000


FOOTER = "_______________________________________________\nHouse mailing list\nhouse@example.org\n"
BEHIND = "text behind the end of a part in base64, kept; not every mail program shows it"


@pytest.mark.parametrize("body", ["Rent: 5 €, due", "Rent: 5 €, due.", "Rent: 5 €, due.."])
def test_text_behind_base64_is_kept_and_noted(parse, body: str) -> None:
    head = f"{HEAD}Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    parsed = parse((head + base64.encodebytes(body.encode()).decode() + "\n" + FOOTER).encode())
    assert parsed.text.endswith(f"\n\n{body}\n\n{FOOTER.strip()}")
    assert parsed.notes == (BEHIND,)


def test_text_behind_an_attachment_in_base64_is_none_of_its_bytes(parse_members) -> None:
    data = bytes(range(256))
    head = f"{HEAD}Content-Type: application/pdf; name=x.pdf\nContent-Transfer-Encoding: base64\n\n"
    parsed, members = parse_members((head + base64.encodebytes(data).decode() + "\n-- \n" + FOOTER).encode())
    assert members == {"x.pdf": data}
    assert parsed.text.endswith(f"Attachment: x.pdf\n\n-- \n{FOOTER.strip()}")
    assert BEHIND in parsed.notes


def test_what_is_no_base64_between_its_lines_is_left_out(parse_members) -> None:
    head = f"{HEAD}Content-Type: application/pdf; name=x.pdf\nContent-Transfer-Encoding: base64\n\n"
    data = bytes(range(240))
    lines = base64.encodebytes(data).decode().split("\n")
    lines[2] = "*" + lines[2]
    assert parse_members((head + "\n".join(lines)).encode())[1] == {"x.pdf": data}


def test_rich_text_in_a_mail_is_read_as_such(parse) -> None:
    head = f"{HEAD}Content-Type: text/rtf\n\n"
    assert parse((head + r"{\rtf1 Rent \b 5\b0  EUR}").encode()).text.endswith("\n\nRent 5 EUR")
    parsed = parse((head + "Rent 5 EUR").encode())
    assert parsed.text.endswith("\n\nRent 5 EUR")
    assert parsed.notes == ("a part of the type text/rtf, read as plain text",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<bold>Total</bold> 5 << 6", "Total 5 < 6"),
        ("<fontfamily><param>Symbol</param>m</fontfamily>g", "mg"),
        ("one\nline\n\nnext\n\n\nlast", "one line\nnext\n\nlast"),
        ("a\r\nb\r\n\r\nc", "a b\nc"),
        ("<<bold> <x-tag>is</x-tag> <no tag>", "<bold> is <no tag>"),
        ("<Color><Param>red << blue</Param>5</Color>", "5"),
        ("5 <lt> 6<nl>7", "5 < 6\n7"),
        ("<param>" * 3 + "5", "5"),
    ],
)
def test_enriched_text_says_what_its_commands_leave(text: str, expected: str) -> None:
    assert plain_of_enriched(text) == expected


def test_enriched_text_in_a_mail_is_read_without_its_commands(parse) -> None:
    data = f"{HEAD}Content-Type: text/enriched\n\n<bold>Rent</bold>\n5 << 6".encode()
    assert parse(data).text.endswith("\n\nRent 5 < 6")
    assert parse(data).notes == ()


def test_a_text_of_a_type_not_known_is_read_as_plain_text_and_noted(parse) -> None:
    parsed = parse(f"{HEAD}Content-Type: text/x-web-intelligent\n\nRent 5".encode())
    assert parsed.text.endswith("\n\nRent 5")
    assert parsed.notes == ("a part of the type text/x-web-intelligent, read as plain text",)
