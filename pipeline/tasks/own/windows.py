"""The windows of a document that a model with a head of its own reads, one text each."""

from itertools import pairwise

from pipeline.document import Parsed, Span
from pipeline.text.chunk import borders, windows
from pipeline.text.fitting import TokenCounter
from pipeline.text.sentences import each_sentence


def windows_of(document: Parsed, model: TokenCounter, limit: int, overlap: int = 0) -> list[Span]:
    """Neighbouring sentences of each page and section, joined to windows of at most `limit` tokens; a longer sentence
    is cut, and with `overlap` what goes on after a cut begins so many characters before it."""
    sections = pairwise([*borders(document), len(document.text)])
    return [
        window
        for start, end in sections
        for window in windows(document.text, each_sentence(document.text, start, end), model, limit, overlap)
    ]
