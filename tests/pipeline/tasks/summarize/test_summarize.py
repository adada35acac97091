"""Summarize: what is chosen, what is not, in what order and to which length."""

import pytest

from pipeline.tasks import SummarizeSettings
from pipeline.tasks.summarize.answers import count_words, is_sentence
from tests.pipeline.tasks.conftest import Ask

REPORT = """Annual report of the harbour

Harbour works | 2024 | 2025
Accidents | 23 | 14

Page 1 of 3

The harbour had fewer accidents in the year than ever before in its history. Crane accidents in the harbour fell most,
because every crane got a new brake in the year. The canteen has a new menu with soup. The harbour had fewer accidents
in the year than ever before in its history. Training of crane drivers in the harbour will go on next year.

Page 2 of 3

The harbour board thanks everyone who made the harbour a safer place in the year.

Page 3 of 3"""


def summary(ask: Ask, text: str, **length: int) -> list[str]:
    answer = ask(SummarizeSettings(**length), text)
    sentences = answer.columns["sentences"]
    assert answer.columns["summary"] == " ".join(" ".join(s["text"].split()) for s in sentences)
    assert [text[s["start"] : s["end"]] for s in sentences] == [s["text"] for s in sentences]
    assert [s["start"] for s in sentences] == sorted(s["start"] for s in sentences)
    assert [e.text for e in answer.evidence] == [s["text"] for s in sentences]
    return [" ".join(s["text"].split()) for s in sentences]


def test_sentences_and_neither_rows_nor_headings_nor_page_numbers(ask: Ask) -> None:
    chosen = summary(ask, REPORT, sentences=3)
    assert len(chosen) == 3
    assert all(sentence.endswith(".") and "|" not in sentence and "Page" not in sentence for sentence in chosen)
    assert not any("soup" in sentence for sentence in chosen)


def test_nothing_is_said_twice(ask: Ask) -> None:
    chosen = summary(ask, REPORT, sentences=3)
    assert len(set(chosen)) == 3


@pytest.mark.parametrize("words", [15, 30, 60])
def test_a_budget_of_words_is_kept(ask: Ask, words: int) -> None:
    chosen = summary(ask, REPORT, words=words)
    assert chosen
    assert sum(map(count_words, chosen)) <= words


def test_one_sentence_is_given_however_small_the_budget(ask: Ask) -> None:
    assert len(summary(ask, REPORT, words=1)) == 1


def test_a_short_document_is_its_own_summary(ask: Ask) -> None:
    text = "Kurze Notiz\n\nEs regnet. Wir bleiben."
    assert summary(ask, text, sentences=5) == ["Kurze Notiz", "Es regnet.", "Wir bleiben."]
    assert summary(ask, text, words=50) == ["Kurze Notiz", "Es regnet.", "Wir bleiben."]


def test_a_document_without_sentences_gives_its_lines(ask: Ask) -> None:
    assert len(summary(ask, "Schrauben | 12\nMuttern | 13\nNägel | 14", sentences=2)) == 2


def test_the_page_of_each_sentence(ask: Ask) -> None:
    starts = (0, REPORT.index("Page 2"), REPORT.index("Page 3"))
    pages = [s["page"] for s in ask(SummarizeSettings(sentences=4), REPORT, starts).columns["sentences"]]
    assert set(pages) <= {1, 2}
    assert len(pages) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The parties agree on this today.", True),
        ("他们今天同意这个价格并且签字了。", True),
        ("Sincerely, John Smith", False),
        ("and so it goes on and on.", False),
        ("Introduction ........ 4 and more.", False),
        ("1 2 3 4 5 6 7 8 9 10 euros.", False),
        ("A | B | C and D and E.", False),
        ("Yes, fine.", False),
        ("Word " * 100 + "end.", False),
    ],
)
def test_what_is_a_sentence(text: str, expected: bool) -> None:
    assert is_sentence(text) == expected


def test_a_text_without_capitals_has_sentences_to_choose(ask: Ask) -> None:
    text = "terms of use\n\nyou may not copy the software. we may end your use of the software at once."
    answer = ask(SummarizeSettings(sentences=1), text)
    assert answer.columns["summary"] in (
        "you may not copy the software.",
        "we may end your use of the software at once.",
    )
    assert not is_sentence("you may not copy the software.")
    assert is_sentence("you may not copy the software.", small=True)
