"""CSS as rules, tokens and colours (CSS Syntax Level 3, CSS Color Level 4), through tinycss2, which only this calls."""

from collections.abc import Iterable, Sequence
from typing import Any

from tinycss2 import parse_blocks_contents, parse_component_value_list, parse_stylesheet
from tinycss2.color4 import Color, parse_color
from tinycss2.nth import parse_nth

Token = Any
"""A component value or a rule of tinycss2: `type`, and what that type has."""
Value = tuple[Token, ...]
"""A value without white space and comments."""
_BLANK = {"whitespace", "comment"}
_ADAPTED = ((0.9555766, -0.0230393, 0.0631636), (-0.0282895, 1.0099416, 0.0210077), (0.0122982, -0.020483, 1.3299098))
_TO_RED_GREEN_BLUE = ((3.2409699, -1.5373832, -0.4986108), (-0.9692436, 1.8759675, 0.0415551),
                      (0.0556301, -0.2039770, 1.0569715))  # fmt: skip


def read_sheet(css: str) -> list[Token]:
    """The rules of a style sheet."""
    rules: list[Token] = parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    return rules


def read_block(content: Sequence[Token] | str) -> list[Token]:
    """The declarations and the rules in a block or in a `style` attribute."""
    found: list[Token] = parse_blocks_contents(content, skip_comments=True, skip_whitespace=True)
    return found


def read_value(text: str) -> Value:
    """The tokens of a value."""
    return significant(parse_component_value_list(text))


def significant(tokens: Iterable[Token]) -> Value:
    """The tokens without white space and comments."""
    return tuple(token for token in tokens if token.type not in _BLANK)


def split(tokens: Sequence[Token], mark: str = ",") -> list[list[Token]]:
    """The tokens between marks such as commas."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.type == "literal" and token.value == mark:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def word(value: Sequence[Token]) -> str:
    """The keyword that a value is, in lower case; "" for other values."""
    return str(value[0].lower_value) if len(value) == 1 and value[0].type == "ident" else ""


def words(value: Sequence[Token]) -> list[str]:
    """The keywords among the tokens."""
    return [token.lower_value for token in value if token.type == "ident"]


def every_nth(tokens: Sequence[Token]) -> tuple[int, int] | None:
    """a and b of "an+b" (Selectors Level 4, 14.3.1); None for anything else."""
    found: tuple[int, int] | None = parse_nth(list(tokens))
    return found


def colour_and_alpha(token: Token) -> tuple[tuple[int, int, int], float] | None:
    """A colour in sRGB, each part from 0 to 255, and its opacity from 0 to 1; None where it is none that is known."""
    if token.type == "function" and not significant(token.arguments):
        return None
    try:
        found = parse_color(token)
        if not isinstance(found, Color):
            return None
        red, green, blue = (max(0, min(255, round(255 * part))) for part in _red_green_blue(found))
    except (NotImplementedError, OverflowError, ValueError, ZeroDivisionError):  # of numbers beyond all reason
        return None
    return (red, green, blue), found.alpha


def _red_green_blue(colour: Color) -> tuple[float, ...]:
    if colour.space in {"srgb", "hsl", "hwb"}:
        return tuple(colour.to("srgb"))[:3]
    if colour.space in {"lab", "lch", "xyz-d50"}:
        xyz = _times(_ADAPTED, tuple(colour.to("xyz-d50"))[:3])
    elif colour.space == "srgb-linear":
        return tuple(_gamma(part or 0.0) for part in colour.coordinates)
    else:
        xyz = tuple(colour.to("xyz-d65"))[:3]
    return tuple(_gamma(part) for part in _times(_TO_RED_GREEN_BLUE, xyz))


def _times(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)


def _gamma(part: float) -> float:
    """A part of linear light as sRGB encodes it (IEC 61966-2-1)."""
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def rebuilt(function: Token, arguments: Iterable[Token]) -> Token:
    """The function with other arguments."""
    return type(function)(function.source_line, function.source_column, function.name, list(arguments))
