"""Whether rules hold that stand under `@media` and `@supports`: on a screen, in a browser that knows its CSS."""

from collections.abc import Callable, Sequence

from pipeline.parse.css.syntax import Measure, Token, significant, split, word

_SCREEN: dict[str, float | str] = {
    "width": 1280.0, "height": 800.0, "device-width": 1280.0, "device-height": 800.0, "aspect-ratio": 1.6, "color": 8.0,
    "monochrome": 0.0, "grid": 0.0, "resolution": 1.0, "device-pixel-ratio": 1.0, "orientation": "landscape",
    "hover": "hover", "any-hover": "hover", "pointer": "fine", "any-pointer": "fine", "prefers-color-scheme": "light",
    "prefers-reduced-motion": "no-preference", "prefers-contrast": "no-preference", "scripting": "enabled",
    "display-mode": "browser", "forced-colors": "none",
}  # fmt: skip
_DENSITIES = {"dppx": 1.0, "x": 1.0, "dpi": 1 / 96, "dpcm": 2.54 / 96}
Judge = Callable[[Token], bool | None]


def on_screen(prelude: Sequence[Token]) -> bool | None:
    """Whether a list of media queries holds on a screen of 1280 by 800 px; None where that is not known."""
    if not significant(prelude):
        return True
    return _any([_query(significant(part)) for part in split(prelude)])


def supported(prelude: Sequence[Token]) -> bool | None:
    """Whether a condition of `@supports` holds; browsers are taken to know what is asked, but for others' prefixes."""
    return _condition(significant(prelude), _declared)


def _query(tokens: tuple[Token, ...]) -> bool | None:
    first = word(tokens[:1])
    if first in {"only", "not"} and len(tokens) > 1 and tokens[1].type == "ident":
        return _query(tokens[1:]) if first == "only" else _not(_query(tokens[1:]))
    if not first or first in {"not", "and", "or"}:
        return _condition(tokens, _feature)
    rest = tokens[2:] if word(tokens[1:2]) == "and" else tokens[1:]
    return first in {"screen", "all"} and (_condition(rest, _feature) if rest else True)


def _condition(tokens: tuple[Token, ...], judge: Judge) -> bool | None:
    """Whether `(a) and (b)`, `not (a)` or `(a) or (b)` holds, where each may have conditions in it; None: not known."""
    if word(tokens[:1]) == "not":
        return _not(_condition(tokens[1:], judge))
    joints = {word(tokens[place : place + 1]) for place in range(1, len(tokens), 2)}
    if len(tokens) > 1 and (len(joints) > 1 or not joints <= {"and", "or"} or len(tokens) % 2 == 0):
        return None
    found = [judge(token) for token in tokens[::2]]
    return _any(found) if "or" in joints else _all(found)


def _any(found: Sequence[bool | None]) -> bool | None:
    return True if True in found else None if None in found else False


def _all(found: Sequence[bool | None]) -> bool | None:
    return _not(_any([_not(one) for one in found]))


def _not(found: bool | None) -> bool | None:
    return None if found is None else not found


def _declared(token: Token) -> bool | None:
    if token.type != "() block":
        return True if token.type == "function" and token.lower_name == "selector" else None
    inside = significant(token.content)
    if len(inside) > 1 and inside[0].type == "ident" and inside[1] == ":":
        return not inside[0].lower_value.startswith(("-moz-", "-ms-", "-o-"))
    return _condition(inside, _declared)


def _feature(token: Token) -> bool | None:
    """Whether a feature is there, has a value (`min-width: 600px`), or compares so (`400px < width <= 900px`)."""
    inside = significant(token.content) if token.type == "() block" else ()
    if inside and (inside[0].type == "() block" or word(inside[:1]) == "not"):
        return _condition(inside, _feature)
    name = word(inside[:1])
    its = _SCREEN.get(name.removeprefix("-webkit-").removeprefix("min-").removeprefix("max-"))
    if len(inside) == 1:
        return None if its is None else its not in {0.0, "none", "no-preference"}
    if inside[1:2] == (":",) and isinstance(its, str):
        return its == word(inside[2:])
    if inside[1:2] == (":",):
        return _holds(its, ">=" if "min-" in name else "<=" if "max-" in name else "=", _number(inside[2:]))
    signs = [place for place, one in enumerate(inside) if one.type == "literal" and one.value[0] in "<>="]
    ends = [*signs, len(inside)]
    values = [inside[start:end] for start, end in zip([0, *(place + 1 for place in signs)], ends, strict=True)]
    numbers = [_SCREEN.get(word(one)) if word(one) else _number(one) for one in values if one]
    marks = [f"{inside[place].value}{'=' if place + 1 in signs else ''}" for place in signs if place - 1 not in signs]
    if not marks or len(numbers) != len(marks) + 1:
        return None
    return _all([_holds(a, sign, b) for a, sign, b in zip(numbers[:-1], marks, numbers[1:], strict=True)])


def _holds(left: float | str | None, sign: str, right: float | str | None) -> bool | None:
    if not isinstance(left, float) or not isinstance(right, float):
        return None
    return ("=" in sign) if left == right else ("<" in sign) if left < right else ">" in sign


def _number(value: tuple[Token, ...]) -> float | None:
    if len(value) == 3 and value[1] == "/" and value[0].type == value[2].type == "number" and value[2].value:
        return float(value[0].value / value[2].value)
    if len(value) == 1 and value[0].type == "number":
        return float(value[0].value)
    if len(value) == 1 and value[0].type == "dimension" and value[0].lower_unit in _DENSITIES:
        return float(value[0].value) * _DENSITIES[value[0].lower_unit]
    return Measure(16.0).length(value)
