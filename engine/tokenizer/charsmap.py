"""SentencePiece's precompiled character map: which characters a text is written in before it is cut into pieces.

Source of the format: SentencePiece's `normalizer.cc` and darts-clone: the length of a double-array trie in bytes, its
units (32 bits, little endian), then the replacements as UTF-8, each ended by a zero byte. Source of what is done with
it: the `tokenizers` package, which looks up a grapheme of less than six bytes as a whole (and then replaces it by what
its shortest beginning in the trie maps to), and all else character by character. SentencePiece itself takes the
longest entry at each place; models are used with the former.
"""

import re
from collections.abc import Iterator

import numpy as np

from engine.errors import BadModelFile
from engine.tokenizer.base import LONE, Span, without_halves
from engine.tokenizer.unicode import classes
from engine.tokenizer.unicode.codepoints import Cache, Ranges

NO_CHANGES = b"\4\0\0\0" + bytes(4)
"""A map of nothing."""

MAX_GRAPHEME_BYTES = 5
MAX_REPLACEMENT_BYTES = 256
"""The longest that is published has some 30."""

_LEAF = 1 << 8
_WIDE = 1 << 9
_VALUE = (1 << 31) - 1
_LABEL = 1 << 31 | 0xFF

_JOINED, _JOINING, _APART = (Ranges(text).pattern() for text in (classes.JOINED, classes.JOINING, classes.APART))
_GRAPHEME = re.compile(rf"\r\n|[{_JOINING}]+[^{_APART}\n\r\0][{_JOINED}]*|[^{_APART}\n\r\0][{_JOINED}]+")
"""Graphemes of more than one character (Unicode Standard Annex #29), as far as they can have less than six bytes."""


class CharsMap:
    """Text to normalized text. One instance may be used by several threads at once."""

    def __init__(self, blob: bytes) -> None:
        """Read the map. Raises BadModelFile where a length does not fit."""
        size = int.from_bytes(blob[:4], "little")
        if len(blob) < 8 or size % 4 or not 4 <= size <= len(blob) - 4:
            found = f"{len(blob)} bytes with a trie of {size}"
            raise BadModelFile(f"tokenizer.ggml.precompiled_charsmap: found {found}, expected the trie to fit")
        self._units = np.frombuffer(blob, "<u4", size // 4, 4).tolist()
        self._pool = blob[4 + size :]
        self._characters = Cache(self._replace)

    def normalize(self, text: str) -> str:
        """The text without halves of characters (lone surrogates), replaced."""
        text, at, parts = LONE.sub("", text), 0, []
        for start, end, result in self._graphemes(text):
            parts += [text[at:start].translate(self._characters), result]
            at = end
        return "".join([*parts, text[at:].translate(self._characters)])

    def aligned(self, text: str) -> list[tuple[str, Span]]:
        """Each character of `normalize(text)` with the span of the text it comes from."""
        text, kept = without_halves(text)
        spans, at = [], 0
        for start, end, result in [*self._graphemes(text), (len(text), len(text), "")]:
            spans += [(i, i + 1, self._characters[ord(text[i])]) for i in range(at, start)] + [(start, end, result)]
            at = end
        return [(c, (kept[start], kept[end - 1] + 1)) for start, end, result in spans for c in result]

    def lookup(self, key: str) -> str | None:
        """The replacement of the shortest beginning of the key that is in the trie; None where there is none."""
        at = _offset(self._units[0])
        for byte in key.encode():
            at ^= byte
            if not byte or at >= len(self._units) or self._units[at] & _LABEL != byte:
                return None
            unit = self._units[at]
            at ^= _offset(unit)
            if unit & _LEAF:
                return self._replacement(at)
        return None

    def _replacement(self, at: int) -> str:
        start = self._units[at] & _VALUE if at < len(self._units) else len(self._pool)
        return self._pool[start : start + MAX_REPLACEMENT_BYTES].partition(b"\0")[0].decode(errors="replace")

    def _replace(self, number: int) -> str:
        found = self.lookup(chr(number))
        return chr(number) if found is None else found

    def _graphemes(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Finds graphemes that are replaced as a whole: start, end, replacement."""
        for match in _GRAPHEME.finditer(text):
            if len(match[0].encode()) <= MAX_GRAPHEME_BYTES and (result := self.lookup(match[0])) is not None:
                yield *match.span(), result


def _offset(unit: int) -> int:
    """The distance from a unit of the trie to its children (darts-clone)."""
    return (unit >> 10) << ((unit & _WIDE) >> 6)
