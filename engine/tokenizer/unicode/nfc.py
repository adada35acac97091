"""Canonical decomposition, order of marks, and Unicode's normalization form C, which composes again.

Source: Unicode Standard Annex #15, and sections 3.11 (canonical order) and 3.12 (Hangul) of the standard. Which code
points are composed is a table of this folder, not of a Python version.
"""

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from engine.tokenizer.unicode import tables
from engine.tokenizer.unicode.codepoints import Cache, Ranges, text_of

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


def nfc(text: str) -> str:
    """The text in form C."""
    if text.isascii() or not _suspects()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)].any():
        return text
    return _SUSPECT.sub(lambda match: _KNOWN[match[0]], text)


def clusters(text: str) -> Iterator[tuple[int, int]]:
    """Where the clusters of the text begin and end: each is composed independently of the others."""
    return (match.span() for match in _CLUSTER.finditer(text))


def aligned(text: str) -> list[tuple[str, tuple[int, int]]]:
    """Each character of `nfc(text)` with the span of the text it was made of."""
    found = []
    for start, end in clusters(text):
        cluster = text[start:end]
        if (composed := nfc(cluster)) == cluster:
            found += [(c, (at, at + 1)) for at, c in enumerate(cluster, start)]
        else:
            found += [(c, (start, end)) for c in composed]
    return found


@cache
def _suspects() -> NDArray[np.bool_]:
    """bool [code points]: whether a text with this code point may change, as it is composed with a former one, or
    never."""
    found = np.zeros(0x110000, np.bool_)
    found[[ord(c) for c in _SECONDS]] = True
    for first, last in _EXCLUDED.spans:
        found[first : last + 1] = True
    return found


def _compose(text: str) -> str:
    """A decomposed text, composed. A mark reaches the character without rank before it past lower ranks only."""
    out: list[str] = []
    base = last_rank = -1
    for c in text:
        rank = ORDER.get(c, 0)
        if base >= 0 and (base == len(out) - 1 or 0 < last_rank < rank) and (found := _pair(out[base], c)):
            out[base] = found
            continue
        base = base if rank else len(out)
        last_rank = rank
        out.append(c)
    return "".join(out)


def _pair(first: str, second: str) -> str | None:
    """The composition of two characters; None if there is none."""
    lead, vowel, tail = ord(first) - LEADS, ord(second) - VOWELS, ord(second) - TAILS
    if 0 <= lead < 19 and 0 <= vowel < 21:
        return chr(HANGUL_FIRST + lead * 588 + vowel * 28)
    syllable = ord(first) - HANGUL_FIRST
    if 0 <= syllable < HANGUL_COUNT and syllable % 28 == 0 and 0 < tail < 28:
        return chr(ord(first) + tail)
    return PAIRS.get(first + second)


def _pairs() -> dict[str, str]:
    """The two characters of each composition: all but the last of a full decomposition are the parts of another one."""
    composed = {DECOMPOSED[n]: chr(n) for n in DECOMPOSED if n not in _EXCLUDED}
    return {composed.get(parts[:-1], parts[:-1]) + parts[-1]: whole for parts, whole in composed.items()}


def _inside(characters: set[str]) -> str:
    return "".join(map(re.escape, sorted(characters)))


def _parse(text: str) -> dict[str, list[str]]:
    """Parses `c0= 41.300 41.301 d1= 4e.303` to {"c0": ["41.300", "41.301"], "d1": ["4e.303"]}."""
    found: dict[str, list[str]] = {}
    for item in text.split():
        if item.endswith("="):
            found[item[:-1]] = items = []
        else:
            items.append(item)
    return found


DECOMPOSED = {
    int(first, 16) + step: text_of(points)
    for first, results in _parse(tables.DECOMPOSED).items()
    for step, points in enumerate(results)
}
"""Code point -> full canonical decomposition, Hangul apart."""
ORDER = {
    chr(number): int(rank, 16)
    for rank, marks in _parse(tables.ORDER).items()
    for first, last in Ranges(" ".join(marks)).spans
    for number in range(first, last + 1)
}
"""Mark -> rank in canonical order, from 1."""
_RUN_OF_MARKS = re.compile(f"[{''.join(map(re.escape, ORDER))}]{{2,}}")
_EXCLUDED = Ranges(tables.EXCLUDED)
PAIRS = _pairs()
"""Two characters -> the one that they are composed to, Hangul apart."""
_SECONDS = {pair[1:] for pair in PAIRS} | set(ORDER) | {chr(VOWELS + i) for i in range(21)}
_SECONDS |= {chr(TAILS + i) for i in range(1, 28)}
_SECONDS |= {chr(number) for number, parts in DECOMPOSED.items() if parts[0] in _SECONDS}
_CLUSTER = re.compile(f".[{_inside(_SECONDS)}]*", re.DOTALL)
_SUSPECT = re.compile(f"[{_EXCLUDED.pattern()}][{_inside(_SECONDS)}]*|.[{_inside(_SECONDS)}]+", re.DOTALL)
"""Those of them that may change: what is composed with something before it, or never."""

_KNOWN = Cache[str, str](lambda cluster: _compose(in_order("".join(map(decompose, map(ord, cluster))))))
