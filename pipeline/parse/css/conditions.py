"""Whether rules hold that stand under `@media` and `@supports`: on a screen, in a browser that knows its CSS."""

from collections.abc import Callable, Sequence

from pipeline.parse.css.syntax import Measure, Token, significant, split, word

_NUMBERS = {"width": 1280.0, "height": 800.0, "device-width": 1280.0, "device-height": 800.0, "aspect-ratio": 1.6,
            "color": 8.0, "monochrome": 0.0, "grid": 0.0, "resolution": 1.0, "device-pixel-ratio": 1.0}  # fmt: skip
_WORDS = {"orientation": "landscape", "hover": "hover", "any-hover": "hover", "pointer": "fine", "any-pointer": "fine",
          "prefers-color-scheme": "light", "prefers-reduced-motion": "no-preference", "scripting": "enabled",
          "prefers-contrast": "no-preference", "display-mode": "browser", "forced-colors": "none"}  # fmt: skip
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
    return _any(found) if "or" in joints else _not(_any([_not(one) for one in found]))


def _any(found: Sequence[bool | None]) -> bool | None:
    return True if True in found else None if None in found else False


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
    plain = name.removeprefix("-webkit-").removeprefix("min-").removeprefix("max-")
    if len(inside) == 1:
        return (
            _NUMBERS[plain] != 0
            if plain in _NUMBERS
            else _of_word(plain, lambda its: its not in {"none", "no-preference"})
        )
    if inside[1:2] != (":",):
        return _compared(inside)
    if plain in _WORDS:
        return _of_word(plain, lambda its: its == word(inside[2:]))
    sign = ">=" if "min-" in name else "<=" if "max-" in name else "="
    return _holds(_NUMBERS.get(plain), sign, _number(inside[2:]))


def _of_word(name: str, test: Callable[[str], bool]) -> bool | None:
    return test(_WORDS[name]) if name in _WORDS else None


def _compared(inside: tuple[Token, ...]) -> bool | None:
    parts: list[list[Token]] = [[]]
    signs: list[str] = []
    for token in inside:
        if token.type == "literal" and token.value in {"<", ">", "=", "<=", ">="}:
            if parts[-1]:
                signs.append("")
                parts.append([])
            signs[-1:] = [signs[-1] + token.value] if signs else []
        else:
            parts[-1].append(token)
    numbers = [_NUMBERS.get(word(part)) if word(part) else _number(tuple(part)) for part in parts]
    return _not(
        _any([_not(_holds(a, sign, b)) for a, sign, b in zip(numbers, signs, numbers[1:], strict=False)] or [None])
    )


def _holds(left: float | None, sign: str, right: float | None) -> bool | None:
    if left is None or right is None:
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
