"""BERT's text normalization, as the `tokenizers` package does it, from tables that no Python version changes.

Source: BertNormalizer of huggingface/tokenizers. In this order: control characters are dropped and white space becomes
a space; Chinese characters get spaces around them; accents are stripped (canonical decomposition, without non-spacing
marks); each code point is lowered by itself (no final sigma, no language). The result is split at spaces, and each
punctuation character is a word of its own.
"""

import re
from collections.abc import Iterator

from engine.tokenizer.unicode import tables
from engine.tokenizer.unicode.codepoints import Cache, Ranges, span_of, text_of
from engine.tokenizer.unicode.nfc import clusters, decompose, in_order


class Normalizer:
    """Text to words. One instance may be used by several threads at once."""

    def __init__(self, *, lower_case: bool, strip_accents: bool, chinese_chars: bool) -> None:
        self._lower_case, self._strip_accents, self._chinese_chars = lower_case, strip_accents, chinese_chars
        self._first, self._last = Cache(self._clean), Cache(self._fold)
        self._alone = Cache[int, str](lambda number: self.normalize(chr(number)))

    def normalize(self, text: str) -> str:
        """The text as it is cut into words."""
        text = text.translate(self._first)
        if self._strip_accents:
            text = in_order(text)
        return text.translate(self._last)

    def words(self, text: str) -> list[str]:
        """The words of a text, normalized, in order; none is empty."""
        return _WORD.findall(self.normalize(text))

    def word_spans(self, normalized: str) -> Iterator[tuple[int, int]]:
        """Where the words of a normalized text begin and end in it."""
        return (match.span() for match in _WORD.finditer(normalized))

    def aligned(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        """Each character of `normalize(text)` with the span of the text it comes from: one character, or, where marks
        were put in order, a character and its marks."""
        kept = [at for at, c in enumerate(text) if ord(c) not in _REMOVED]
        text, found = "".join(text[at] for at in kept), []
        for start, end in clusters(text):
            alone = [self._alone[ord(c)] for c in text[start:end]]
            if end == start + 1 or "".join(alone) == self.normalize(text[start:end]):
                found += [(c, (kept[i], kept[i] + 1)) for i, result in enumerate(alone, start) for c in result]
            else:
                found += [(c, (kept[start], kept[end - 1] + 1)) for c in self.normalize(text[start:end])]
        return found

    def _clean(self, number: int) -> str:
        """Drops characters, and does white space, Chinese characters, canonical decomposition."""
        if number in _REMOVED:
            return ""
        if number in _SPACE:
            return " "
        text = decompose(number) if self._strip_accents else chr(number)
        return f" {text} " if self._chinese_chars and number in _CHINESE else text

    def _fold(self, number: int) -> str:
        """Drops non-spacing marks, lowers letters."""
        if self._strip_accents and number in _MARKS:
            return ""
        return _LOWER.get(number, chr(number)) if self._lower_case else chr(number)


def _parse_lower(text: str) -> dict[int, str]:
    """Parses `41-5a+20 100-12e/2+1 130=69.307` -> {0x41: "a", …, 0x100: "\\u0101", …, 0x130: "i\\u0307"}."""
    found = {}
    for item in text.split():
        number, is_text, points = item.partition("=")
        if is_text:
            found[int(number, 16)] = text_of(points)
            continue
        parts = re.fullmatch(r"([0-9a-f]+(?:-[0-9a-f]+)?)(/2)?([+-][0-9a-f]+)", item)
        if parts is None:
            raise AssertionError(f"unicode.tables.LOWER: {item}")
        first, last = span_of(parts[1])
        found |= {number: chr(number + int(parts[3], 16)) for number in range(first, last + 1, 2 if parts[2] else 1)}
    return found


_REMOVED = Ranges(tables.REMOVED)
_SPACE = Ranges(tables.SPACE)
_CHINESE = Ranges(tables.CHINESE)
_MARKS = Ranges(tables.MARKS)
_LOWER = _parse_lower(tables.LOWER)
_PUNCTUATION = Ranges(tables.PUNCTUATION).pattern()
_WORD = re.compile(f"[{_PUNCTUATION}]|[^ {_PUNCTUATION}]+")
