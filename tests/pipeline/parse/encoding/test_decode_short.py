# ruff: noqa: RUF001
"""Short office texts in the encodings that offices had before UTF-8."""

import json
from pathlib import Path

import pytest

from pipeline.parse.encoding.decode import decode

_DATA: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_name("short.json").read_text("utf-8"))
WESTERN = _DATA["western"]
OTHERS = _DATA["others"]
WRITTEN_IN = {
    "pl": ("cp1250", "iso8859_2", "cp852"),
    "cs": ("cp1250", "iso8859_2", "cp852"),
    "hu": ("cp1250", "iso8859_2", "cp852"),
    "tr": ("cp1254", "iso8859_9"),
    "ru": ("cp1251", "koi8_r", "cp866", "iso8859_5"),
    "el": ("cp1253", "iso8859_7"),
}
FORMS = ("cp1252", "latin_1", "iso8859_15")
OLD = ("cp850", "cp437", "mac_roman")


def cases(encodings: tuple[str, ...], texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """The texts that each of the encodings can write, with it."""
    return [(text, one) for text in texts for one in encodings if text.encode(one, "ignore").decode(one) == text]


WESTERN_CASES = [case for texts in WESTERN.values() for case in cases(FORMS, texts)]
OLD_CASES = [case for texts in WESTERN.values() for case in cases(OLD, texts)]
OTHER_CASES = [case for language, texts in OTHERS.items() for case in cases(WRITTEN_IN[language], texts)]


def wrong(table: list[tuple[str, str]]) -> list[tuple[str, str, str, str]]:
    """The cases that are not read as they were written: encoding, the one found, text, reading."""
    found = [(text, encoding, decode(text.encode(encoding))) for text, encoding in table]
    return [(encoding, one.encoding, text, one.text) for text, encoding, one in found if one.text != text]


@pytest.mark.parametrize(
    ("table", "share"), [(WESTERN_CASES, 0.97), (OLD_CASES, 0.9), (OTHER_CASES, 0.97)], ids=["western", "old", "others"]
)
def test_short_texts_are_read_as_written(table: list[tuple[str, str]], share: float) -> None:
    bad = wrong(table)
    assert len(bad) <= (1 - share) * len(table), bad


def test_what_is_wrong_is_called_a_guess() -> None:
    for encoding, _, text, _ in wrong(OLD_CASES + OTHER_CASES):
        assert decode(text.encode(encoding)).notes


def test_a_weak_guess_names_its_rival() -> None:
    found = decode("Überweisung".encode("cp850"))
    assert found.rival
    assert found.confidence < 0.75
    assert found.notes == [
        f"the encoding is a guess: read as {found.encoding} (confidence {found.confidence:.2f}), "
        f"{found.rival} is possible too"
    ]


def test_a_clear_case_has_no_note() -> None:
    found = decode(WESTERN["de"][0].encode("cp1252"))
    assert (found.encoding, found.notes) == ("cp1252", [])
    assert 0.75 <= found.confidence <= 0.95


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp932", "合計金額：12,000円（税込）"),
        ("euc_jp", "ログイン"),
        ("cp949", "계약서 금액 5000원"),
        ("cp1255", "שלום רב, מצורפת חשבונית"),
        ("cp1256", "السلام عليكم، مرفق الفاتورة"),
    ],
)
def test_short_texts_of_the_rest_of_the_world(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)).text == text


def test_what_comes_late_counts_and_a_stray_byte_is_replaced() -> None:
    data = b"plain words\n" * 20_000 + "Größe für Müller\n".encode("cp1252") * 20 + b"\x81\n"
    found = decode(data)
    assert (found.encoding, found.replaced) == ("cp1252", 1)
    assert found.text.endswith("Größe für Müller\n\ufffd\n")


def test_a_long_line_is_sampled_where_it_says_something() -> None:
    text = "plain words " * 20_000 + "Größe für Müller " * 2000
    assert decode(text.encode("cp1252")).text == text


def test_a_table_drawn_under_dos() -> None:
    text = "┌──────────┬─────────┐\n│ Straße   │ Größe   │\n├──────────┼─────────┤\n│ Köln     │ 12      │\n"
    text += "└──────────┴─────────┘\nSehr geehrte Frau Müller\n"
    assert decode(text.encode("cp437")).text == text


def test_a_long_line_of_ascii_costs_no_more_than_its_length() -> None:
    data = b"a" * 20_000_000 + "\nGröße für Müller\n".encode("cp1252")  # for hours, were it read from every place
    assert decode(data).encoding == "cp1252"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("euc_jp", "東京都港区"),
        ("euc_jp", "株式会社東京商事 契約書 第一条"),
        ("euc_jp", "ご注文ありがとうございます。合計金額は一万円です。"),
        ("cp932", "契約書"),
        ("gb18030", "合同"),
        ("gb18030", "发票编号 4711"),
        ("big5", "合約書 編號 4711"),
        ("cp949", "계약서"),
        ("cp949", "대한민국 서울"),
    ],
)
def test_letters_that_people_write_often_tell_the_encodings_of_east_asia_apart(encoding: str, text: str) -> None:
    found = decode(text.encode(encoding))
    assert (found.text, found.encoding) == (text, encoding)


def test_characters_of_vendors_spoil_no_japanese_text() -> None:
    written = "契約書 No. ".encode("iso2022_jp") + b"\x1b$B-!\x1b(B 4711\n"
    assert decode(written).text == "契約書 No. ① 4711\n"
    written = "契約書の件 ".encode("euc_jp") + b"\xad\xa1\xad\xea " + "よろしく".encode("euc_jp")
    assert decode(written).text == "契約書の件 ①㈱ よろしく"
    cut = decode("契約書の件について".encode("iso2022_jp")[:-6])
    assert (cut.text[:-1], cut.replaced) == ("契約書の件につ", 1)


def test_an_emoji_of_two_surrogates_spoils_no_utf_8() -> None:
    found = decode("Räume sind geprüft ".encode() + "\U0001f600".encode("utf-16-be").decode("utf-16-be").encode())
    assert found.notes == []
    pair = "\ud83d\ude00".encode("utf-8", "surrogatepass")
    found = decode("Räume sind geprüft ".encode() + pair)
    assert (found.text, found.encoding) == ("Räume sind geprüft \U0001f600", "utf-8")
    assert found.notes == ["1 characters were written as two surrogates each (CESU-8)"]
    found = decode("Räume geprüft ".encode() + pair[:3] + b" x")
    assert (found.text, found.replaced) == ("Räume geprüft \ufffd x", 1)


@pytest.mark.parametrize("text", ["Grüße 4711 Straße ü", "Preis 5 €", "für 5 €", "Smile \U0001f600"])
def test_utf_8_that_breaks_off_is_utf_8(text: str) -> None:
    found = decode(text.encode()[:-1])
    assert (found.text, found.encoding, found.replaced) == (text[:-1] + "\ufffd", "utf-8", 1)


@pytest.mark.parametrize(("encoding", "line"), [("cp1252", "Größe für Köln"), ("cp1251", "договор аренды")])
def test_lines_in_another_encoding_are_read_by_themselves(encoding: str, line: str) -> None:
    found = decode(
        "Grüße aus Köln\r\n".encode() * 4 + f"{line}\r\n".encode(encoding) * 2 + "für Jürgen ".encode() + b"\xff\n"
    )
    assert found.text == "Grüße aus Köln\r\n" * 4 + f"{line}\r\n" * 2 + "für Jürgen \ufffd\n"
    assert found.notes == [
        f"2 lines are no UTF-8 and were read as {encoding}",
        "1 places are not valid utf-8 and read as U+FFFD",
    ]


def test_utf_16_that_breaks_off_is_utf_16() -> None:
    found = decode(("Vertrag über 5 Euro\n" * 4).encode("utf-16-le")[:-1])
    assert (found.encoding, found.replaced) == ("utf-16-le", 1)


def test_a_text_of_other_encodings_is_no_broken_utf_8() -> None:
    for encoding, text in (("cp866", "рад сад\nдоговор аренды\nрад\n"), ("cp1252", "Größe für Müller\nPâté\n")):
        assert decode(text.encode(encoding)).text == text


def test_half_a_japanese_character_at_the_end_breaks_nothing() -> None:
    assert decode(b'{"a": \xd11\xf0 2, {"b": "c"}]": null}\xd8').text.endswith("null}и")
