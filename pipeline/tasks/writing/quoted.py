"""The value that a quote means: quotes and values are found apart, and held against each other."""

from dataclasses import replace

import engine
from pipeline.document import Evidence, Parsed
from pipeline.text.values import VALUES, Finder, Value, read_habits


class Quoted:
    """The values of a document by type, each looked for once, of which a quote may be one."""

    def __init__(self, document: Parsed) -> None:
        self.document = document
        self._habits = read_habits(document.text)
        self._values: dict[Finder, list[Value]] = {}

    def value(self, finder: Finder, at: Evidence) -> Value | None:
        """Choose the value that shares most with a quote, the first of equals; where its form leaves doubts, the value
        that the quote has by itself. A text is the quote; None: there is no such value."""
        if finder is VALUES["text"]:
            return Value(at.start, at.end, " ".join(at.text.split()))
        if finder not in self._values:
            self._values[finder] = list(finder(self.document.text, self._habits))
        shared = [(min(v.end, at.end) - max(v.start, at.start), v) for v in self._values[finder]]
        most = max((length for length, _ in shared), default=0)
        found = next((value for length, value in shared if length == most), None) if most > 0 else None
        if found and found.sure:
            return found
        alone = self._alone(finder, at)
        return found if alone and found and _cuts(alone, found) else alone or found

    def _alone(self, finder: Finder, at: Evidence) -> Value | None:
        """The longest value of a quote that is read by itself, without line ends, where its form is sure."""
        text = " ".join(at.text.split())
        sure = [value for value in finder(text, self._habits) if value.sure]
        if not sure:
            return None
        best = max(sure, key=lambda value: (value.end - value.start, -value.start))
        start, end = engine.locate(at.text, text[best.start : best.end])
        return replace(best, start=at.start + start, end=at.start + end)


def _cuts(alone: Value, found: Value) -> bool:
    """Whether a value of a quote is a part of one that the document has there, such as 234.50 EUR of 1,234.50."""
    return found.start < alone.start < found.end or found.start < alone.end < found.end
