"""The contract of a value type, the habits of a document, and values by a regular expression of the user."""

# ruff: noqa: RUF001  typographic marks are meant
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import regex  # type: ignore[import-untyped]

from pipeline.errors import DocumentError, Failure
from pipeline.text.language import language

_COMMA_DECIMAL = re.compile(r"(?<![\d.,])\d{1,3}(?:[. \u00a0\u202f]\d{3})*,\d{2}(?![\d.,]\d|\d)")
_POINT_DECIMAL = re.compile(r"(?<![\d.,])\d{1,3}(?:[,'’]\d{3})*\.\d{2}(?![\d.,]\d|\d)")
_SLASH_DATE = re.compile(r"(?<![\d/-])(\d{1,2})([/-])(\d{1,2})\2(?:\d{4}|\d{2})(?![\d/-])")
_COMMA_LANGUAGES = frozenset(("de", "fr", "es", "it", "nl", "pt", "pl", "sv", "da", "cs", "tr", "ru", "el"))
_SAMPLE = 200_000  # characters from which habits are read


@dataclass(frozen=True)
class Reading:
    """`language`: ISO 639-1 or None. `day_first`: of 3/4/2025; `decimal_comma`: of 1.234.

    `day_first_shown` and `decimal_shown` say whether the document shows it in a place that can be read in one way only,
    or whether it was concluded from the language.
    """

    language: str | None = None
    day_first: bool = True
    day_first_shown: bool = False
    decimal_comma: bool = False
    decimal_shown: bool = False


def read_habits(text: str) -> Reading:
    """The habits of a document, from its first 200,000 characters.

    Day first if some a/b/year or a-b-year has a > 12, month first if some has b > 12, whichever is more
    often; else month first in English and day first elsewhere. The decimal mark by what is more often of 1.234,56 and
    1,234.56; else that of the language.
    """
    sample = text[:_SAMPLE]
    written = language(sample)
    dates = [(int(a), int(b)) for a, _, b in _SLASH_DATE.findall(sample)]
    days = sum(a > 12 >= b for a, b in dates) - sum(b > 12 >= a for a, b in dates)
    commas = len(_COMMA_DECIMAL.findall(sample)) - len(_POINT_DECIMAL.findall(sample))
    return Reading(
        language=written,
        day_first=days > 0 if days else written != "en",
        day_first_shown=days != 0,
        decimal_comma=commas > 0 if commas else written in _COMMA_LANGUAGES,
        decimal_shown=commas != 0,
    )


@dataclass(frozen=True)
class Value:
    """text[start:end] read as a value: `value` is its normal form, `note` what a reader should know of the reading.

    `sure` is False where the text alone does not show that it is of this type, such as an amount without a currency.
    `cues` are words in lower case that say what the value is for, where the way it stands there shows that: the first
    name after "by and between" is that of a party. A field is named by them as by words beside the value.
    """

    start: int
    end: int
    value: str
    note: str | None = None
    sure: bool = True
    cues: tuple[str, ...] = ()


class Finder(Protocol):
    """Finds every value of one type, in the order of their places, in time linear in the text."""

    def __call__(self, text: str, reading: Reading, /) -> Iterator[Value]: ...


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
