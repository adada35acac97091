"""Quotes: parts of a text that an answer may copy, how they are written in JSON, and where in the text they are.

Each run of white space in the text is one space in a quote, and a quote neither begins nor ends with it. So a value
that goes on in the next line is quoted as it is read. All other code points stay as they are.
A quote begins and ends where a word, a number or a sign does: half a number is no evidence."""

import json
import re

from engine.errors import EngineError
from engine.tokenizer.unicode import classes
from engine.tokenizer.unicode.codepoints import Ranges

LONGEST_TEXT = 262_144
"""Code points of a text that is quoted from, at most."""

SPACES = re.compile("[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
"""Runs of white space: what `str.split` takes for it, written out so that it is the same in each Python version."""

SURROGATE = re.compile("[\ud800-\udfff]")

ALONE = """
e00-109f 1780-17ff 1950-19ff 1a20-1aaf 2e80-312f 31a0-31ff 3400-a4cf a9e0-a9ff aa60-aadf f900-faff ff66-ff9f 1b000-1b16f
20000-3ffff
"""
"""Scripts without spaces between words: South East Asian ones, kana, ideographs."""

_ALONE = Ranges(ALONE)
_SPACED = " ".join(f"{first:x}-{last:x}" for first, last in Ranges(classes.LETTERS).spans if first not in _ALONE)
_L, _N, _J = (Ranges(some).pattern() for some in (_SPACED, classes.NUMBERS, classes.JOINED))
PART = re.compile(rf"[{_L}][{_L}{_J}]{{0,31}}|[{_N}][{_N}{_J}]{{0,31}}| |[^ ][{_J}]{{0,31}}")
"""A word, a number, or one character with what belongs to it; 32 code points of it at most."""

SPELLING = {code: json.dumps(chr(code))[1:-1] for code in (*range(32), ord('"'), ord("\\"))}


def collapse(text: str) -> str:
    """The text with one space for each run of white space, and none at its ends: every quote is a part of it."""
    return SPACES.sub(" ", text).strip(" ")


def locate(text: str, quote: str) -> tuple[int, int]:
    """Where a quote is in the text, for the first time: start and end in code points of the text as it was given.
    `collapse(text[start:end])` is the quote. Raises EngineError when it is not there, or is empty."""
    quote = collapse(quote)
    at = collapse(text).find(quote) if quote else -1
    if at < 0:
        raise EngineError("quote: is not in the text that it was said to be from")
    return _origin(text, at), _origin(text, at + len(quote) - 1) + 1


def _origin(text: str, position: int) -> int:
    """The code point of the text that stands at `position` of `collapse(text)`."""
    removed = 0
    for run in SPACES.finditer(text):
        if run.start() - removed >= position and run.start():
            break
        removed += run.end() - run.start() - (1 if run.start() else 0)
    return position + removed


def parts(text: str) -> list[str]:
    """`collapse(text)` in the parts that a quote is made of, one after another: words, numbers, single characters.
    Raises EngineError for a text that is too long or that no UTF-8 can hold."""
    if len(text) > LONGEST_TEXT:
        raise EngineError(f"text to quote from: {len(text)} code points, expected at most {LONGEST_TEXT}")
    if found := SURROGATE.search(text):
        raise EngineError(f"text to quote from: a lone surrogate at code point {found.start()}, expected Unicode text")
    return PART.findall(collapse(text))


def can_quote(some: list[str], low: int, high: int) -> bool:
    """Whether there is a quote of low to high code points in these parts of a text; low > 0."""
    last, size = 0, 0  # the code points from a part up to some[last], as few as are enough
    for part in some:
        while size < low and last < len(some):
            size, last = size + len(some[last]), last + 1
        if size < low:
            return False
        more = len(some[last]) if some[last - 1] == " " else 0  # a text does not end with a space
        if part != " " and size + more <= high:
            return True
        size -= len(part)
    return False


def spell(text: str) -> str:
    """The one spelling of a text inside of a JSON string that answers use: escapes only where JSON demands them."""
    return text.translate(SPELLING)
