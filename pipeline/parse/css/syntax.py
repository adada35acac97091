"""CSS as rules, tokens, colours and lengths (CSS Syntax Level 3, CSS Color Level 4, Values and Units Level 4).

Tokens come through tinycss2, which only this calls. Lengths are in px; None is what depends on more than is known here.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tinycss2 import parse_blocks_contents, parse_component_value_list, parse_stylesheet
from tinycss2.color4 import Color, parse_color
from tinycss2.nth import parse_nth

from pipeline.parse.sight.colours import encoded

Token = Any
"""A component value or a rule of tinycss2: `type`, and what that type has."""
Value = tuple[Token, ...]
"""A value without white space and comments."""
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
    return tuple(token for token in tokens if token.type not in {"whitespace", "comment"})


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
    """A colour in sRGB, each component from 0 to 255, and its opacity from 0 to 1; None where none is known."""
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
        return tuple(encoded(part or 0.0) for part in colour.coordinates)
    else:
        xyz = tuple(colour.to("xyz-d65"))[:3]
    return tuple(encoded(part) for part in _times(_TO_RED_GREEN_BLUE, xyz))


def _times(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)


def rebuilt(function: Token, arguments: Iterable[Token]) -> Token:
    """The function with other arguments."""
    return type(function)(function.source_line, function.source_column, function.name, list(arguments))


_UNITS = {"px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 96 / 2.54, "mm": 9.6 / 2.54, "q": 2.4 / 2.54,
          "rem": 16.0, "vw": 12.8, "vh": 8.0, "vmin": 8.0, "vmax": 12.8, "svw": 12.8, "svh": 8.0, "dvw": 12.8,
          "dvh": 8.0, "lvw": 12.8, "lvh": 8.0, "vi": 12.8, "vb": 8.0}  # fmt: skip
_RELATIVE = {"em": 1.0, "ex": 0.5, "ch": 0.5, "ic": 1.0, "lh": 1.2, "cap": 0.7}
_ANGLES = {"deg": 1.0, "grad": 0.9, "rad": 180 / math.pi, "turn": 360.0}
_DEEPEST = 20


@dataclass(frozen=True)
class Measure:
    """The measures of relative lengths in px: the font's size, 100 % (None: unknown); `quirks`: numbers are lengths."""

    em: float
    whole: float | None = None
    quirks: bool = False

    def length(self, value: Sequence[Token]) -> float | None:
        """The length in px that a value of one token states; None where that is not known here."""
        return self._term(value[0], 0) if len(value) == 1 else None

    def _term(self, token: Token, depth: int) -> float | None:
        kind = token.type
        if kind == "dimension":
            number, unit = float(token.value), token.lower_unit
            relative = number * _RELATIVE[unit] * self.em if unit in _RELATIVE else None
            return number * _UNITS[unit] if unit in _UNITS else relative
        if kind == "percentage":
            return 0.0 if not token.value else None if self.whole is None else float(token.value) / 100 * self.whole
        if kind == "number":
            return float(token.value) if token.value == 0 or depth or self.quirks else None
        if kind == "() block":
            return self._sum(significant(token.content), depth + 1)
        return self._function(token.lower_name, token.arguments, depth) if kind == "function" else None

    def _function(self, name: str, arguments: Sequence[Token], depth: int) -> float | None:
        """The length that calc, min, max or clamp gives (10.1 to 10.3)."""
        if depth > _DEEPEST or name.removeprefix("-webkit-") not in {"calc", "min", "max", "clamp"}:
            return None
        parts = [self._sum(significant(part), depth + 1) for part in split(arguments)]
        found = [part for part in parts if part is not None]
        if not found or len(found) < len(parts):
            return None
        if name == "clamp":
            return max(found[0], min(found[1], found[2])) if len(found) == 3 else None
        return {"min": min(found), "max": max(found)}.get(name, found[0])

    def _sum(self, tokens: Sequence[Token], depth: int) -> float | None:
        """The sum of terms with signs between them; a product binds closer."""
        total, product, sign, operator = 0.0, None, 1.0, ""
        for token in tokens:
            mark = token.value if token.type == "literal" else ""
            if mark in {"+", "-"} and product is not None and not operator:
                total, product, sign = total + sign * product, None, 1.0 if mark == "+" else -1.0
            elif mark in {"*", "/"} and product is not None and not operator:
                operator = mark
            else:
                term = self._term(token, depth) if depth <= _DEEPEST and not mark else None
                if term is None or (product is not None and not operator) or (operator == "/" and not term):
                    return None
                product = term if product is None else product * term if operator == "*" else product / term
                operator = ""
        return None if product is None or operator else total + sign * product


def number(token: Token) -> float | None:
    """A number or a percentage, 100 % as 1; with calc()."""
    found = None
    if token.type == "percentage":
        found = token.value / 100
    elif token.type == "number":
        found = token.value
    elif token.type in {"function", "() block"}:
        found = Measure(0.0, 1.0).length((token,))
    return None if found is None or not math.isfinite(found) else float(found)


def angle(token: Token) -> float | None:
    """The degrees of an angle; None for anything else."""
    if token.type == "dimension" and token.lower_unit in _ANGLES:
        return float(token.value) * _ANGLES[token.lower_unit]
    return 0.0 if token.type == "number" and token.value == 0 else None


def font_size(value: Sequence[Token], outer: float, measure: Measure) -> float | None:
    """The size that a value of font-size gives within text of a size `outer`."""
    names = {"xx-small": 9.6, "x-small": 10.0, "small": 13.0, "medium": 16.0, "large": 18.0, "x-large": 24.0,
             "xx-large": 32.0, "xxx-large": 48.0, "smaller": outer / 1.2, "larger": outer * 1.2}  # fmt: skip
    return names[word(value)] if word(value) in names else measure.length(value)
