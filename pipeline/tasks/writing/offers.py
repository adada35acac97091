"""The quotes that a field may have: the values of its type in the text, each as it stands there."""

from typing import Final

from pipeline.text.values import Finder, read_habits

MOST: Final = 300
"""Values that are offered, at most; of a text with more any passage may be quoted."""


def offers(find: Finder, text: str, longest: int) -> list[str] | None:
    """The values in a text, in order, with one space for each run of white space; also those that go over the end of a
    line. None where there are too many, or one has `longest` characters."""
    joined = " ".join(text.split())
    found = [one[value.start : value.end] for one in (text, joined) for value in find(one, read_habits(one))]
    kept = list(dict.fromkeys(" ".join(value.split()) for value in found))
    return kept if len(kept) <= MOST and all(len(value) < longest for value in kept) else None
