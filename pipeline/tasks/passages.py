"""Pieces of a document that models read: sentences, paragraphs, and windows of neighbouring sentences."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from pipeline.document import Parsed, Span
from pipeline.tasks.base import TaskRefusedError, Window
from pipeline.tasks.kinds import Embedder, Headed, Writer, Writing
from pipeline.tasks.prompts import Message
from pipeline.text.chunk import TokenCounter, borders, fitting, windows
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
    some = list(islice(sentences(document), MOST_PASSAGES + 1))
    if len(some) <= MOST_PASSAGES:
        return fitting(document.text, some, model, budget(model), overlap)[0]
    return windows_of(document, model, budget(model), overlap)


def paragraphs(document: Parsed, model: Embedder) -> list[Span]:
    """The sentences of each page and section, neighbours joined up to PARAGRAPH_TOKENS: what heads are learned on."""
    return windows_of(document, model, PARAGRAPH_TOKENS)


def sentences(document: Parsed) -> Iterator[Span]:
    """The sentences of each page and section by itself."""
    for start, end in pairwise([*borders(document), len(document.text)]):
        yield from each_sentence(document.text, start, end)


def windows_of(document: Parsed, model: TokenCounter, limit: int, overlap: int = 0) -> list[Span]:
    """Neighbouring sentences of each page and section, joined to windows of at most `limit` tokens; a longer sentence
    is cut, and with `overlap` what goes on after a cut begins so many characters before it."""
    sections = pairwise([*borders(document), len(document.text)])
    return [
        window
        for start, end in sections
        for window in windows(document.text, each_sentence(document.text, start, end), model, limit, overlap)
    ]


_SLACK: Final = 16  # tokens: a text beside its marks may have more of them than alone
LONGEST: Final = 32  # characters of a token, on average: a longer text is not counted as a whole
LEAST: Final = 64  # tokens of a window: of less nothing can be understood


def answer_limit(model: Writer, writing: Writing) -> int:
    """Tokens of an answer, at most: a quarter of what a small model takes."""
    return min(writing.max_tokens, min(model.context, writing.context) // 4)


def room(model: Writer, writing: Writing, asked: Callable[[str], list[Message]], more: int = 0) -> int:
    """Tokens of the text that `asked` puts into a conversation, at most, where it will put in `more` besides.
    TaskRefusedError."""
    whole, limit = min(model.context, writing.context), answer_limit(model, writing)
    told = model.prompt(asked("")).size
    if (left := whole - limit - told - more - _SLACK) < LEAST:
        raise TaskRefusedError(
            f"the instruction of the task has {told} tokens, and its answer may have {limit + more}: of a context of "
            f"{whole} that leaves no room for a document"
        )
    return left


def cut(document: Parsed, model: Writer, limit: int) -> list[Window]:
    """The whole text if it has at most `limit` tokens; else windows of about equal size, of neighbouring sentences,
    that cover everything but white space. A sentence that is longer is cut. Of a text of nothing but white space none.
    """
    text = document.text
    if not text.strip():
        return []
    if len(text) <= LONGEST * limit and (tokens := model.count_tokens([text])[0]) <= limit:
        return [Window(Span(0, len(text)), tokens)]
    spans = windows(text, sentences(document), model, limit)
    return _counted(text, spans, model)


def small_windows(document: Parsed, model: Writer, limit: int) -> list[Window]:
    """Neighbouring sentences of each page and section, in passages of at most `limit` tokens."""
    return _counted(document.text, windows_of(document, model, limit), model)


def grouped(sizes: Sequence[int], most: int) -> list[range]:
    """Neighbours together, as many as have at most `most` in all; what is larger is alone."""
    groups, first, held = list[range](), 0, 0
    for index, size in enumerate(sizes):
        if index > first and held + size > most:
            groups.append(range(first, index))
            first, held = index, 0
        held += size
    return [*groups, range(first, len(sizes))] if sizes else []


def _counted(text: str, spans: Sequence[Span], model: Writer) -> list[Window]:
    tokens = model.count_tokens([text[span.start : span.end] for span in spans])
    return [Window(span, count) for span, count in zip(spans, tokens, strict=True)]
