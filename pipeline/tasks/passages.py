"""The passages of a document that tasks embed: its sentences, headings, lines and table rows."""

from typing import Final

from pipeline.chunk import fitting, windows
from pipeline.document import Parsed, Span
from pipeline.sentences import split_sentences
from pipeline.tasks.base import Embedder

TRAINED_TOKENS: Final = 256  # sentence encoders are trained on texts up to here, however large their context is
MOST_PASSAGES: Final = 20_000  # a document of more sentences is embedded by windows: a vector is 1.5 KiB


def passages(document: Parsed, model: Embedder) -> list[Span]:
    """The sentences of the document; cut where one is too long for the model, joined where there are too many."""
    limit = min(model.context, TRAINED_TOKENS)
    sentences = split_sentences(document.text)
    if len(sentences) > MOST_PASSAGES:
        return windows(document.text, sentences, model, limit)
    return fitting(document.text, sentences, model, limit)[0]
