"""Colours of text and of what is behind it, as "RRGGBB"; None is one that is not known, and hides nothing."""

import re

WHITE = "FFFFFF"
_HEX = re.compile("[0-9A-Fa-f]{6}")
_ALIKE = 10  # of 255: a difference in each of red, green and blue that no one sees


def hexadecimal(text: str | None) -> str | None:
    """A colour of six hexadecimal digits."""
    return text.upper() if text and _HEX.fullmatch(text) else None


def alike(text: str | None, behind: str | None) -> bool:
    """Whether text of one colour cannot be seen on the other."""
    if text is None or behind is None:
        return False
    pairs = zip(bytes.fromhex(text), bytes.fromhex(behind), strict=True)
    return all(abs(one - other) <= _ALIKE for one, other in pairs)
