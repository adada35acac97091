"""Numbers between two bounds as regular expressions, without exponents, without zeros in front, with few digits.

A bound is a whole number of units of 10 ** -fraction, so that every bound is exact."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

WHOLE_DIGITS = 15
"""Digits before the point, at most: such integers are exact in float64."""
FRACTION_DIGITS = 10
"""Digits after the point, at most."""


def units(value: float, fraction: int, *, up: bool) -> int:
    """A bound in units of 10 ** -fraction, to the next unit above or below, within what can be written."""
    most: int = 10 ** (WHOLE_DIGITS + fraction) - 1
    scaled = Decimal(str(value)).scaleb(fraction)
    return max(-most, min(most, int(scaled.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))))


def between(low: int, high: int, fraction: int = 0) -> str:
    """The expression of all numbers from low to high, both in units of 10 ** -fraction; low <= high."""
    parts = []
    if low < 0:
        parts.append("-" + _magnitude(max(1, -high), -low, fraction))
    if high >= 0:
        parts.append(_magnitude(max(0, low), high, fraction))
    return _either(parts)


def _magnitude(low: int, high: int, fraction: int) -> str:
    if not fraction:
        return _whole(low, high)
    unit = 10**fraction
    (first, least), (last, most) = divmod(low, unit), divmod(high, unit)
    if first == last:
        return str(first) + _after_point(least, most, fraction)
    parts = []
    if least:
        parts.append(str(first) + _after_point(least, unit - 1, fraction))
        first += 1
    if most < unit - 1:
        parts.append(str(last) + _after_point(0, most, fraction))
        last -= 1
    if first <= last:
        parts.append(_whole(first, last) + _after_point(0, unit - 1, fraction))
    return _either(parts)


def _whole(low: int, high: int) -> str:
    parts = []
    for digits in range(len(str(low)), len(str(high)) + 1):
        least = 0 if digits == 1 else 10 ** (digits - 1)
        parts.append(_digits(str(max(low, least)), str(min(high, 10**digits - 1)), exact=True))
    return _either(parts)


def _after_point(low: int, high: int, fraction: int) -> str:
    digits = _digits(f"{low:0{fraction}}", f"{high:0{fraction}}", exact=False)
    if low:
        return rf"\.{digits}"
    return rf"(?:\.{digits.removesuffix('?')})?" if high else rf"(?:\.0{{1,{fraction}}})?"


def _digits(low: str, high: str, *, exact: bool) -> str:
    """Digits from low to high, strings of one length. Not exact: zeros at the end may be left out."""
    rest = len(low) - 1
    if rest < 0:
        return ""
    ends = "?" if not exact and low.strip("0") == "" else ""
    full = f"[0-9]{{{rest}}}" if exact else f"[0-9]{{0,{rest}}}"
    parts: dict[str, list[str]] = {}
    for digit in range(int(low[0]), int(high[0]) + 1):
        least = low[1:] if digit == int(low[0]) else "0" * rest
        most = high[1:] if digit == int(high[0]) else "9" * rest
        is_full = least == "0" * rest and most == "9" * rest
        parts.setdefault(full if is_full else _digits(least, most, exact=exact), []).append(str(digit))
    return _either([f"[{''.join(first)}]{after if rest else ''}" for after, first in parts.items()]) + ends


def _either(parts: list[str]) -> str:
    return f"(?:{'|'.join(parts)})"
