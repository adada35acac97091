"""Sets of code points, and what is remembered of code points and words."""

from bisect import bisect_right
from collections.abc import Callable
from typing import Generic, TypeVar

CACHED_ITEMS = 1 << 13
CACHED_CHARS = 64

Key = TypeVar("Key", bound=int | str)
Value = TypeVar("Value")


class Cache(dict[Key, Value], Generic[Key, Value]):
    """Remembers what a function gives for code points or short texts, in two generations of at most CACHED_ITEMS each,
    some 200 bytes an item. It is a table for str.translate, too.

    When the younger one is full it becomes the older one, and what is asked for comes back from there: a night of
    ever new words neither grows it nor drives out those of every text.
    """

    def __init__(self, compute: Callable[[Key], Value]) -> None:
        super().__init__()
        self._compute, self._older = compute, dict[Key, Value]()

    def __missing__(self, key: Key) -> Value:
        result = self._older.get(key)
        if result is None:
            result = self._compute(key)
        if isinstance(key, int) or len(key) <= CACHED_CHARS:
            if len(self) >= CACHED_ITEMS:
                self._older = dict(self)
                self.clear()
            self[key] = result
        return result


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
