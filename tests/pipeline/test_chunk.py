"""Windows: they cover everything, none is too long, and no character is left out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.chunk import fitting, windows
from pipeline.document import Span
from pipeline.sentences import split_sentences
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
    for plan in (
        windows(text, split_sentences(text), model, limit),
        fitting(text, split_sentences(text), model, limit)[0],
    ):
        assert covered(text, plan)
        counts = model.count_tokens([text[span.start : span.end] for span in plan])
        assert all(tokens <= limit or span.end - span.start == 1 for span, tokens in zip(plan, counts, strict=True))


@pytest.mark.parametrize(
    "text",
    ["a" * 100_000, "漢字仮名" * 25_000, "." * 100_000, '!"§$%&/()=' * 10_000, "word " * 20_000, "word\n" * 20_000],
)
def test_long_texts_without_an_end(text: str) -> None:
    model = BagOfWords()
    plan = windows(text, split_sentences(text), model, 64)
    assert covered(text, plan)
    counts = model.count_tokens([text[span.start : span.end] for span in plan])
    assert max(counts) <= 64
    assert len(plan) <= 4 * (sum(counts) // 64 + 1), "windows are filled well"


def test_fitting_says_the_tokens_of_each() -> None:
    text = "One two three. " + "Four " * 100
    model = BagOfWords()
    spans, counts = fitting(text, split_sentences(text), model, 20)
    assert counts == model.count_tokens([text[span.start : span.end] for span in spans])
    assert spans[0] == Span(0, 14)


def test_a_long_sentence_breaks_at_a_clause_or_a_space() -> None:
    text = "the parties agree that it holds, " * 20
    spans, _ = fitting(text, [Span(0, len(text.strip()))], BagOfWords(), 30)
    assert all(text[span.end - 1] == "," for span in spans)
    words = "word " * 200
    spans, _ = fitting(words, [Span(0, len(words.strip()))], BagOfWords(), 30)
    assert {words[span.start : span.end].replace(" ", "").replace("word", "") for span in spans} == {""}


def test_windows_are_of_about_equal_size() -> None:
    text = "One two three four. " * 30
    model = BagOfWords()
    plan = windows(text, split_sentences(text), model, 64)
    counts = model.count_tokens([text[span.start : span.end] for span in plan])
    assert min(counts) > 0.6 * max(counts)


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
