"""The quotes that a field may have: the values of its type in the text, each as it stands there."""

from typing import Final

from pipeline.document import Parsed, Span
from pipeline.text.values import Finder, read_habits

NAMED: Final = ("title", "organisation")
"""Types of value that are found by what stands elsewhere in a document, too."""

MOST: Final = 300
"""Values that are offered, at most; of a text with more any passage may be quoted."""


def offers(find: Finder, text: str, longest: int) -> list[str] | None:
    """The values in a text, in order, with one space for each run of white space; also those that go over the end of a
    line. None where there are too many, or one has `longest` characters."""
    joined = " ".join(text.split())
    found = [one[value.start : value.end] for one in (text, joined) for value in find(one, read_habits(one))]
    kept = list(dict.fromkeys(" ".join(value.split()) for value in found))
    return kept if len(kept) <= MOST and all(len(value) < longest for value in kept) else None


def named(document: Parsed, span: Span, find: Finder) -> list[str] | None:
    """The values of a whole document that stand in a part of it, as in `offers`."""
    found = (value for value in find(document.text, read_habits(document.text)) if value.start >= span.start)
    kept = list(dict.fromkeys(" ".join(document.text[v.start : v.end].split()) for v in found if v.end <= span.end))
    return kept if len(kept) <= MOST else None
