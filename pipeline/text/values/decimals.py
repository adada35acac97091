"""Decimal numbers as people write them: 1.234,56 and 1,234.56 and 1'234.56 and 1 234,56."""

# ruff: noqa: RUF001  typographic marks are meant
import re

from pipeline.text.values.reading import Reading

_GROUP = "[.,'’\u00a0\u202f\u2009]"
NUMBER = (  # digits in groups of three (two in India) with an optional fraction, or plain digits with one
    rf"(?:\d{{1,3}}(?:{_GROUP}\d{{2,3}}){{0,6}}{_GROUP}\d{{3}}(?:[.,]\d{{1,6}})?"
    r"|\d{1,3}(?: \d{3}){1,4}(?:,\d{2})(?!\d)"
    r"|\d{1,18}(?:[.,]\d{1,8})?)"
)
_GROUPED = re.compile(r"\d{1,3}(?:(?:([.,'’\u00a0\u202f\u2009 ])\d{3})(?:\1\d{3})*|(?:,\d{2})+,\d{3})")


def parse_decimal(text: str, reading: Reading, *, cents: bool = False) -> tuple[str, str | None] | None:
    """A number in plain decimal notation and a note where it could be read otherwise; None where it is no number.

    Two different marks: the last one is the decimal mark. One mark that stands more than once separates thousands. One
    mark with other than three digits after it is the decimal mark. One mark with three digits after it is read as the
    document reads: its decimal mark if it is that, else a separator of thousands; with `cents`, which are never three,
    always as a separator of thousands.
    """
    marks = [char for char in text if not char.isdecimal()]
    if not marks:
        return _plain(text, ""), None
    head, tail = re.split(r"[^\d](?=\d*$)", text, maxsplit=1)
    last = marks[-1]
    if len(set(marks)) > 1:
        return (_plain(head, tail), None) if last in ".," and _is_grouped(head) and last not in marks[:-1] else None
    if len(marks) > 1 or last not in ".,":
        return (_plain(text, ""), None) if _is_grouped(text) else None
    if len(tail) != 3 or len(head) > 3 or head == "0":
        return _plain(head, tail), None
    if cents:
        return _plain(text, ""), None
    return _three_digits_after(text, head, tail, reading)


def _three_digits_after(text: str, head: str, tail: str, reading: Reading) -> tuple[str, str | None]:
    """1.234 or 1,234: thousands, unless the mark is the document's decimal mark."""
    decimal = (last := text[-4]) == ("," if reading.decimal_comma else ".")
    value = _plain(head, tail) if decimal else _plain(head + tail, "")
    if reading.decimal_shown or reading.language:
        return value, None
    how = "the decimal mark" if decimal else "a separator of thousands"
    return value, f"{last!r} in {text} was read as {how}; the document does not show which"


def _is_grouped(text: str) -> bool:
    return text.isdecimal() or _GROUPED.fullmatch(text) is not None


def _plain(whole: str, fraction: str) -> str:
    """Digits without separators, without leading zeros."""
    digits = "".join(str(int(char)) for char in whole if char.isdecimal()).lstrip("0") or "0"
    return f"{digits}.{''.join(str(int(char)) for char in fraction)}" if fraction else digits
