"""Percentages, normalised to a plain decimal number and a percent sign."""

import re
from collections.abc import Iterator

from pipeline.text.values.base import Value
from pipeline.text.values.decimals import NUMBER, parse_decimal
from pipeline.text.values.reading import Reading

_PERCENT = re.compile(
    rf"(?<![\w.,^])([-−+]?)({NUMBER})(?:\^\(?\w{{1,2}}\)?)?[ \u00a0\u202f]?"  # noqa: RUF001
    r"(?:%|percent\b|per cent\b|prozent\b|pour cent\b|v\. ?H\.)",
    re.IGNORECASE,
)


def find(text: str, reading: Reading) -> Iterator[Value]:
    """Every number followed by a percent sign or the word for it."""
    for match in _PERCENT.finditer(text):
        parsed = parse_decimal(match[2], reading)
        if parsed:
            sign = "-" if match[1] in ("-", "−") else ""  # noqa: RUF001
            yield Value(match.start(), match.end(), f"{sign}{parsed[0]}%", parsed[1])
