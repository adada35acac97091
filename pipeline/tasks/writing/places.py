"""Where a quote stands in its document."""

import engine
from pipeline.document import Evidence, Parsed
from pipeline.tasks.base import Window


def place(document: Parsed, window: Window, quote: str) -> Evidence | None:
    """The first place of a quote in the window of the document that the model read; None for a quote of nothing."""
    if not quote.strip():
        return None
    start, end = engine.locate(document.text[window.span.start : window.span.end], quote)
    return document.evidence(window.span.start + start, window.span.start + end)
