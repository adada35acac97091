"""The plan covers every character once and keeps to budget and borders; windows fit, and leave no character out."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.document import Parsed, Section, Span
from pipeline.text import chunk as module
from pipeline.text.chunk import Chunk, borders, fitting, plan, windows
from pipeline.text.sentences import split_sentences
from tests.pipeline.tasks.bag import BagOfWords


def covered(text: str, spans: list[Span]) -> bool:
    ends = [0, *(span.end for span in spans)]
    starts = [*(span.start for span in spans), len(text)]
    return all(not text[end:start].strip() and end <= start for end, start in zip(ends, starts, strict=True))


PIECES = st.sampled_from(["a", "word ", "Ein Satz. ", "\n\n", "。", "漢字", "!", "x" * 90, "a, b; ", "\u00a0", "9.9"])


@settings(max_examples=150)
@given(st.lists(PIECES, max_size=80).map("".join) | st.text(max_size=400), st.integers(4, 40))
def test_windows_cover_the_text_and_fit(text: str, limit: int) -> None:
    model = BagOfWords()
    spans = windows(text, split_sentences(text), model, limit)
    assert covered(text, spans)
    counts = model.count_tokens([text[span.start : span.end] for span in spans])
    assert all(tokens <= limit or span.end - span.start == 1 for span, tokens in zip(spans, counts, strict=True))


@pytest.mark.parametrize(
    "text",
    ["a" * 100_000, "漢字仮名" * 25_000, "." * 100_000, '!"§$%&/()=' * 10_000, "word " * 20_000, "word\n" * 20_000],
)
def test_long_texts_without_an_end(text: str) -> None:
    model = BagOfWords()
    spans = windows(text, split_sentences(text), model, 64)
    assert covered(text, spans)
    counts = model.count_tokens([text[span.start : span.end] for span in spans])
    assert max(counts) <= 64
    assert len(spans) <= 4 * (sum(counts) // 64 + 1), "windows are filled well"


def test_windows_are_of_about_equal_size() -> None:
    text = "One two three four. " * 30
    model = BagOfWords()
    spans = windows(text, split_sentences(text), model, 64)
    counts = model.count_tokens([text[span.start : span.end] for span in spans])
    assert min(counts) > 0.6 * max(counts)


def test_windows_of_many_units_are_made_by_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 7)
    text = "One two three four. " * 100
    assert covered(text, windows(text, iter(split_sentences(text)), BagOfWords(), 64))


def test_work_is_linear_in_the_text() -> None:
    class Counting(BagOfWords):
        characters = 0

        def count_tokens(self, texts: object) -> list[int]:
            self.characters += sum(map(len, texts))  # type: ignore[attr-defined]
            return super().count_tokens(texts)  # type: ignore[arg-type]

    text = "漢字仮名" * 50_000
    model = Counting()
    windows(text, split_sentences(text), model, 64)
    assert model.characters <= 6 * len(text)


def planned(document: Parsed, most: int = 40) -> list[Chunk]:
    """The plan over the sentences of each page and section."""
    text, model = document.text, BagOfWords()
    parts = pairwise([*borders(document), len(text)])
    spans, tokens = fitting(text, [s for a, b in parts for s in split_sentences(text, a, b)], model, most)
    return plan(document, spans, tokens, most)


def texts_of(document: Parsed, most: int = 40) -> list[str]:
    return [document.text[chunk.start : chunk.end] for chunk in planned(document, most)]


def parsed(text: str, pages: tuple[int, ...] = (), sections: tuple[Section, ...] = ()) -> Parsed:
    return Parsed(text, "text/plain", "none", pages, sections=sections)


def test_a_short_document_is_one_chunk() -> None:
    assert planned(parsed("\n One. Two.\n\n")) == [Chunk(0, 13, 8, 2, 0)]


def test_what_is_blank_is_covered_and_not_read() -> None:
    assert planned(parsed(" \n ")) == [Chunk(0, 3, 0, 0, 0)]
    assert planned(parsed("")) == []


def test_pages_and_sections_are_never_joined() -> None:
    text = "Cover\n\nOne\n\nBody.\n\nTwo\n\n \n\nLast"
    sections = (Section(7, 1, "heading", "One"), Section(19, 2, "heading", "Two"))
    assert texts_of(parsed(text, (0, 24, 27), sections)) == [
        "Cover\n\n",
        "One\n\nBody.\n\n",
        "Two\n\n",
        " \n\n",
        "Last",
    ]


def test_it_is_cut_at_an_empty_line_then_at_the_end_of_a_line() -> None:
    sentence = "One two three four five. "  # 7 tokens and 2 special ones
    by_blocks = f"{sentence}{sentence}\n\n{sentence}{sentence}{sentence}"
    assert texts_of(parsed(by_blocks)) == [f"{sentence}{sentence}\n\n", sentence * 3]
    by_lines = f"{sentence}{sentence}\n{sentence}{sentence}{sentence}"
    assert texts_of(parsed(by_lines)) == [f"{sentence}{sentence}\n", sentence * 3]
    assert texts_of(parsed(sentence * 6)) == [sentence * 3] * 2


def test_of_too_many_borders_the_deepest_levels_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BORDERS", 3)
    sections = tuple(Section(at, level, "heading", "") for at, level in ((1, 1), (2, 2), (3, 2), (4, 1)))
    assert borders(parsed("abcdef", (0,), sections)) == [0, 1, 4]
    assert borders(parsed("abcdef", (0, 1, 2, 3), sections)) == [0]


@pytest.mark.parametrize("unit", ["a\n", "A b c.\n", "漢字。", "# A\n\n", "!\n\n", "a" * 50 + " "])
def test_there_are_as_many_chunks_as_the_budget_asks_for(unit: str) -> None:
    """Millions of lines of one character are no millions of chunks."""
    document = parsed(unit * (60_000 // len(unit)))
    chunks = planned(document, 64)
    assert len(chunks) <= 1 + 4 * sum(chunk.tokens for chunk in chunks) / 64


@settings(max_examples=150)
@given(st.lists(PIECES, max_size=80).map("".join) | st.text(max_size=400), st.integers(8, 40))
def test_the_number_of_chunks_is_bounded(text: str, most: int) -> None:
    chunks = planned(parsed(text), most)
    assert len(chunks) <= 1 + 4 * sum(chunk.tokens for chunk in chunks) / most
