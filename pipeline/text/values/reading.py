"""How a document writes dates and numbers, from the evidence in its own text."""

# ruff: noqa: RUF001  typographic marks are meant
import re
from dataclasses import dataclass

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
