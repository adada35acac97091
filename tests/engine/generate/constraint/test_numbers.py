"""Numbers between bounds: the expression matches exactly those."""

import re

import numpy as np
import pytest

from engine.generate.constraint.leaves import FRACTION_DIGITS, WHOLE_DIGITS, between, units


def spellings(value: int, fraction: int) -> set[str]:
    """All that a number of units of 10 ** -fraction may be written as."""
    whole, rest = divmod(abs(value), 10**fraction)
    text = f"{'-' if value < 0 else ''}{whole}"
    found = {text} if not rest else set()
    digits = f"{rest:0{fraction}}" if fraction else ""
    while digits:
        found.add(f"{text}.{digits}")
        if not digits.endswith("0"):
            break
        digits = digits[:-1]
    return found


@pytest.mark.parametrize("fraction", [0, 1, 2, 3])
@pytest.mark.parametrize("wide", [3, 25, 1100])
def test_it_matches_what_is_between_and_nothing_else(fraction: int, wide: int) -> None:
    random = np.random.default_rng(wide)
    for _ in range(60):
        low, high = sorted(int(bound) for bound in random.integers(-wide, wide, 2))
        expression = re.compile(between(low, high, fraction))
        for value in {*range(low - 12, low + 12), *range(high - 12, high + 12), *range(-11, 12)}:
            for text in spellings(value, fraction):
                assert bool(expression.fullmatch(text)) == (low <= value <= high), (low, high, text)
        for text in ("-0", "-0.0", "00", "01", "1.", ".5", "", "-", "1e5", "+1", "0.00000000000", "1 "):
            assert not expression.fullmatch(text), text


def test_bounds_are_exact_and_within_what_can_be_written() -> None:
    assert units(0.1, 10, up=True) == 10**9
    assert units(2.5, 0, up=True) == 3
    assert units(-2.5, 0, up=True) == -2
    assert units(2.5, 0, up=False) == 2
    assert units(1e300, FRACTION_DIGITS, up=True) == 10 ** (WHOLE_DIGITS + FRACTION_DIGITS) - 1
    widest = re.compile(between(-(10**25) + 1, 10**25 - 1, 10))
    assert widest.fullmatch("-" + "9" * 15 + "." + "9" * 10)
    assert not widest.fullmatch("9" * 16)
    assert not widest.fullmatch("0." + "9" * 11)
