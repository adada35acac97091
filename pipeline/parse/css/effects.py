"""Transforms, filters, blending and clipping of an element, as far as they decide whether its text is seen."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from pipeline.parse.css.syntax import Measure, Token, Value, angle, colour_and_alpha, number, significant, split, word
from pipeline.parse.sight.colours import RGB, WHITE, Colour, rgb_of

_LEAST_WIDTH = 0.16  # px for each percent: what no box with text is narrower than, for shares of its own width
_FAR = 2000.0  # px: an inset beyond the size of any box of text
Recolour = Callable[[Colour | None], Colour | None]
"""What a filter or blending makes of a colour; None is one that is not known."""


class Transform(NamedTuple):
    """Scale along both axes, then a shift in px."""

    x_scale: float = 1.0
    y_scale: float = 1.0
    left: float = 0.0
    top: float = 0.0

    def inside(self, other: "Transform") -> "Transform":
        """The transform that another one within this one comes to."""
        return Transform(
            self.x_scale * other.x_scale,
            self.y_scale * other.y_scale,
            self.left + self.x_scale * other.left,
            self.top + self.y_scale * other.top,
        )


UNMOVED = Transform()


def transform(values: Mapping[str, Value], em: float) -> Transform:
    """The transform of `translate`, `rotate`, `scale`, then `transform` (CSS Transforms Level 2)."""
    found = Transform()
    for name, function in (("translate", "translate"), ("rotate", "rotate"), ("scale", "scale")):
        value = values.get(name, ())
        if value and word(value) == "":
            if name == "rotate" and len(value) == 2 and value[0].type == "ident":
                function, value = f"rotate{value[0].lower_value}", value[1:]
            found = found.inside(_function(function, [[one] for one in value], em))
    for token in values.get("transform", ()):
        if token.type == "function":
            arguments = [list(significant(part)) for part in split(token.arguments)]
            found = found.inside(_function(token.lower_name, arguments, em))
    return found


def _function(name: str, arguments: Sequence[Sequence[Token]], em: float) -> Transform:
    firsts = [part[0] for part in arguments if part]
    if not firsts:
        return Transform()
    if name.startswith("translate"):
        x, y = _shift(firsts[0], em), _shift(firsts[1], em) if len(firsts) > 1 else 0.0
        return Transform(left=0.0, top=x) if name == "translatey" else Transform(left=x, top=y)
    if name.startswith("scale"):
        x_scale = number(firsts[0])
        y_scale = number(firsts[1]) if len(firsts) > 1 else x_scale
        x_scale, y_scale = (1.0 if one is None else one for one in (x_scale, y_scale))
        return Transform(
            1.0 if name in {"scaley", "scalez"} else x_scale, 1.0 if name in {"scalex", "scalez"} else y_scale
        )
    if name in {"rotatex", "rotatey"}:
        turn = math.cos(math.radians(angle(firsts[0]) or 0.0))
        return Transform(y_scale=turn) if name == "rotatex" else Transform(x_scale=turn)
    if name in {"matrix", "matrix3d"}:
        return _matrix([number(one) for one in firsts])
    return Transform()


def _matrix(numbers: list[float | None]) -> Transform:
    known = [one for one in numbers if one is not None]
    if len(known) == 16:
        known = [known[place] for place in (0, 1, 4, 5, 12, 13)]
    if len(known) != 6:
        return Transform()
    a, b, c, d, left, top = known
    x_scale = math.hypot(a, b)
    y_scale = abs(a * d - b * c) / x_scale if x_scale else math.hypot(c, d)
    return Transform(x_scale, y_scale, left, top)


def _shift(token: Token, em: float) -> float:
    if token.type == "percentage":
        return float(token.value) * _LEAST_WIDTH
    return Measure(em).length((token,)) or 0.0


def filters(value: Value) -> tuple[float, list[Recolour], float]:
    """The opacity that filters give, what they do to colours, and by how many px they blur (Filter Effects Level 1)."""
    opacity, recolours, blur = 1.0, list[Recolour](), 0.0
    for token in value:
        if token.type != "function":
            continue
        inside = significant(token.arguments)
        share = number(inside[0]) if inside else 1.0
        if token.lower_name == "opacity" and share is not None:
            opacity *= max(0.0, min(1.0, share))
        elif token.lower_name == "blur":
            blur += (Measure(16.0).length(inside[:1]) or 0.0) if inside else 0.0
        elif token.lower_name in _FILTERS and share is not None:
            recolours.append(_each(_FILTERS[token.lower_name], share))
        elif token.lower_name in {"hue-rotate", "sepia", "url", "grayscale", "saturate"}:
            recolours.append(lambda colour: None)
    return opacity, recolours, blur


_FILTERS: dict[str, Callable[[float, float], float]] = {
    "brightness": lambda part, share: part * share,
    "contrast": lambda part, share: (part - 0.5) * share + 0.5,
    "invert": lambda part, share: part * (1 - share) + (1 - part) * share,
}


def _each(function: Callable[[float, float], float], share: float) -> Recolour:
    """A filter that works on red, green and blue alike, each from 0 to 1."""
    return lambda colour: (
        rgb_of([function(part / 255, share) for part in colour]) if isinstance(colour, tuple) else colour
    )


_BLENDS: dict[str, Callable[[float, float], float]] = {
    "multiply": lambda below, above: below * above,
    "screen": lambda below, above: below + above - below * above,
    "darken": min,
    "lighten": max,
    "plus-lighter": lambda below, above: below + above,
    "difference": lambda below, above: abs(below - above),
    "exclusion": lambda below, above: below + above - 2 * below * above,
    "color-dodge": lambda below, above: 0.0 if not below else 1.0 if above >= 1 else below / (1 - above),
    "color-burn": lambda below, above: 1.0 if below >= 1 else 0.0 if above <= 0 else 1 - (1 - below) / above,
    "hard-light": lambda below, above: 2 * below * above if above <= 0.5 else 1 - 2 * (1 - below) * (1 - above),
    "overlay": lambda below, above: 2 * below * above if below <= 0.5 else 1 - 2 * (1 - below) * (1 - above),
}


def blending(mode: str, behind: Colour | None) -> Recolour | None:
    """The change that `mix-blend-mode` makes to colours over one behind (Compositing Level 1); None for no change."""
    if mode in {"", "normal", "initial", "unset", "revert"}:
        return None
    blend = _BLENDS.get(mode)
    if blend is None or not isinstance(behind, tuple):
        return lambda colour: None
    below = [part / 255 for part in behind]
    return lambda colour: (
        rgb_of([blend(a, b / 255) for a, b in zip(below, colour, strict=True)]) if isinstance(colour, tuple) else colour
    )


def is_cut_away(values: Mapping[str, Value], em: float, *, placed: bool) -> bool:
    """Whether clips and masks leave nothing to be seen of an element, which is `placed` absolutely or not."""
    rectangle = placed and _is_clipped_by_rectangle(values.get("clip", ()), em)
    return rectangle or _is_masked_away(values.get("mask-image", ())) or _is_clipped(values.get("clip-path", ()), em)


def _is_masked_away(value: Value) -> bool:
    """Whether a mask is a gradient of colours without any opacity."""
    functions = [token for token in value if token.type == "function" and "gradient" in token.lower_name]
    found = [colour_and_alpha(one) for token in functions for one in significant(token.arguments)]
    alphas = [one[1] for one in found if one is not None]
    return bool(alphas) and len(functions) == len(value) and max(alphas) <= 0.01


def gradient_colour(value: Value) -> RGB | None:
    """The one colour of gradients in which nothing changes; None for other pictures."""
    if len(value) != 1 or value[0].type != "function" or "gradient" not in value[0].lower_name:
        return None
    found = [colour_and_alpha(one) for one in significant(value[0].arguments)]
    colours = {one for one in found if one is not None}
    colour, alpha = colours.pop() if len(colours) == 1 else (WHITE, 0.0)
    return colour if alpha == 1 else None


def _is_clipped(value: Value, em: float) -> bool:
    """Whether a basic shape of `clip-path` leaves nothing to be seen (CSS Masking Level 1)."""
    if not value or value[0].type != "function":
        return False
    name, parts = value[0].lower_name, [significant(part) for part in split(value[0].arguments)]
    measure = Measure(em, 100.0)  # shares as they are
    numbers = [[measure.length((one,)) for one in part if one.type != "ident"] for part in parts]
    first = numbers[0]
    if name == "inset":
        return _is_inset(significant(parts[0]), em)
    if name in {"circle", "ellipse"}:
        before = takewhile(lambda token: _ident(token) != "at", parts[0])
        return any((one := measure.length((token,))) is not None and one <= 1 for token in before)
    if name in {"rect", "xywh"}:
        sides = [one for one in first[:4] if one is not None]
        if len(sides) < 4:
            return False
        return min(sides[2:]) <= 1 if name == "xywh" else sides[1] - sides[3] <= 1 or sides[2] - sides[0] <= 1
    return name == "polygon" and _is_flat([(one[0], one[1]) for one in numbers if len(one) == 2])


def _ident(token: Token) -> str:
    return word((token,))


def _is_inset(tokens: Value, em: float) -> bool:
    tokens = tuple(takewhile(lambda token: _ident(token) != "round", tokens))
    if not tokens:
        return False
    top, right, bottom, left = ([*tokens] * 4)[:4] if len(tokens) != 3 else (*tokens, tokens[1])
    return any(_meet(a, b, em) for a, b in ((top, bottom), (left, right)))


def _meet(one: Token, other: Token, em: float) -> bool:
    """Whether insets from two sides meet and leave nothing between them."""
    if one.type == other.type == "percentage":
        return bool(one.value + other.value >= 100)
    if any(token.type == "percentage" and token.value >= 100 for token in (one, other)):
        return True
    return any((length := Measure(em).length((token,))) is not None and length >= _FAR for token in (one, other))


def _is_flat(points: list[tuple[float | None, float | None]]) -> bool:
    """Whether a polygon has no area, or lies beside the box."""
    known = [(x, y) for x, y in points if x is not None and y is not None]
    if len(known) < len(points) or not known:
        return False
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(known, known[1:] + known[:1], strict=True)) / 2
    return abs(area) <= 1 or any(max(point[axis] for point in known) <= 0 for axis in (0, 1))


def _is_clipped_by_rectangle(value: Value, em: float) -> bool:
    """Whether `clip: rect(top, right, bottom, left)` leaves nothing to be seen (CSS Masking Level 1, 7)."""
    if not value or value[0].type != "function" or value[0].lower_name != "rect":
        return False
    tokens = [token for token in significant(value[0].arguments) if token != ","]
    sides = [Measure(em, None, quirks=True).length((token,)) for token in tokens]
    if len(sides) != 4:
        return False
    top, right, bottom, left = sides
    across = right is not None and right - (left or 0.0) <= 1
    return across or (bottom is not None and bottom - (top or 0.0) <= 1)
