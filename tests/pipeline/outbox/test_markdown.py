"""A person reads this file; a document cannot put markup into it."""

from typing import Any

import pytest
from markdown_it import MarkdownIt

from pipeline.document import Row
from pipeline.outbox.markdown import format_markdown

ROW = {
    "path": "a|b.txt", "state": "done", "reason": None, "document": "ab" * 32, "audit_index": 7, "run": "r1",
    "model_sha256": "cd" * 32, "software": "cloister 0", "notes": ["page 2 has no text"],
    "evidence": [{"page": 2, "start": 5, "end": 9, "text": "<b>#x"}],
}  # fmt: skip


NOTHING = {"name": "", "type": "text", "value": None, "verbatim": None, "score": None, "note": None, "evidence": None}


def made(columns: dict[str, Any]) -> str:
    """The Markdown of a row with these columns."""
    return format_markdown(Row(ROW | columns), "sort")


def test_classified() -> None:
    text = made({"label": "lease", "score": 0.9, "scores": [{"label": "lease", "score": 0.9}]})
    assert text.startswith("# a\\|b.txt\n\n**lease** (0.90)\n")
    assert "> \\<b>\\#x\n>\n> (page 2, characters 5 to 9)" in text
    assert "Note: page 2 has no text" in text
    assert "| log entry | 7 |" in text


def test_extracted_and_absent() -> None:
    found = {
        "name": "total",
        "type": "money",
        "value": "12.00 EUR",
        "verbatim": "€ 12",
        "score": 0.5,
        "note": None,
        "evidence": {"page": 1, "start": 3, "end": 7, "text": "€ 12"},
    }
    absent = {
        "name": "iban",
        "type": "iban",
        "value": None,
        "verbatim": None,
        "score": None,
        "note": "no IBAN",
        "evidence": None,
    }
    text = made({"fields": [found, absent]})
    assert "| total | 12.00 EUR | € 12 | page 1, characters 3 to 7 | 0.50 |" in text
    assert "| iban | *no IBAN* |  |  |  |" in text


def test_abstained() -> None:
    assert "**No answer**: too close" in made({"state": "abstained", "reason": "too close"})


HOSTILE = [
    "~~~", "```", "- x", "+ x", "* x", "1. x", "12) x", "1.", "-", "=", "---", "===", "***", "___", "# x", "#", "> x",
    "    code", "\tcode", "**x**", "_x_", "`x`", "~~x~~", "&amp;", "&#65;", "<https://a.example>", "<b>", "<!-- x",
    "[a](b)", "![a](b)", "[a]: b", "a | b", ":-", ":-:", "\\", "x\\", "\\*x*", "  - x", "x  ",
]  # fmt: skip


def tokens(text: str) -> list[str]:
    """The kinds of what an independent reader of Markdown finds, in order."""
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return [part.type for token in reader.parse(text) for part in (token, *(token.children or ()))]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("around", ["{}", "a\n{}", "a\n{}\nb", "{}\nb", "a\r{}\r\nb"])
def test_nothing_in_a_document_is_markup(text: str, around: str) -> None:
    for with_fields in (False, True):
        hostile, plain = (_everywhere(around.format(part), with_fields) for part in (text, "x"))
        assert tokens(made(hostile)) == tokens(made(plain))


def _everywhere(text: str, with_fields: bool) -> dict[str, object]:
    field = {
        "name": text,
        "type": "text",
        "value": text,
        "verbatim": text,
        "score": 0.5,
        "note": None,
        "evidence": None,
    }
    row = ROW | {"state": "abstained", "reason": text, "label": text, "score": 0.5, "summary": text, "notes": [text]}
    row |= {"path": text, "evidence": [{"page": None, "start": 0, "end": 1, "text": text}]}
    nothing = field | {"value": None, "note": text}
    return row | {"task": "extract", "fields": [field, nothing]} if with_fields else row


@pytest.mark.parametrize("text", HOSTILE)
def test_a_reader_sees_the_text_as_it_was(text: str) -> None:
    parsed = MarkdownIt("commonmark").parse(made({"summary": text}))
    shown = [token for token in parsed if token.type == "inline"][1]
    assert "".join(part.content for part in shown.children or ()) == text.strip()


@pytest.mark.parametrize(
    "text", ["EUR 12.00", "12.00 EUR", "2026-08-20", "a.b.pdf", "R&D, A & B", "Yes! 2 + 2 = 4", "a > b", "3.5)", "(1)"]
)
def test_ordinary_text_reads_as_it_is(text: str) -> None:
    expected = text.replace("R&D", "R\\&D")
    assert f"\n\n{expected}\n\n" in made({"summary": text})


def test_a_summary_keeps_its_lines() -> None:
    assert "\n\none\n\\- two\n3\\. three\n\n" in made({"summary": "one\n- two\n3. three"})


def test_a_negative_amount_in_a_cell_reads_as_it_is() -> None:
    field = {
        "name": "total",
        "type": "money",
        "value": "-5.00",
        "verbatim": "-5",
        "score": 0.5,
        "note": None,
        "evidence": None,
    }
    assert "| total | -5.00 | -5 |" in made({"fields": [field]})
