"""Sets of code points, and replacements of code points."""

from bisect import bisect_right
from collections.abc import Callable

MAX_KEPT = 1 << 14
"""Code points whose replacement is remembered, some 200 bytes each; a text may hold any number of different ones."""


class Ranges:
    """A set of code points, as sorted ranges of a text such as `41-5a c0 100-12e/2`, whose last are every second
    one."""

    def __init__(self, text: str) -> None:
        self.spans: list[tuple[int, int]] = []
        for first, last in sorted(span for item in text.split() for span in _spans(item)):
            if self.spans and first == self.spans[-1][1] + 1:
                first, _ = self.spans.pop()
            self.spans.append((first, last))

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self.spans, (number, 0x110000)) - 1
        return at >= 0 and number <= self.spans[at][1]

    def pattern(self) -> str:
        """The inside of a character class of a regular expression."""
        return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in self.spans)


class Replacements(dict[int, str]):
    """A table for str.translate that is filled as code points turn up; when it is full it starts anew."""

    def __init__(self, replace: Callable[[int], str]) -> None:
        super().__init__()
        self._replace = replace

    def __missing__(self, number: int) -> str:
        result = self._replace(number)
        if len(self) >= MAX_KEPT:
            self.clear()
        self[number] = result
        return result


def span_of(item: str) -> tuple[int, int]:
    """Parses `41-5a` to (0x41, 0x5a) and `41` to (0x41, 0x41)."""
    first, _, last = item.partition("-")
    return int(first, 16), int(last or first, 16)


def _spans(item: str) -> list[tuple[int, int]]:
    span, _, step = item.partition("/")
    first, last = span_of(span)
    return [(number, number) for number in range(first, last + 1, int(step))] if step else [(first, last)]


def text_of(points: str) -> str:
    """Parses `41.300` to "A\\u0300"."""
    return "".join(chr(int(point, 16)) for point in points.split("."))
