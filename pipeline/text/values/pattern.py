"""Values by a regular expression of the user, which a hostile document must not drive to exponential time."""

from collections.abc import Iterator

import regex  # type: ignore[import-untyped]

from pipeline.errors import DocumentError, Failure
from pipeline.text.values.base import Finder, Value
from pipeline.text.values.reading import Reading

_SECONDS = 10.0  # for all matches in one document


def check_pattern(pattern: str) -> None:
    """ValueError, saying what is wrong and where, unless `pattern` is a regular expression."""
    try:
        regex.compile(pattern)
    except regex.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error


def pattern_finder(pattern: str) -> Finder:
    """Finds what `pattern` matches, or its first group where it has one; ^ and $ are ends of lines.

    Raises DocumentError (timeout) where all matches together took longer than ten seconds: a failure and not an answer,
    because how far a search gets in a time is not the same on every machine.
    """
    compiled = regex.compile(pattern, regex.MULTILINE)

    def find(text: str, reading: Reading) -> Iterator[Value]:
        try:
            for match in compiled.finditer(text, timeout=_SECONDS):
                start, end = match.span(1 if compiled.groups and match.start(1) >= 0 else 0)
                if start < end:
                    yield Value(start, end, text[start:end])
        except TimeoutError:
            reason = f"the pattern {pattern!r} took longer than {_SECONDS:g} seconds on this document"
            raise DocumentError(Failure.TIMEOUT, reason) from None

    return find
