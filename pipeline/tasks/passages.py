"""Pieces of a document that models read: sentences, paragraphs, and windows of neighbouring sentences."""

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

from pipeline.document import Parsed, Span
from pipeline.tasks.kinds import Embedder, Headed
from pipeline.text.chunk import borders, windows
from pipeline.text.fitting import TokenCounter, fitting
from pipeline.text.sentences import each_sentence

OVERLAP: Final = 64  # characters before a cut inside a sentence that are read on both sides: a value and its name
TRAINED_TOKENS: Final = 256  # sentence encoders are trained on texts up to here, however large their context is
PARAGRAPH_TOKENS: Final = 64  # of sentences that are read together: measured beside single ones, and 256
MOST_PASSAGES: Final = 20_000  # a document of more sentences is embedded by windows: a vector is 1.5 KiB


def budget(model: Embedder | Headed) -> int:
    """The most tokens that are read together, special ones included."""
    return min(model.context, TRAINED_TOKENS)


def passages(document: Parsed, model: Embedder, overlap: int = 0) -> list[Span]:
    """The sentences of each page and section; cut where one is too long for the model, joined where there are too many.

    With `overlap`, a passage that goes on after a cut inside a sentence begins so many characters before the cut.
    """
    limit = budget(model)
    sections = list(pairwise([*borders(document), len(document.text)]))
    sentences = list(islice(_sentences(document.text, sections), MOST_PASSAGES + 1))
    if len(sentences) <= MOST_PASSAGES:
        return fitting(document.text, sentences, model, limit, overlap)[0]
    return [
        window
        for start, end in sections
        for window in windows(document.text, each_sentence(document.text, start, end), model, limit, overlap)
    ]


def paragraphs(document: Parsed, model: Embedder) -> list[Span]:
    """The sentences of each page and section, neighbours joined up to PARAGRAPH_TOKENS: what heads are learned on."""
    sections = pairwise([*borders(document), len(document.text)])
    return [
        window
        for start, end in sections
        for window in windows(document.text, each_sentence(document.text, start, end), model, PARAGRAPH_TOKENS)
    ]


def _sentences(text: str, sections: list[tuple[int, int]]) -> Iterator[Span]:
    for start, end in sections:
        yield from each_sentence(text, start, end)


def windows_of(document: Parsed, model: TokenCounter, limit: int, overlap: int = 0) -> list[Span]:
    """Neighbouring sentences of each page and section, joined to windows of at most `limit` tokens; a longer sentence
    is cut, and with `overlap` what goes on after a cut begins so many characters before it."""
    sections = pairwise([*borders(document), len(document.text)])
    return [
        window
        for start, end in sections
        for window in windows(document.text, each_sentence(document.text, start, end), model, limit, overlap)
    ]
