"""Colours of an element's text and of what is behind it."""

from collections.abc import Mapping, Sequence

from pipeline.parse.css.effects import gradient_colour
from pipeline.parse.css.syntax import Measure, Token, Value, colour_and_alpha, number, significant, split, word
from pipeline.parse.sight.colours import BLACK, WHITE, Colour, mixed

Paint = tuple[Colour | None, float]
"""A colour, None where it is not known, and its opacity."""
_SYSTEM: dict[str, Colour] = {"canvas": WHITE, "canvastext": BLACK, "window": WHITE, "windowtext": BLACK}
UNKNOWN: Paint = (None, 1.0)


def paint(token: Token, current: Paint) -> Paint:
    """The paint that a colour stands for; `current` is that of `currentcolor`."""
    keyword = word((token,))
    if keyword == "currentcolor":
        return current
    if keyword in _SYSTEM:
        return _SYSTEM[keyword], 1.0
    if token.type == "function" and token.lower_name == "light-dark":
        first = significant(split(token.arguments)[0])
        return paint(first[0], current) if len(first) == 1 else UNKNOWN
    return colour_and_alpha(token) or UNKNOWN


def text_paint(values: Mapping[str, Value], outer: Paint, *, drawing: bool) -> tuple[Paint, Paint | None]:
    """The paint of `color`, and the one that fills letters instead, if any does; in a drawing that is `fill`."""
    current = paint(values["color"][0], outer) if "color" in values else outer
    if drawing:
        fill = values.get("fill", ())
        opacity = number(values["fill-opacity"][0]) if "fill-opacity" in values else None
        if word(fill) == "none":
            return current, (BLACK, 0.0)
        if fill or opacity is not None:
            colour, alpha = paint(fill[0], current) if fill else (BLACK, 1.0)
            return current, (colour, alpha * (1.0 if opacity is None else max(0.0, min(1.0, opacity))))
        return current, None
    own = values.get("-webkit-text-fill-color", ())
    return current, paint(own[0], current) if own else None


def background(values: Mapping[str, Value], outer: Colour | None, current: Paint) -> tuple[Colour | None, bool]:
    """The colour behind the text of an element, and whether its own background hides what lies below it."""
    pictures = values.get("background-image", ())
    if pictures and word(pictures) != "none":
        even = gradient_colour(pictures)
        return even, even is not None
    if "background-color" not in values:
        return outer, False
    colour, alpha = paint(values["background-color"][0], current)
    if alpha >= 1:
        return colour, colour is not None
    return (mixed(colour, outer, alpha) if alpha > 0 else outer), False


def edge(values: Mapping[str, Value], current: Paint) -> Paint | None:
    """The colour of the shadow or outline of letters, which shows them where they have none themselves."""
    found: list[Paint] = []
    for name in ("text-shadow", "-webkit-text-stroke"):
        value = values.get(name, ())
        lengths = [one for token in value if (one := Measure(16.0).length((token,))) is not None]
        if value and word(value) != "none" and any(lengths[:2] if name != "text-shadow" else [True]):
            found += _colours(value, current)
    return max(found, key=lambda one: one[1], default=None)


def _colours(value: Sequence[Token], current: Paint) -> list[Paint]:
    known = [one for token in value if (one := colour_and_alpha(token)) is not None]
    named = [token for token in value if token.type == "function" and colour_and_alpha(token) is None]
    return [*known, *([UNKNOWN] if named else [])] or [current]
