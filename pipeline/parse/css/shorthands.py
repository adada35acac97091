"""Shorthand properties as the longhands that they set."""

from pipeline.parse.css.declarations import PROPERTIES, SHORTHANDS
from pipeline.parse.css.syntax import Token, Value, colour_and_alpha, split, word

_SIDES = {"margin", "padding", "inset"}
_PLAY = {"running", "paused", "none", "forwards", "backwards", "both", "normal", "reverse", "alternate", "infinite",
         "alternate-reverse", "ease", "ease-in", "ease-out", "ease-in-out", "linear", "step-start",
         "step-end"}  # fmt: skip
_PICTURE = {"url", "function"}


def longhands(name: str, value: Value | None) -> dict[str, Value]:
    """The longhands of a shorthand with their values, () for one that the value resets; all of them for None."""
    if name == "all":
        return dict.fromkeys(PROPERTIES - set(SHORTHANDS) - {"all"}, value or ())
    names = SHORTHANDS[name]
    if value is None or word(value) in {"inherit", "initial", "unset", "revert", "revert-layer"}:
        return dict.fromkeys(names, value or ())
    if name in _SIDES:
        return dict(zip(names, _four(value), strict=True))
    if name == "overflow":
        return {"overflow-x": value[:1], "overflow-y": value[1:2] or value[:1]}
    if name == "background":
        return _background(value)
    if name == "font":
        return _font(value)
    if name == "animation":
        return _animation(value)
    return {"mask-image": tuple(token for token in value if token.type in _PICTURE)}


def _four(value: Value) -> list[Value]:
    """Top, right, bottom and left of one to four values."""
    parts = [(token,) for token in value[:4]]
    top, right, bottom, left = (parts * 4)[:4] if len(parts) == 1 else (*parts, *parts)[:4]
    if len(parts) == 2:
        bottom, left = top, right
    elif len(parts) == 3:
        left = right
    return [top, right, bottom, left]


def _background(value: Value) -> dict[str, Value]:
    layers = split(value)
    pictures = tuple(one for layer in layers for one in layer if one.type in _PICTURE and not _is_colour(one))
    colour = tuple(one for one in layers[-1] if _is_colour(one))[:1]
    clip = tuple(one for one in layers[-1] if one.type == "ident" and one.lower_value == "text")
    return {"background-color": colour, "background-image": pictures, "background-clip": clip}


def _is_colour(token: Token) -> bool:
    return (
        word((token,)) in {"currentcolor", "canvas"}
        or colour_and_alpha(token) is not None
        or (token.type == "function" and token.lower_name in {"light-dark", "color-mix", "color-contrast"})
    )


def _font(value: Value) -> dict[str, Value]:
    """The size is the first length, or a word for one; the height of lines follows a slash."""
    words = {"xx-small", "x-small", "small", "medium", "large", "x-large", "xx-large", "smaller", "larger"}
    for place, token in enumerate(value):
        zero = token.type == "number" and token.value == 0
        if zero or token.type in {"dimension", "percentage", "function"} or word((token,)) in words:
            after = value[place + 1 : place + 3]
            slashed = len(after) == 2 and after[0].type == "literal" and after[0].value == "/"
            return {"font-size": (token,), "line-height": after[1:] if slashed else ()}
    return {}


def _animation(value: Value) -> dict[str, Value]:
    idents = [token for token in value if token.type in {"ident", "string"}]
    names = tuple(token for token in idents if token.value.lower() not in _PLAY)
    return {"animation-name": names, "animation-fill-mode": tuple(idents), "animation-iteration-count": tuple(idents)}
