"""The types of value that a field can have: where such values stand in a text, and how they are normalised."""

import re
from collections.abc import Iterator, Mapping

from pipeline.text.values import date, email, iban, money, number, organisation, percent, phone, reference, text, title
from pipeline.text.values.base import Finder, Value
from pipeline.text.values.pattern import check_pattern, pattern_finder
from pipeline.text.values.reading import Reading, read_habits

_STRUCK = re.compile(r"~~[^~\n]+~~")  # text that is struck out, as the parsers mark it


def _valid(finder: Finder) -> Finder:
    """The finder, which takes nothing of what is struck out for a value."""

    def find(text: str, reading: Reading) -> Iterator[Value]:
        return finder(_STRUCK.sub(lambda run: "~" * len(run[0]), text) if "~~" in text else text, reading)

    return find


VALUES: Mapping[str, Finder] = {
    "text": text.find,
    "date": _valid(date.find),
    "money": _valid(money.find),
    "number": _valid(number.find),
    "percent": _valid(percent.find),
    "email": _valid(email.find),
    "phone": _valid(phone.find),
    "iban": _valid(iban.find),
    "reference": _valid(reference.find),
    "title": title.find,
    "organisation": organisation.find,
}

__all__ = [
    "VALUES",
    "Finder",
    "Reading",
    "Value",
    "check_pattern",
    "pattern_finder",
    "read_habits",
]
