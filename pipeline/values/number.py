"""Numbers that stand by themselves, normalised to plain decimal notation."""

import re
from collections.abc import Iterator

from pipeline.values.base import Value
from pipeline.values.decimals import NUMBER, parse_decimal
from pipeline.values.reading import Reading

_NUMBER = re.compile(rf"(?<![\w.,/-])[-−+]?(?<!\d){NUMBER}(?![\w/]|[.,'-]\d)")  # noqa: RUF001  a minus sign is meant


def find(text: str, reading: Reading) -> Iterator[Value]:
    """Every number that is no part of a word, a date or a reference."""
    for match in _NUMBER.finditer(text):
        parsed = parse_decimal(match[0].lstrip("-−+"), reading)  # noqa: RUF001
        if parsed:
            sign = "-" if match[0][0] in "-−" else ""  # noqa: RUF001
            yield Value(match.start(), match.end(), sign + parsed[0], parsed[1])
