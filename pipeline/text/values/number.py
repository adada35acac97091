"""Numbers that stand by themselves, normalised to plain decimal notation."""

import re
from collections.abc import Iterator

from pipeline.text.values import date, email, iban, money, percent, phone, reference
from pipeline.text.values.base import Value
from pipeline.text.values.decimals import NUMBER, parse_decimal
from pipeline.text.values.reading import Reading

_NUMBER = re.compile(  # no exponent, no footnote, and no power of ten
    rf"(?<![\w.,/^-])(?<!\^\()[-−+]?(?<!\d){NUMBER}(?![\w/]|[.,'-]\d|(?<=(?<![\d.,])10)\^[-−]?\d)"  # noqa: RUF001
)
_TIME = re.compile(
    r"(?<!\d)\d{1,2}[:.]\d{2}(?::\d{2})?(?: ?[+-]\d{4}| ?(?:Uhr|[ap]\.?m\b\.?))"
    r"|(?<![\d:])\d{1,2}:\d{2}(?::\d{2})?(?![\d:])|(?<!\d)\d{1,2} ?(?:Uhr|[ap]\.?m\b)",
    re.IGNORECASE,
)


def find(text: str, reading: Reading) -> Iterator[Value]:
    """Every number that is no part of a word, nor of a value that is more than a number."""
    spans = sorted(_more_than_numbers(text, reading))
    reached, at = 0, 0
    for match in _NUMBER.finditer(text):
        while at < len(spans) and spans[at][0] < match.end():
            reached, at = max(reached, spans[at][1]), at + 1
        if match.start() < reached:
            continue
        parsed = parse_decimal(match[0].lstrip("-−+"), reading)  # noqa: RUF001
        if parsed:
            sign = "-" if match[0][0] in "-−" else ""  # noqa: RUF001
            yield Value(match.start(), match.end(), sign + parsed[0], parsed[1])


def _more_than_numbers(text: str, reading: Reading) -> Iterator[tuple[int, int]]:
    """Where dates, times, amounts, percentages, accounts, telephone numbers, addresses and references stand."""
    for finder in (date.find, money.find, percent.find, iban.find, phone.find, email.find, reference.find):
        for value in finder(text, reading):
            certain = value.sure or finder is date.find
            if certain and not (finder is reference.find and _figure(value.value)):
                yield value.start, value.end
    for match in _TIME.finditer(text):
        yield match.span()


def _figure(reference: str) -> bool:
    """Whether it is digits and points alone: a number may look so too."""
    return all(char.isdecimal() or char == "." for char in reference)
