"""Quotes: parts of a text that an answer may copy, how they are written in JSON, and where in the text they are.

Each run of white space in the text is one space in a quote, and a quote neither begins nor ends with it. So a value
that goes on in the next line is quoted as it is read. All other code points stay as they are."""

import json
import re

from engine.errors import EngineError

LONGEST_TEXT = 262_144
"""Code points of a text that is quoted from, at most."""

SPACES = re.compile("[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
"""Runs of white space: what `str.split` takes for it, written out so that it is the same in each Python version."""

SURROGATE = re.compile("[\ud800-\udfff]")


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


def chunks(text: str) -> list[str]:
    """The code points of `collapse(text)` as they are written in JSON: a quote is some of them, one after another.
    Raises EngineError for a text that is too long or that no UTF-8 can hold."""
    if len(text) > LONGEST_TEXT:
        raise EngineError(f"text to quote from: {len(text)} code points, expected at most {LONGEST_TEXT}")
    if found := SURROGATE.search(text):
        raise EngineError(f"text to quote from: a lone surrogate at code point {found.start()}, expected Unicode text")
    return [spell(c) for c in collapse(text)]


def spell(text: str) -> str:
    """The one spelling of a text inside of a JSON string that answers use: escapes only where JSON demands them."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
