"""Canonical decomposition, from the tables of this folder.

Source: the Unicode Standard, sections 3.11 (canonical order) and 3.12 (Hangul).
"""

import re

from engine.tokenizer.unicode import tables
from engine.tokenizer.unicode.codepoints import span_of, text_of

HANGUL_FIRST, HANGUL_COUNT = 0xAC00, 11172
LEADS, VOWELS, TAILS = 0x1100, 0x1161, 0x11A7
"""The first leading consonant and vowel, and what comes before the first trailing consonant."""


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
    """Parses `c0=41.300, 41.301` to {0xc0: "A\\u0300", 0xc1: "A\\u0301"}."""
    found: dict[int, str] = {}
    for group in re.split(r"\s+(?=[0-9a-f]+=)", text.strip()):
        first, _, results = group.partition("=")
        found |= {int(first, 16) + step: text_of(points.strip()) for step, points in enumerate(results.split(","))}
    return found


def _parse_order(text: str) -> dict[str, int]:
    """Parses `300-301:34` to {"\\u0300": 0x34, "\\u0301": 0x34}."""
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
