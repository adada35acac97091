"""Colours as CSS and HTML write them, and whether text in one can be read on another."""

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

Colour = tuple[int, int, int] | str
"""Red, green and blue from 0 to 255; a word that is not known here, as it stands; or TRANSPARENT."""
TRANSPARENT = "transparent"
WHITE = (255, 255, 255)
BLACK = (0, 0, 0)

RGB = tuple[int, int, int]


class Paint(NamedTuple):
    """A paint: its colour, None if it is not known, and its opacity from 0 to 1."""

    colour: Colour | None = None
    opacity: float = 1.0


_NAMES = {
    "black": (0, 0, 0), "white": (255, 255, 255), "red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255),
    "yellow": (255, 255, 0), "aqua": (0, 255, 255), "cyan": (0, 255, 255), "fuchsia": (255, 0, 255),
    "magenta": (255, 0, 255), "gray": (128, 128, 128), "grey": (128, 128, 128), "silver": (192, 192, 192),
    "maroon": (128, 0, 0), "olive": (128, 128, 0), "green": (0, 128, 0), "teal": (0, 128, 128), "navy": (0, 0, 128),
    "purple": (128, 0, 128), "orange": (255, 165, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255), "whitesmoke": (245, 245, 245), "floralwhite": (255, 250, 240),
    "mintcream": (245, 255, 250), "azure": (240, 255, 255),
}  # fmt: skip
_HEX = re.compile(r"#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_RGB = re.compile(r"rgba?\(([^()]*)\)")
_LEGIBLE = 7.0
"""Steps of lightness (CIE L*, 0 to 100) below which letters are lost in what is behind them.

Grey of 95 % on white is 4.5 steps from it, #EEEEEE 5.9, #E6E6E6 (a pale watermark) 8.6, #999999 37."""
_HUE = 0.4  # how much a step of hue and chroma (a*, b*) counts: the eye reads by lightness


def colour_of(value: str | None) -> Colour | None:
    """The colour that a value in lower case names; None where that depends on something else."""
    value = (value or "").strip()
    if value in _NAMES:
        return _NAMES[value]
    if match := _HEX.fullmatch(value):
        digits = match[1]
        if len(digits) < 6:
            digits = "".join(2 * digit for digit in digits)
        parts = [int(digits[place : place + 2], 16) for place in range(0, len(digits), 2)]
        return TRANSPARENT if len(parts) == 4 and parts[3] == 0 else (parts[0], parts[1], parts[2])
    if match := _RGB.fullmatch(value):
        # Rgb(1, 2, 3) or rgb(1 2 3 / 4%), components from 0 to 255 or in percent.
        numbers = [_number(part) for part in re.findall(r"[\d.]+%?", match[1])]
        if len(numbers) == 4 and numbers[3] == 0:
            return TRANSPARENT
        return (numbers[0], numbers[1], numbers[2]) if len(numbers) in {3, 4} else None
    return value if value.isalpha() and value not in {"inherit", "initial", "unset", "revert"} else None


def alike(one: Colour | None, other: Colour | None) -> bool:
    """Whether both are known, and text in one of them cannot be read on the other."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one == other or _distance(one, other) < _LEGIBLE
    return one is not None and one == other


def mixed(colour: Colour | None, background: Colour | None, opacity: float) -> Colour | None:
    """The colour seen where `colour` lies over `background` with an opacity from 0 to 1; None if one is unknown."""
    if not isinstance(colour, tuple) or not isinstance(background, tuple):
        return None
    red, green, blue = (
        round(one * opacity + other * (1 - opacity)) for one, other in zip(colour, background, strict=True)
    )
    return red, green, blue


def _distance(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """Steps between two colours of sRGB, by lightness and, with less weight, by hue and chroma (CIE 1976)."""
    lightness, a, b = (x - y for x, y in zip(_lab(one), _lab(other), strict=True))
    return math.sqrt(lightness**2 + _HUE**2 * (a**2 + b**2))


@lru_cache(1024)
def _lab(colour: tuple[int, int, int]) -> tuple[float, float, float]:
    """L*, a*, b* of a colour of sRGB (IEC 61966-2-1), for the white of D65."""
    red, green, blue = (linear(one / 255) for one in colour)
    x, y, z = (
        (part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116)
        for part in (
            (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
            0.2126 * red + 0.7152 * green + 0.0722 * blue,
            (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def linear(part: float) -> float:
    """A component of a colour of sRGB, 0 to 1, as light (IEC 61966-2-1)."""
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def encoded(part: float) -> float:
    """The inverse of `linear`."""
    return 12.92 * part if part <= 0.0031308 else float(1.055 * part ** (1 / 2.4) - 0.055)


def rgb_of(parts: Iterable[float]) -> RGB:
    """The colour of red, green and blue from 0 to 1; what is beyond is cut off."""
    red, green, blue = (round(255 * min(max(part, 0.0), 1.0)) for part in parts)
    return red, green, blue


def _number(part: str) -> int:
    try:
        value = float(part.rstrip("%")) * (2.55 if part.endswith("%") else 1.0)
    except ValueError:
        return 0
    return round(min(value, 255.0)) if value >= 1 or value == 0 else 1  # an opacity of 0.3 is not none
