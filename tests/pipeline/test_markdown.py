"""A person reads this file; a document cannot put markup into it."""

from pipeline.markdown import format_markdown

ROW = {
    "path": "a|b.txt", "state": "done", "reason": None, "document": "ab" * 32, "audit_index": 7, "run": "r1",
    "model_sha256": "cd" * 32, "software": "cloister 0", "notes": ["page 2 has no text"],
    "evidence": [{"page": 2, "start": 5, "end": 9, "text": "<b>#x"}],
}  # fmt: skip


def test_classified() -> None:
    text = format_markdown(ROW | {"label": "lease", "score": 0.9, "scores": [{"label": "lease", "score": 0.9}]}, "sort")
    assert text.startswith("# a\\|b.txt\n\n**lease** (0.90)\n")
    assert "> \\<b>\\#x\n>\n> (page 2, characters 5 to 9)" in text
    assert "Note: page 2 has no text" in text
    assert "| log entry | 7 |" in text


def test_extracted_and_absent() -> None:
    found = {
        "name": "total",
        "value": "12.00 EUR",
        "verbatim": "€ 12",
        "score": 0.5,
        "note": None,
        "evidence": {"page": 1, "start": 3, "end": 7},
    }
    absent = {"name": "iban", "value": None, "verbatim": None, "score": None, "note": "no IBAN", "evidence": None}
    text = format_markdown(ROW | {"fields": [found, absent]}, "sort")
    assert "| total | 12.00 EUR | € 12 | page 1, characters 3 to 7 | 0.50 |" in text
    assert "| iban | *no IBAN* |  |  |  |" in text


def test_abstained() -> None:
    assert "**No answer**: too close" in format_markdown(ROW | {"state": "abstained", "reason": "too close"}, "sort")
