"""What nobody sees is counted, and left out or kept; what a script needs stays."""

# ruff: noqa: RUF001  invisible characters are meant
import pytest

from pipeline.document import Hidden
from pipeline.parse.sight.hidden import KINDS, HiddenText
from pipeline.parse.writer import TextWriter


def seen(text: str, drop: bool = True) -> tuple[str, dict[str, int]]:
    hidden = HiddenText(drop)
    result = hidden.visible(text)
    return result, {one.kind: one.characters for one in hidden.found()}


@pytest.mark.parametrize(
    ("text", "shown", "counts"),
    [
        ("pay\u200b here", "pay here", {"zero_width": 1}),
        ("i\u200cgnore", "ignore", {"zero_width": 1}),
        ("a\u202egnp.exe", "agnp.exe", {"bidi_control": 1}),
        ("a\u2066b\u2069", "ab", {"bidi_control": 2}),
        ("x" + "".join(chr(0xE0000 + ord(one)) for one in "do it"), "x", {"tag": 5}),
        ("a\U000e0101\U000e0102", "a", {"zero_width": 2}),
        ("a\u2060b\u3164", "ab", {"zero_width": 2}),
    ],
)
def test_what_nobody_sees_is_counted(text: str, shown: str, counts: dict[str, int]) -> None:
    assert seen(text) == (shown, counts)
    assert seen(text, drop=False) == (text, counts)


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",  # Persian
        "שלום\u200f, abc",  # Hebrew with a mark
        "क्\u200dष",  # Devanagari
        "👩\u200d💻 and 👨\u200d👩\u200d👧",
        "ภาษา\u200bไทย",
        "葛\U000e0100城市",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # the flag of England
        "plain text",
    ],
)
def test_what_a_script_needs_stays(text: str) -> None:
    assert seen(text) == (text, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("log in at pаypal or gооgle", ["pаypal", "gооgle"]),  # with Cyrillic letters
        ("IΝVOICE, аccount", ["IΝVOICE", "аccount"]),  # with a Greek and a Cyrillic one
        ("слoвo, Mocквa", ["слoвo", "Mocквa"]),  # with Latin ones
        ("to pаypal\u037e gооgle\u0387", ["pаypal", "gооgle"]),  # before marks that some fonts say to be Greek
    ],
)
def test_words_of_letters_that_look_alike_are_noted_and_stay(text: str, words: list[str]) -> None:
    hidden = HiddenText(drop=True)
    assert hidden.visible(text) == text
    assert hidden.found() == ()
    assert len(hidden.notes()) == 1
    assert all(word in hidden.notes()[0] for word in words)


@pytest.mark.parametrize(
    "text",
    ["5 µm, 5 μm, 3 kΩ", "α-Ketoglutarat, TNFα, IFNγ, NF-κB, ΔT, γGT, σx, ηp", "IT-отдел, SMSка, PRщик, Wi-Fi у нас",
     "Ελληνικά και English", "Привет, world", "χ2 test, Χ2"],
)  # fmt: skip
def test_real_words_of_several_scripts_are_not_noted(text: str) -> None:
    hidden = HiddenText(drop=True)
    assert hidden.visible(text) == text
    assert hidden.notes() == []


def test_a_writer_counts_once_however_deep() -> None:
    for drop, text in ((True, "ab"), (False, "a\u200bb")):
        hidden = HiddenText(drop)
        writer = TextWriter(1000, hidden)
        inner = writer.inner()
        inner.line("a\u200bb")
        writer.cells([inner.finish()[0]])
        assert writer.finish()[0] == text
        assert hidden.found() == (Hidden("zero_width", 1),)


def test_a_writer_is_told_whether_to_leave_it_out() -> None:
    for drop in (True, False):
        hidden = HiddenText(drop)
        assert TextWriter(1000, hidden).hide("tiny", "a b") is drop
        assert hidden.found() == (Hidden("tiny", 2),)


def test_every_kind_is_explained() -> None:
    assert all(KINDS.values())


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("pay \u202e0001\u202c EUR", "0001"),
        ("pay \u202e0001", "0001"),
        ("pay \u202e\u202b\u202c0001\u202c EUR\nnext", "0001 EUR"),
        ("\u202e" + "1" * 99, "1" * 39 + "…"),
        ("pay \u202e1\u202c 0001 \u202d0001\u202c", ""),
        ("\u202e\u05d0\u05d1\u202c 0001", ""),
    ],
)
def test_text_in_the_opposite_order_is_for_a_person(text: str, turned: str) -> None:
    for drop in (True, False):
        hidden = HiddenText(drop)
        hidden.visible(text)
        assert hidden.unsure == ((f'letters are drawn in the opposite order: "{turned}"',) if turned else ())
