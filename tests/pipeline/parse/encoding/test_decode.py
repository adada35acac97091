"""Encodings: marks, patterns, declarations, guesses."""

import codecs

import pytest

from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding.decode import declared_in_markup, decode, looks_like_text

GERMAN = (
    "Die Kündigungsfrist beträgt drei Monate zum Ende des Quartals; über Änderungen entscheidet der Geschäftsführer. "
    * 4
)
RUSSIAN = "Настоящий договор вступает в силу с момента подписания и действует до полного исполнения обязательств. " * 4  # noqa: RUF001
JAPANESE = "本契約は、署名の日から効力を生じ、当事者の義務がすべて履行されるまで有効とする。" * 4


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
@pytest.mark.parametrize("text", [GERMAN, "plain ASCII, a few words\r\nand a line\r\n"])
def test_unicode_in_every_form(encoding: str, text: str) -> None:
    found = decode(text.encode(encoding))
    assert found.text.lstrip("\ufeff") == text
    assert found.confidence >= 0.9
    assert looks_like_text(text.encode(encoding))


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("cp1252", GERMAN), ("cp1251", RUSSIAN), ("koi8_r", RUSSIAN), ("cp932", JAPANESE), ("euc_jp", JAPANESE)],
)
def test_other_encodings_are_guessed_with_a_confidence(encoding: str, text: str) -> None:
    found = decode(text.encode(encoding))
    assert found.text == text
    assert found.encoding in {encoding, "euc_jis_2004"}  # which contains euc_jp
    assert 0 < found.confidence <= 1
    assert found == decode(text.encode(encoding))


@pytest.mark.parametrize("encoding", ["iso2022_jp", "iso2022_kr"])
def test_escapes_name_their_encoding(encoding: str) -> None:
    text = JAPANESE if encoding == "iso2022_jp" else "이 계약은 서명한 날부터 효력이 있다."
    assert looks_like_text(text.encode(encoding))
    assert decode(text.encode(encoding)).text == text


def test_a_declaration_is_believed_unless_the_bytes_are_utf_8() -> None:
    assert decode("naïve café".encode("mac_roman"), "macintosh").text == "naïve café"
    lie = decode("naïve café".encode(), "iso-8859-1")
    assert (lie.text, lie.encoding) == ("naïve café", "utf-8")


def test_an_unknown_or_useless_declaration_is_ignored() -> None:
    for declared in ("no-such-thing", "rot13", "hex", "zlib", "undefined", "idna", "unicode_escape", "\x00", ""):
        assert decode(GERMAN.encode("cp1252"), declared).text == GERMAN


def test_markup_says_its_encoding() -> None:
    assert declared_in_markup(b'<meta charset="koi8-r">') == "koi8-r"
    assert declared_in_markup(b"<meta http-equiv=x content='text/html; charset=Shift_JIS'>") == "Shift_JIS"
    assert declared_in_markup(b'<?xml version="1.0" encoding="utf-16"?>') == "utf-16"
    assert declared_in_markup(b"charset=utf-8") is None


def test_a_few_bad_bytes_are_shown_and_counted() -> None:
    data = RUSSIAN.encode().replace("договор".encode(), b"\xff\xfe\xfd", 1)
    found = decode(data)
    assert found.encoding == "utf-8"
    assert found.replaced == 3
    assert found.text.count("\ufffd") == 3
    assert "3 places" in found.notes[0]


def test_a_mark_that_lies_is_not_fatal() -> None:
    found = decode(codecs.BOM_UTF8 + b"text \xff")
    assert found.text == "text \ufffd"
    assert found.notes


def test_noise_is_no_text() -> None:
    noise = bytes((i * 73 + (i >> 3) * 41) % 256 for i in range(4000))
    assert not looks_like_text(noise)
    with pytest.raises(DocumentError) as raised:
        decode(bytes(0x80 + (i * i * 31 + i) % 128 for i in range(4000)))
    assert raised.value.failure is Failure.CORRUPT


def test_an_encoding_of_which_there_is_no_table_is_called_so() -> None:
    """EUC-TW: rare characters have four bytes, which no other encoding has."""
    letter = b"".join(b"\x8e\xa2" + bytes((0xA1 + i % 90, 0xFE - i % 87)) + b"\xc4\xd9" for i in range(100))
    with pytest.raises(DocumentError) as raised:
        decode(letter)
    assert raised.value.failure is Failure.UNSUPPORTED


@pytest.mark.parametrize("encoding", ["cp037", "cp500", "cp273"])
@pytest.mark.parametrize("end", ["\x85", "\n", "\r\n"])
def test_ebcdic_with_lines_is_read(parse, encoding: str, end: str) -> None:
    """The letters of German are the same in 37 and 500."""
    lines = ["MONTHLY REPORT 2026", "Total amount: 1,234.50", "Straße in Köln", "Ende"]
    parsed = parse(end.join(lines).encode(encoding), "x.txt")
    assert parsed.text == "\n".join(lines)
    assert parsed.encoding == ("cp273" if encoding == "cp273" else "cp037")


def test_ebcdic_without_lines_is_not_guessed_at(fail) -> None:
    error = fail("0001MUELLER   BERLIN     000123450002MEIER     HAMBURG    00009900".encode("cp037"))
    assert (error.failure, "EBCDIC" in error.reason) == (Failure.UNSUPPORTED, True)


@pytest.mark.parametrize(
    ("data", "text", "places"),
    [
        (b"Total 5 EUR\x0c2 pages\x08\x08 \x1b[31mred\x1b[0m\x00 end\n", "Total 5 EUR\n2 pages red end", 4),
        ("Größe\x00 5 €\x01\x02\x03 und weiter, es geht voran".encode(), "Größe 5 € und weiter, es geht voran", 2),
        (b"Pay 5\x000 EUR", "Pay 5\ufffd0 EUR", 1),
        (b"Pay 5\x1b[1m0\x1b[0m EUR, 1\x1b[2C2", "Pay 50 EUR, 1\ufffd2", 3),
        (b"Pay 5 EUR\x0c\x1a", "Pay 5 EUR", 0),
    ],
)
def test_some_control_characters_make_no_text_binary(parse, data: bytes, text: str, places: int) -> None:
    parsed = parse(data, "x.txt")
    notes = (f"places with control characters, which are no text: {places}",) if places else ()
    assert (parsed.text, parsed.notes) == (text, notes)


def test_many_control_characters_do(fail) -> None:
    for data in (b"\x00\x00\x00\x05hello\x00\x00\x00\x05world", b"Miller\0\0\0\0Berlin\0\0\0\0001200\0\0\0"):
        assert fail(data, "x.txt").failure is Failure.UNSUPPORTED


def test_zero_bytes_around_and_in_a_text(parse, fail) -> None:
    assert parse(b"The text.\r\n" + bytes(4096), "x.txt").text == "The text."
    assert parse(bytes(4096) + b"The text.", "x.txt").text == "The text."
    assert parse(b"The\x00 text, which goes on for a while.\x00").text == "The text, which goes on for a while."
    assert fail(b"The text. " * 4000 + bytes(4096) + b"The text.", "x.txt").failure is Failure.CORRUPT
    assert fail(bytes(4096), "x.txt").failure is Failure.CORRUPT
    assert fail(bytes(range(256)) * 40, "x.txt").failure is Failure.UNSUPPORTED
