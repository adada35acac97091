"""Fitting: what is too long is cut where the text parts, and what a cut parts may be read on both sides of it."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.document import Span
from pipeline.text.chunk import fitting
from pipeline.text.sentences import split_sentences
from tests.pipeline.tasks.bag import BagOfWords
from tests.pipeline.text.test_chunk import PIECES, covered


@settings(max_examples=100)
@given(st.lists(PIECES, max_size=80).map("".join) | st.text(max_size=400), st.integers(4, 40), st.sampled_from([0, 20]))
def test_everything_is_read_and_fits(text: str, limit: int, overlap: int) -> None:
    model = BagOfWords()
    spans, counts = fitting(text, split_sentences(text), model, limit, overlap)
    assert counts == model.count_tokens([text[span.start : span.end] for span in spans])
    assert all(tokens <= limit or span.end - span.start == 1 for span, tokens in zip(spans, counts, strict=True))
    assert [span.start for span in spans] == sorted({span.start for span in spans})
    assert [span.end for span in spans] == sorted({span.end for span in spans})
    assert covered(text, spans) or overlap
    assert "".join("".join(text[s.start : s.end].split()) for s in own(spans)) == "".join(text.split())


def own(spans: list[Span]) -> list[Span]:
    """What each reads that the one before did not."""
    ends = [0, *(span.end for span in spans)]
    return [Span(max(end, span.start), span.end) for end, span in zip(ends, spans, strict=False)]


def test_the_tokens_of_each() -> None:
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


def test_a_value_across_a_cut_is_whole_in_the_last_piece_that_begins_before_it() -> None:
    """As `extract` looks it up; without an overlap some are parted."""
    assert all(whole(words, 64) for words in range(0, 400, 3))
    assert not all(whole(words, 0) for words in range(0, 400, 3))


def whole(words: int, overlap: int) -> bool:
    value = "EUR 12,345.00 due on 31 December"
    text = "lorem " * words + value + " lorem" * (400 - words)
    at = text.index(value)
    spans, _ = fitting(text, [Span(0, len(text))], BagOfWords(), 256, overlap)
    return at + len(value) <= [span for span in spans if span.start <= at][-1].end


def test_only_what_goes_on_after_a_cut_reaches_back() -> None:
    text = "Short one. " + "Long " * 300 + "end. Short two. Short three."
    spans, _ = fitting(text, split_sentences(text), BagOfWords(), 64, 20)
    shared = [before.end - after.start for before, after in pairwise(spans)]
    assert [text[span.start : span.start + 5] for span in spans] == [
        "Short",
        *["Long "] * (len(spans) - 3),
        *["Short"] * 2,
    ]
    assert shared[0] == shared[-1] == shared[-2] == -1
    assert all(19 <= characters <= 36 for characters in shared[1:-2])
    assert len(shared) > 6


def test_a_single_code_point_is_never_cut() -> None:
    class Heavy(BagOfWords):
        def count_tokens(self, texts: object) -> list[int]:
            return [2 + 9 * len(text) for text in texts]  # type: ignore[attr-defined]

    assert fitting("abc", [Span(0, 3)], Heavy(), 5, 64) == ([Span(0, 1), Span(1, 2), Span(2, 3)], [11, 11, 11])


def test_a_unit_of_few_tokens_and_very_many_characters_is_cut_too() -> None:
    class Light(BagOfWords):
        def count_tokens(self, texts: object) -> list[int]:
            return [3 for _ in texts]  # type: ignore[attr-defined]

    spans, _ = fitting("a" * 100_000, [Span(0, 100_000)], Light(), 64)
    assert max(span.end - span.start for span in spans) <= 16_384
    assert covered("a" * 100_000, spans)
