"""Tell sentences of a document's text from headings, rows, addresses and page furniture."""

# ruff: noqa: RUF001  other scripts' punctuation is meant
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.document import Span
from pipeline.text.sentences import split_sentences

FEWEST: Final = 4  # words of a sentence that says something
MOST: Final = 80  # words of a sentence that can be read
OFTEN: Final = 3  # times that a line comes, but for its numbers, to be page furniture
_END = re.compile(r"[.!?…。！？｡؟।][\"'”’»«)\]」』]*$")
_ROW = re.compile(r"\t|[ \t]\|[ \t]|\.{4}|_{4}| {8}")
_EAST_ASIAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_FIGURES = re.compile(r"[\W\d_]+")


@dataclass(frozen=True)
class Candidate:
    """A span that a summary may choose, the index of the vector that stands for it, and its number of words."""

    span: Span
    vector: int
    words: int


def candidates(text: str, passages: Sequence[Span]) -> list[Candidate]:
    """The passages that are sentences; all where none is. A passage of many sentences gives its first good one."""
    small = text.islower()
    often = Counter(_signature(text, span) for span in passages)
    found = []
    for index, passage in enumerate(passages):
        if often[_signature(text, passage)] >= OFTEN:
            continue
        for span in _within(text, passage):
            if is_sentence(text[span.start : span.end], small=small):
                found.append(Candidate(span, index, count_words(text[span.start : span.end])))
                break
    return found or everything(text, passages)


def everything(text: str, passages: Sequence[Span]) -> list[Candidate]:
    """Every passage, whatever it is."""
    return [Candidate(span, i, count_words(text[span.start : span.end])) for i, span in enumerate(passages)]


def is_sentence(text: str, *, small: bool = False) -> bool:
    """4 to 80 words that begin as a sentence does, end with its mark, are mostly letters and no row of a table.

    `small`: in a text without capitals, where sentences begin as anything does."""
    letters = sum(map(str.isalpha, text))
    return (
        FEWEST <= count_words(text) <= MOST
        and (small or not text[0].islower())
        and _END.search(text) is not None
        and _ROW.search(text) is None
        and letters >= 0.6 * sum(not char.isspace() for char in text)
    )


def count_words(text: str) -> int:
    """Words between white space; in Chinese and Japanese, which have none, two characters count as a word."""
    return len(text.split()) + len(_EAST_ASIAN.findall(text)) // 2


def _within(text: str, passage: Span) -> list[Span]:
    """The sentences of a passage that is a window of many, else the passage."""
    if count_words(text[passage.start : passage.end]) <= MOST:
        return [passage]
    return split_sentences(text, passage.start, passage.end)


def _signature(text: str, span: Span) -> str:
    """The letters of a passage: what is the same on every page though page numbers differ."""
    return _FIGURES.sub(" ", text[span.start : span.end])
