"""Colours as CSS and HTML write them, for the one question whether two are the same."""

import re

Colour = tuple[int, int, int] | str
"""Red, green and blue from 0 to 255; a word that is not known here, as it stands; or "transparent"."""

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
_COLOUR = re.compile(rf"{_HEX.pattern}(?![\w-])|{_RGB.pattern}|(?<![\w#-])(?:{'|'.join(_NAMES)}|transparent)(?![\w-])")
_PICTURE = re.compile(r"url\(|gradient|image|var\(")
_SAME = 12  # the most that the three parts of two colours may differ by in all, and nobody sees it


def colour_of(value: str | None) -> Colour | None:
    """The colour that a value in lower case names; None where that depends on something else."""
    value = (value or "").strip()
    if value in _NAMES:
        return _NAMES[value]
    if match := _HEX.fullmatch(value):
        return _of_hex(match[1])
    if match := _RGB.fullmatch(value):
        return _of_parts(re.findall(r"[\d.]+%?", match[1]))
    return value if value.isalpha() and value not in {"inherit", "initial", "unset", "revert"} else None


def background_of(declared: dict[str, str], outer: Colour | None) -> Colour | None:
    """What is behind the text of an element: its own colour, else that around it; None for pictures."""
    if _PICTURE.search(declared.get("background-image", "")):
        return None
    value = declared.get("background-color", declared.get("background", ""))
    if _PICTURE.search(value):
        return None
    found = _COLOUR.search(value)
    colour = colour_of(found.group()) if found else None
    if colour == "transparent" or (colour is None and value in {"", "none", "inherit", "initial", "unset"}):
        return outer
    return colour


def alike(one: Colour | None, other: Colour | None) -> bool:
    """Whether both are known, and text in one of them cannot be seen on the other."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= _SAME
    return one is not None and one == other


def _of_hex(digits: str) -> Colour:
    if len(digits) < 6:
        digits = "".join(2 * digit for digit in digits)
    parts = [int(digits[place : place + 2], 16) for place in range(0, len(digits), 2)]
    return "transparent" if len(parts) == 4 and parts[3] == 0 else (parts[0], parts[1], parts[2])


def _of_parts(parts: list[str]) -> Colour | None:
    """rgb(1, 2, 3) or rgb(1 2 3 / 4%), parts from 0 to 255 or in percent."""
    numbers = [_number(part) for part in parts]
    if len(numbers) == 4 and numbers[3] == 0:
        return "transparent"
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) in {3, 4} else None


def _number(part: str) -> int:
    try:
        value = float(part.rstrip("%")) * (2.55 if part.endswith("%") else 1.0)
    except ValueError:
        return 0
    return round(min(value, 255.0)) if value >= 1 or value == 0 else 1  # an opacity of 0.3 is not none
