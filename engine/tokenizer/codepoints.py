"""Sets of code points, replacements of code points, and canonical decomposition, from the tables of this folder.

Source: the Unicode Standard, sections 3.11 (canonical order) and 3.12 (Hangul).
"""

import re
from bisect import bisect_right

from engine.tokenizer import unicode_tables as tables

MAX_KEPT = 1 << 14
"""Code points whose replacement is remembered, some 200 bytes each; a text may hold any number of different ones."""

HANGUL_FIRST, HANGUL_COUNT = 0xAC00, 11172
LEADS, VOWELS, TAILS = 0x1100, 0x1161, 0x11A7
"""The first leading consonant and vowel, and what comes before the first trailing consonant."""


class Ranges:
    """A set of code points, as sorted ranges: `41-5a c0`."""

    def __init__(self, text: str) -> None:
        spans = [span_of(item) for item in text.split()]
        self.firsts = [first for first, _ in spans]
        self.lasts = [last for _, last in spans]

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self.firsts, number) - 1
        return at >= 0 and number <= self.lasts[at]

    def pattern(self) -> str:
        """The inside of a character class of a regular expression."""
        return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in zip(self.firsts, self.lasts, strict=True))


class Replacements(dict[int, str]):
    """A table for str.translate that is filled as code points turn up; when it is full it starts anew."""

    def __missing__(self, number: int) -> str:
        result = self.replace(number)
        if len(self) >= MAX_KEPT:
            self.clear()
        self[number] = result
        return result

    def replace(self, number: int) -> str:
        raise NotImplementedError


def span_of(item: str) -> tuple[int, int]:
    """`41-5a` -> (0x41, 0x5a); `41` -> (0x41, 0x41)."""
    first, _, last = item.partition("-")
    return int(first, 16), int(last or first, 16)


def text_of(points: str) -> str:
    """`41.300` -> "A\\u0300"."""
    return "".join(chr(int(point, 16)) for point in points.split("."))


def decompose(number: int) -> str:
    """Full canonical decomposition of one code point; Hangul by arithmetic."""
    index = number - HANGUL_FIRST
    if not 0 <= index < HANGUL_COUNT:
        return DECOMPOSED.get(number, chr(number))
    lead, rest = divmod(index, 588)
    vowel, tail = divmod(rest, 28)
    return chr(LEADS + lead) + chr(VOWELS + vowel) + (chr(TAILS + tail) if tail else "")


def in_order(text: str) -> str:
    """A decomposed text, each run of its marks sorted by rank; equal ranks keep their order."""
    return _RUN_OF_MARKS.sub(lambda run: "".join(sorted(run[0], key=ORDER.__getitem__)), text)


def _parse_decomposed(text: str) -> dict[int, str]:
    """`c0=41.300, 41.301` -> {0xc0: "A\\u0300", 0xc1: "A\\u0301"}"""
    found: dict[int, str] = {}
    for group in re.split(r"\s+(?=[0-9a-f]+=)", text.strip()):
        first, _, results = group.partition("=")
        found |= {int(first, 16) + step: text_of(points.strip()) for step, points in enumerate(results.split(","))}
    return found


def _parse_order(text: str) -> dict[str, int]:
    """`300-301:34` -> {"\\u0300": 0x34, "\\u0301": 0x34}"""
    found: dict[str, int] = {}
    for item in text.split():
        span, _, rank = item.partition(":")
        first, last = span_of(span)
        found |= {chr(number): int(rank, 16) for number in range(first, last + 1)}
    return found


DECOMPOSED = _parse_decomposed(tables.DECOMPOSED)
"""Code point -> full canonical decomposition, Hangul apart."""

ORDER = _parse_order(tables.ORDER)
"""Mark -> rank in canonical order, from 1."""

_RUN_OF_MARKS = re.compile(f"[{''.join(map(re.escape, ORDER))}]{{2,}}")
