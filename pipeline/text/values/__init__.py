"""The types of value that a field can have: where such values stand in a text, and how they are normalised."""

import re
from collections.abc import Iterator, Mapping

from pipeline.text.values.amounts import find_money, find_percents
from pipeline.text.values.base import Finder, Reading, Value, check_pattern, pattern_finder, read_habits
from pipeline.text.values.codes import find_emails, find_ibans, find_numbers, find_phones, find_references
from pipeline.text.values.date import find_dates
from pipeline.text.values.organisation import find_organisations
from pipeline.text.values.text import find_texts, find_titles

_STRUCK = re.compile(r"~~[^~\n]+~~")  # text that is struck out, as the parsers mark it


def _valid(finder: Finder) -> Finder:
    """The finder, which takes nothing of what is struck out for a value."""

    def find(text: str, reading: Reading) -> Iterator[Value]:
        return finder(_STRUCK.sub(lambda run: "~" * len(run[0]), text) if "~~" in text else text, reading)

    return find


VALUES: Mapping[str, Finder] = {
    "text": find_texts,
    "date": _valid(find_dates),
    "money": _valid(find_money),
    "number": _valid(find_numbers),
    "percent": _valid(find_percents),
    "email": _valid(find_emails),
    "phone": _valid(find_phones),
    "iban": _valid(find_ibans),
    "reference": _valid(find_references),
    "title": find_titles,
    "organisation": find_organisations,
}

__all__ = ["VALUES", "Finder", "Reading", "Value", "check_pattern", "pattern_finder", "read_habits"]
