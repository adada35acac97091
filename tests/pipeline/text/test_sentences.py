"""Sentences: what ends one, what does not, and that nothing is lost."""

# ruff: noqa: RUF001  other scripts' punctuation is meant
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.text.sentences import split_sentences


def split(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["It rained.", "We stayed in."],
        ["Dr. Huber came at 3.5 p.m. with Mr. Lee.", "He left."],
        ["Das gilt z. B. für Abs. 2 des Vertrages.", "Wir zahlen am 31. Dezember 2025."],
        ["Er wohnt in der Hauptstr. 12 in Ulm.", "Sie auch."],
        ["J. P. Morgan wrote it.", "Nobody read it!", "Why?", "Nobody knows."],
        ["„Das ist gut.“", "Er ging."],
        ["He asked “Why?” and left.", "Then silence."],
        ["The U.S. version costs 1.234,56 € incl. VAT.", "It is new."],
        ["Prices rose (by 3 per cent).", "Wages did not..."],
    ],
)
def test_running_text(sentences: list[str]) -> None:
    assert split(" ".join(sentences)) == sentences


def test_scripts_without_blanks() -> None:
    assert split("他说：“你好。”然后走了。真的吗？是的！") == ["他说：“你好。”", "然后走了。", "真的吗？", "是的！"]


def test_lines_of_a_letter() -> None:
    text = (
        "Müller & Söhne GmbH\nHauptstr. 12\n80331 München\n\nRechnung Nr. 2025-0042\nRechnungsdatum: 31.12.2025\n\n"
        "vielen Dank für Ihren Auftrag vom 3. Dezember 2025, wir berechnen Ihnen wie\nvereinbart die Wartung. Danke!\n"
        "- Pos. 1: Schrauben\n- Pos. 2: Muttern\nArtikel | Preis | Bemerkung\nNagel | 3,00 | Kurz. Aber gut."
    )
    assert split(text) == [
        "Müller & Söhne GmbH",
        "Hauptstr. 12",
        "80331 München",
        "Rechnung Nr. 2025-0042",
        "Rechnungsdatum: 31.12.2025",
        "vielen Dank für Ihren Auftrag vom 3. Dezember 2025, wir berechnen Ihnen wie\nvereinbart die Wartung.",
        "Danke!",
        "- Pos. 1: Schrauben",
        "- Pos. 2: Muttern",
        "Artikel | Preis | Bemerkung",
        "Nagel | 3,00 | Kurz. Aber gut.",
    ]


def test_a_wrapped_line_goes_on_and_a_short_one_ends() -> None:
    wrapped = (
        "The number of accidents fell to the lowest figure since the year in which\n"
        "Records began, which is what the Board wished\n"
    )
    assert len(split(wrapped)) == 1
    assert split(wrapped + "Summary\nThe rest follows here.") == [wrapped.strip(), "Summary", "The rest follows here."]


def test_a_date_at_the_beginning_of_a_line_is_no_list_item() -> None:
    text = "für die ausgeführten Arbeiten berechnen wir gemäß dem gemeinsamen Aufmaß vom\n6. Oktober wie folgt"
    assert split(text) == [text]


def test_a_part_of_a_text() -> None:
    text = "One. Two. Three."
    assert [text[s.start : s.end] for s in split_sentences(text, 5, 9)] == ["Two."]


MARKS = st.text(alphabet=" \n\r\t\f.!?…:;,-|#•1aA9“”()。！中文\u00a0\u2028\x1f", max_size=200)


@given(st.text(max_size=300) | MARKS)
@example("\r\n\r\n.\r\n")
@example(".)")
def test_every_character_lies_in_one_sentence_or_is_white_space(text: str) -> None:
    at = 0
    for span in split_sentences(text):
        assert not text[at : span.start].strip()
        assert span.start < span.end
        assert not text[span.start].isspace()
        assert not text[span.end - 1].isspace()
        at = span.end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    "pattern", [".", '."', "a. ", "(", "A! ", "\n", "\n ", "a: ", "1.", " | ", "#", "。", "'", "a"]
)
def test_a_megabyte_of_anything_is_split_in_linear_time(pattern: str) -> None:
    text = pattern * (300_000 // len(pattern))
    spans = split_sentences(text)
    assert sum(span.end - span.start for span in spans) <= len(text)


def test_small_letters_begin_sentences_only_where_there_are_no_capitals() -> None:
    sentences = ["you may not copy it.", "we may end it, e.g. for no. 5, at once!", "is that clear?", "yes."]
    assert split(" ".join(sentences)) == sentences
    assert split("You may not copy it. we may end it.") == ["You may not copy it. we may end it."]
