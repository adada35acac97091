"""The types of value that a field can have: where such values stand in a text, and how they are normalised."""

from collections.abc import Mapping

from pipeline.text.values import date, email, iban, money, number, organisation, percent, phone, reference, text, title
from pipeline.text.values.base import Finder, Value
from pipeline.text.values.pattern import check_pattern, pattern_finder
from pipeline.text.values.reading import Reading, read_habits

VALUES: Mapping[str, Finder] = {
    "text": text.find,
    "date": date.find,
    "money": money.find,
    "number": number.find,
    "percent": percent.find,
    "email": email.find,
    "phone": phone.find,
    "iban": iban.find,
    "reference": reference.find,
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
