"""Dates in figures and in English, German and French words, normalised to ISO 8601: 2025-12-31, or 2025-12."""

import re
from collections.abc import Iterator
from datetime import date

from pipeline.text.values.base import Value
from pipeline.text.values.reading import Reading

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner janvier janv",
            "february feb februar feber février fevrier févr",
            "march mar märz maerz mär mrz mars",
            "april apr avril avr",
            "may mai",
            "june jun juni juin",
            "july jul juli juillet juil",
            "august aug août aout",
            "september sept sep septembre",
            "october oct oktober okt octobre",
            "november nov novembre",
            "december dec dezember dez décembre decembre déc",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "(?:" + "|".join(sorted(_MONTHS, key=lambda name: (-len(name), name))) + r")\b\.?"
_YEAR = r"(?:\d{4}|(?:['’]|(?<=-))\d{2})(?![\d:])"  # noqa: RUF001
_DAY = r"(?<![\w.,/-])\d{1,2}(?:s ?t|n ?d|r ?d|t ?h|er|ter|\.)?"
_BLANK = "[ \u00a0]"
_DATE = re.compile(
    r"(?<![\w./-])(?P<iso>\d{4}([-/.])\d{1,2}\2\d{1,2})(?!\d|[./-]\d)"
    r"|(?<![\w./-])(?P<figures>\d{1,2} ?([./-]) ?\d{1,2} ?\4 ?(?:\d{4}|\d{2}))(?!\d|[./-]\d)"
    rf"|(?P<day_month>{_DAY}[ \u00a0-]{{0,3}}(?:day of )?{_MONTH},?[ \u00a0-]{{1,3}}{_YEAR})"
    rf"|(?P<month_day>(?<!\w){_MONTH}{_BLANK}{{1,3}}\d{{1,2}}(?:st|nd|rd|th)?{_BLANK}?,?{_BLANK}{{1,3}}\d{{4}}(?!\d))"
    rf"|(?P<month>(?<![\w.]){_MONTH},?{_BLANK}{{1,3}}\d{{4}}(?!\d))",
    re.IGNORECASE,
)
_PART = re.compile(r"\d+|[^\W\d_]+")


def find(text: str, reading: Reading) -> Iterator[Value]:
    """Every date of the calendar. A year of two digits is 1970 to 2069; 3/4/2025 is read as the document reads."""
    for match in _DATE.finditer(text):
        parts = _PART.findall(match[0])
        kind = str(match.lastgroup)
        parsed = _figures(match[0], parts, reading) if kind == "figures" else _words(kind, parts)
        if parsed:
            value, note = parsed
            yield Value(match.start(), match.end(), value, note, sure=kind != "month")


def _words(kind: str, parts: list[str]) -> tuple[str, str | None] | None:
    numbers = [part for part in parts if part.isdecimal()]
    if kind == "iso":
        return _date(int(numbers[0]), int(numbers[1]), int(numbers[2]), None)
    month = next(_MONTHS[part.lower()] for part in parts if part.lower() in _MONTHS)
    if kind == "month":
        return f"{int(numbers[0]):04}-{month:02}", "no day given"
    return _date(int(numbers[1]), month, int(numbers[0]), _century(numbers[1]))


def _figures(text: str, parts: list[str], reading: Reading) -> tuple[str, str | None] | None:
    """a.b.year is day first always; a/b/year and a-b-year as the document shows, unless only one order is a date."""
    a, b, year = map(int, parts)
    note = _century(parts[2])
    if "." in text:
        return _date(year, b, a, note)
    if a > 12 or b > 12:
        day, month = (a, b) if a > 12 else (b, a)
        return _date(year, month, day, note)
    day, month = (a, b) if reading.day_first else (b, a)
    if a != b and not reading.day_first_shown:
        order = "day/month" if reading.day_first else "month/day"
        note = "; ".join(filter(None, (f"ambiguous, read as {order}", note)))
    return _date(year, month, day, note)


def _century(year: str) -> str | None:
    return f"the year {year} was read as {_full(int(year))}" if len(year) <= 2 else None


def _full(year: int) -> int:
    """1970 to 2069, as POSIX nearly has it."""
    return year if year > 99 else year + (2000 if year < 70 else 1900)


def _date(year: int, month: int, day: int, note: str | None) -> tuple[str, str | None] | None:
    try:
        return date(_full(year), month, day).isoformat(), note
    except ValueError:  # not in the calendar: no date
        return None
