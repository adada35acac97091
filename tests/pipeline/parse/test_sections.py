"""Sections: what has a name in a text, and where a place stands."""

from pipeline.document import Parsed, Section
from pipeline.parse.sight.hidden import HiddenText
from pipeline.parse.writer import TextWriter


def test_pages_and_headings_begin_where_their_text_does() -> None:
    writer = TextWriter(1000, HiddenText(drop=True))
    writer.page("Sheet 1", "sheet")
    writer.heading("1  Rent", 1)
    writer.line("It is due.")
    writer.page("Empty", "sheet")
    writer.page("Sheet 3", "sheet")
    writer.line("More.")
    writer.heading("", 2)
    text, pages = writer.finish()
    assert text == "1  Rent\n\nIt is due.\n\nMore."
    assert pages == (0, 21, 21)
    assert writer.sections == [
        Section(0, 0, "sheet", "Sheet 1"),
        Section(0, 1, "heading", "1 Rent"),
        Section(21, 0, "sheet", "Empty"),
        Section(21, 0, "sheet", "Sheet 3"),
    ]


def test_a_place_is_named_by_the_sections_around_it() -> None:
    sections = (
        Section(0, 0, "sheet", "A"),
        Section(2, 1, "heading", "One"),
        Section(4, 3, "heading", "Deep"),
        Section(6, 2, "heading", "Second"),
        Section(8, 0, "sheet", "B"),
    )
    parsed = Parsed("0123456789", "text/plain", "txt", sections=sections)
    named = ["A", "A", "A > One", "A > One", "A > One > Deep", "A > One > Deep", "A > One > Second", "A > One > Second"]
    assert [parsed.section_of(place) for place in range(10)] == [*named, "B", "B"]
    assert parsed.evidence(6, 8).section == "A > One > Second"
    assert Parsed("x", "text/plain", "txt").section_of(0) is None


def test_titles_are_one_short_line() -> None:
    writer = TextWriter(10_000, HiddenText(drop=True))
    writer.heading("a\nb " + "c" * 500, 1)
    assert writer.sections[0].title == "a b " + "c" * 195 + "…"
