"""Where a quote stands in its document."""

import engine
from pipeline.document import Evidence, Parsed
from pipeline.tasks.base import Part


def place(document: Parsed, part: Part, quote: str) -> Evidence | None:
    """The first place of a quote in the part of the document that the model read; None for a quote of nothing."""
    if not quote.strip():
        return None
    start, end = engine.locate(document.text[part.span.start : part.span.end], quote)
    return document.evidence(part.span.start + start, part.span.start + end)
