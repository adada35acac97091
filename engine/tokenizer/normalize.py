"""BERT's text normalization, as the `tokenizers` package does it, from tables that no Python version changes.

Source: BertNormalizer of huggingface/tokenizers. In this order: control characters are dropped and white space becomes
a space; Chinese characters get spaces around them; accents are stripped (canonical decomposition, without non-spacing
marks); each code point is lowered by itself (no final sigma, no language). The result is split at spaces, and each
punctuation character is a word of its own.
"""

import re
from bisect import bisect_right

from engine.tokenizer import unicode_tables as tables

MAX_KEPT = 1 << 16
"""Code points whose replacement is remembered; a text may hold any number of different ones."""

_HANGUL_FIRST, _HANGUL_COUNT = 0xAC00, 11172
_LEADS, _VOWELS, _TAILS = 0x1100, 0x1161, 0x11A7


class Normalizer:
    """Text to words. One instance may be used by several threads at once."""

    def __init__(self, *, lower_case: bool, strip_accents: bool, chinese_chars: bool) -> None:
        self._first = _Clean(strip_accents, chinese_chars)
        self._last = _Fold(strip_accents, lower_case)
        self._strip_accents = strip_accents

    def normalize(self, text: str) -> str:
        """The text as it is cut into words."""
        text = text.translate(self._first)
        if self._strip_accents:
            text = _MARKS_TO_ORDER.sub(_in_canonical_order, text)
        return text.translate(self._last)

    def words(self, text: str) -> list[str]:
        """The words of a text, normalized, in order; none is empty."""
        return _WORD.findall(self.normalize(text))


class _Replacements(dict[int, str]):
    """A table for str.translate that is filled as code points turn up."""

    def __missing__(self, number: int) -> str:
        result = self.replace(number)
        if len(self) < MAX_KEPT:
            self[number] = result
        return result

    def replace(self, number: int) -> str:
        raise NotImplementedError


class _Clean(_Replacements):
    """Dropped characters, white space, Chinese characters, canonical decomposition."""

    def __init__(self, decompose: bool, chinese_chars: bool) -> None:
        self.decompose = decompose
        self.chinese_chars = chinese_chars

    def replace(self, number: int) -> str:
        if number in _REMOVED:
            return ""
        if number in _SPACE:
            return " "
        text = _decompose(number) if self.decompose else chr(number)
        return f" {text} " if self.chinese_chars and number in _CHINESE else text


class _Fold(_Replacements):
    """Non-spacing marks dropped, letters lowered."""

    def __init__(self, strip_accents: bool, lower_case: bool) -> None:
        self.strip_accents = strip_accents
        self.lower_case = lower_case

    def replace(self, number: int) -> str:
        if self.strip_accents and number in _MARKS:
            return ""
        return _LOWER.get(number, chr(number)) if self.lower_case else chr(number)


class _Ranges:
    """A set of code points, as sorted ranges."""

    def __init__(self, text: str) -> None:
        spans = [_span(item) for item in text.split()]
        self.firsts = [first for first, _ in spans]
        self.lasts = [last for _, last in spans]

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self.firsts, number) - 1
        return at >= 0 and number <= self.lasts[at]

    def pattern(self) -> str:
        """The inside of a character class of a regular expression."""
        return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in zip(self.firsts, self.lasts, strict=True))


def _span(item: str) -> tuple[int, int]:
    first, _, last = item.partition("-")
    return int(first, 16), int(last or first, 16)


def _text(points: str) -> str:
    return "".join(chr(int(point, 16)) for point in points.split("."))


def _parse_decomposed(text: str) -> dict[int, str]:
    """`c0=41.300, 41.301` -> {0xc0: "A\\u0300", 0xc1: "A\\u0301"}"""
    found: dict[int, str] = {}
    for group in re.split(r"\s+(?=[0-9a-f]+=)", text.strip()):
        first, _, results = group.partition("=")
        found |= {int(first, 16) + step: _text(points.strip()) for step, points in enumerate(results.split(","))}
    return found


def _parse_lower(text: str) -> dict[int, str]:
    """`41-5a+20 100-12e/2+1 130=69.307` -> {0x41: "a", …, 0x100: "\\u0101", …, 0x130: "i\\u0307"}"""
    found = {}
    for item in text.split():
        number, is_text, points = item.partition("=")
        if is_text:
            found[int(number, 16)] = _text(points)
            continue
        parts = re.fullmatch(r"([0-9a-f]+(?:-[0-9a-f]+)?)(/2)?([+-][0-9a-f]+)", item)
        if parts is None:
            raise AssertionError(f"unicode_tables.LOWER: {item}")
        first, last = _span(parts[1])
        found |= {number: chr(number + int(parts[3], 16)) for number in range(first, last + 1, 2 if parts[2] else 1)}
    return found


def _parse_order(text: str) -> dict[str, int]:
    """`300-301:34` -> {"\\u0300": 0x34, "\\u0301": 0x34}"""
    found: dict[str, int] = {}
    for item in text.split():
        span, _, rank = item.partition(":")
        first, last = _span(span)
        found |= {chr(number): int(rank, 16) for number in range(first, last + 1)}
    return found


def _decompose(number: int) -> str:
    """Full canonical decomposition of one code point; Hangul by the standard's arithmetic (section 3.12)."""
    index = number - _HANGUL_FIRST
    if not 0 <= index < _HANGUL_COUNT:
        return _DECOMPOSED.get(number, chr(number))
    lead, rest = divmod(index, 588)
    vowel, tail = divmod(rest, 28)
    return chr(_LEADS + lead) + chr(_VOWELS + vowel) + (chr(_TAILS + tail) if tail else "")


def _in_canonical_order(run: re.Match[str]) -> str:
    """A run of marks, sorted by rank; equal ranks keep their order."""
    return "".join(sorted(run[0], key=_ORDER.__getitem__))


_REMOVED = _Ranges(tables.REMOVED)
_SPACE = _Ranges(tables.SPACE)
_CHINESE = _Ranges(tables.CHINESE)
_MARKS = _Ranges(tables.MARKS)
_DECOMPOSED = _parse_decomposed(tables.DECOMPOSED)
_LOWER = _parse_lower(tables.LOWER)
_ORDER = _parse_order(tables.ORDER)
_PUNCTUATION = _Ranges(tables.PUNCTUATION).pattern()
_WORD = re.compile(f"[{_PUNCTUATION}]|[^ {_PUNCTUATION}]+")
_MARKS_TO_ORDER = re.compile(f"[{''.join(map(re.escape, _ORDER))}]{{2,}}")
