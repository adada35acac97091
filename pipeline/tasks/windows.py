"""Windows of a document that a model which writes reads at once: all of it, or pieces cut between sentences."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from pipeline.document import Parsed, Span
from pipeline.tasks.base import TaskRefusedError, Window
from pipeline.tasks.kinds import Writer, Writing
from pipeline.tasks.prompts import Message
from pipeline.text.chunk import borders, windows
from pipeline.text.sentences import each_sentence

_SLACK: Final = 16  # tokens: a text beside its marks may have more of them than alone
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
    sections = pairwise([*borders(document), len(document.text)])
    spans = [
        span
        for start, end in sections
        for span in windows(document.text, each_sentence(document.text, start, end), model, limit)
    ]
    return _counted(document.text, spans, model)


def grouped(sizes: Sequence[int], most: int) -> list[range]:
    """Neighbours together, as many as have at most `most` in all; what is larger is alone."""
    groups, first, held = list[range](), 0, 0
    for index, size in enumerate(sizes):
        if index > first and held + size > most:
            groups.append(range(first, index))
            first, held = index, 0
        held += size
    return [*groups, range(first, len(sizes))] if sizes else []


def sentences(document: Parsed) -> Iterator[Span]:
    """The sentences of each page and section by itself."""
    for start, end in pairwise([*borders(document), len(document.text)]):
        yield from each_sentence(document.text, start, end)


LONGEST: Final = 32  # characters of a token, on average: a longer text is not counted as a whole


def _counted(text: str, spans: Sequence[Span], model: Writer) -> list[Window]:
    tokens = model.count_tokens([text[span.start : span.end] for span in spans])
    return [Window(span, count) for span, count in zip(spans, tokens, strict=True)]
