"""Cells of a sheet: addresses, which number formats are of dates (ISO/IEC 29500-1, 18.8.30), and numbers as text.

And whether a text that a file holds beside a value shows that value.
"""

import re
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import islice

_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_LETTERS = re.compile(r"\$?([A-Z]{1,3})\$?", re.IGNORECASE)
_MOMENT = re.compile(r"(-?\d{4,9}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:[.,]\d+)?Z?)?")
_DURATION = re.compile(r"PT(\d{1,9})H(\d\d)M(\d\d)(?:[.,]\d+)?S")
_LAST_DAY = 2_958_466  # 9999-12-31
_EXACT = 1e16
_LARGEST = 1e21  # from which on numbers are written as powers of ten
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")


def column_number(reference: str) -> int:
    """The column of an address, from 1; 0 where it is none. "AA7" is 27."""
    letters = reference.rstrip("0123456789")
    return _column(letters) if letters != reference else 0


@lru_cache(4096)
def _column(letters: str) -> int:
    match, number = _LETTERS.fullmatch(letters), 0
    for letter in match[1].upper() if match else "":
        number = number * 26 + ord(letter) - 64
    return number


def column_letters(number: int) -> str:
    """The inverse of `column_number`: 27 is "AA"."""
    letters = ""
    while number > 0:
        number, place = divmod(number - 1, 26)
        letters = chr(ord("A") + place) + letters
    return letters


def unescaped(text: str) -> str:
    """A text without the escapes of SpreadsheetML (22.9.2.19): "_x000D_" is one character, "_x005F_" an underscore."""
    if "_x" not in text:
        return text
    text = _ESCAPE.sub(lambda one: chr(int(one[1], 16)), text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def iso_moment(value: str) -> str:
    """A date or moment (XML Schema), as `number_text` writes it: "2026-11-20T13:30:00" with a space, to the second."""
    match = _MOMENT.fullmatch(value)
    return " ".join(part for part in match.groups() if part) if match else value


def iso_duration(value: str) -> str:
    """A time or duration (XML Schema) as `number_text` writes times: "PT13H30M00S" is "13:30:00"."""
    match = _DURATION.fullmatch(value)
    return f"{int(match[1]):02d}:{match[2]}:{match[3]}" if match else value


def number_text(value: str, kind: str, epoch: int) -> str:
    """A stored number as text, whole numbers without a point."""
    try:
        number = float(value)
    except ValueError:
        return value
    if kind and 0 <= number + epoch < _LAST_DAY:
        if kind == "duration":
            minutes, seconds = divmod(round(number * 86_400), 60)
            return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
        days = number + epoch
        days += days < 60 and not epoch  # in the calendar of 1900 that year has a 29 February
        moment = datetime(1899, 12, 30) + timedelta(seconds=round(days * 86_400))
        whole = number == int(number)
        if kind == "time" and number < 1:
            return f"{moment:%H:%M:%S}"
        return f"{moment:%Y-%m-%d}" if kind == "date" and whole else f"{moment:%Y-%m-%d %H:%M:%S}"
    if number.is_integer() and abs(number) < _EXACT:
        return str(int(number))
    text = digits_of(number)
    return f"{Decimal(text):f}" if "e+" in text and abs(number) < _LARGEST else text


def digits_of(number: float) -> str:
    """The digits of a number that Excel shows: 15; of a whole number below 1e16 all."""
    return f"{number:.0f}" if number.is_integer() and abs(number) < _EXACT else f"{number:.15g}"


def number_kind(code: str) -> str:
    """The kind of value that a number format shows, by its first section without literals: "date", "time",
    "moment" (both), "duration", or "" for a plain number.
    """
    code = _LITERAL.sub("", code.split(";")[0]).lower()
    if "[" in code:
        return "duration"
    date, time = bool(re.search("[dy]|m{3,}", code)), bool(re.search("[hs]", code))
    if re.search("[0#?]", code.replace(".0", "")) or "general" in code:
        return ""
    return {(True, True): "moment", (True, False): "date", (False, True): "time"}.get(
        (date, time), "date" if "m" in code else ""
    )


_DIGITS = re.compile(r"\d(?:[\d.,'\u2019 \u00a0\u202f]*\d)?")
_BLANKS = re.compile("['\u2019 \u00a0\u202f]")
_SCALES = (1, 1e3, 1e6, 1e9)
_POWER = re.compile(r"[eE]([+-]?\d+)")
_FRACTION = re.compile(r"(?:(\d+) )?(\d+)/(\d+)")


def reads_as(text: str, number: float) -> bool:
    """Whether a text shows a number, rounded perhaps, in the signs of any language."""
    with suppress(ValueError):
        if float(text) == number:
            return True
    text = text.replace("\u2212", "-")
    found = list(islice(_DIGITS.finditer(text), 12))
    if not found:
        return number == 0 or text.upper() in {"TRUE", "FALSE"}
    if (number < 0) != ("-" in text[: found[0].start()] + text[found[-1].end() :] or f"({found[0][0]}" in text):
        return False
    digits = "".join(filter(str.isdecimal, text))
    if len(found) > 1 and number.is_integer() and digits.lstrip("0") == str(abs(int(number))):
        return "." not in text and "," not in text  # of a telephone, say
    if fraction := _FRACTION.fullmatch(text.strip(" -()")):
        value = int(fraction[1] or 0) + int(fraction[2]) / (int(fraction[3]) or 1)
        return abs(value - abs(number)) <= 1 / (int(fraction[3]) or 1)
    power = _POWER.match(text, found[0].end())
    if len(found) > (2 if power else 1):
        return False
    number = abs(number) * (100 if "%" in text else 1000 if "\u2030" in text else 1)
    exponent = 10.0 ** max(-300, min(300, int(power[1]))) if power else 1.0
    scales = _SCALES if not power and text[found[0].end() :].strip()[:1].isalpha() else _SCALES[:1]
    return any(
        abs(value * exponent * scale - number) <= 0.500001 * step * exponent * scale + 1e-9 * number
        for value, step in _readings(found[0][0])
        for scale in scales
    )


def _readings(digits: str) -> list[tuple[float, float]]:
    """The numbers that digits with points and commas may be, each with the worth of its last place."""
    digits, readings = _BLANKS.sub("", digits), list[tuple[float, float]]()
    for point, group in ((".", ","), (",", ".")):
        whole, _, behind = digits.partition(point)
        if group in behind or point in behind:
            continue
        groups = whole.split(group)
        if len(groups) == 1 or all(len(one) == 3 for one in groups[1:]):
            readings.append((float(f"{''.join(groups)}.{behind or 0}"), 10.0 ** -len(behind)))
    if digits.count(".") > 1 or digits.count(",") > 1:
        groups = re.split("[.,]", digits)
        if all(len(one) == 3 for one in groups[1:]):
            readings.append((float("".join(groups)), 1.0))
    return readings


def reads_as_moment(text: str, iso: str) -> bool:
    """Whether each number in a text is a part of a moment or duration in ISO form."""
    parts = [int(part) for part in re.findall(r"\d{1,9}", iso)]
    allowed = {*parts, *(part % 100 for part in parts), *(part % 12 or 12 for part in parts)}
    if iso.startswith("PT") and len(parts) > 1:
        allowed |= {parts[0] * 60 + parts[1], parts[0] // 24, parts[0] % 24}
    return all(int(one) in allowed for one in re.findall(r"\d{1,9}", text))
