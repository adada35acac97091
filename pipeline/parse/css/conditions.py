"""Whether rules hold that stand under `@media` and `@supports`: on a screen, in a browser that knows its CSS."""

from collections.abc import Callable, Sequence

from pipeline.parse.css.syntax import Token, significant, split, word

_WIDTH, _HEIGHT = 1280.0, 800.0  # px
_NUMBERS = {"width": _WIDTH, "height": _HEIGHT, "device-width": _WIDTH, "device-height": _HEIGHT, "resolution": 96.0,
            "aspect-ratio": 1.6, "color": 8.0, "monochrome": 0.0, "grid": 0.0, "color-index": 0.0}  # fmt: skip
_WORDS = {"orientation": "landscape", "hover": "hover", "any-hover": "hover", "pointer": "fine", "any-pointer": "fine",
          "prefers-color-scheme": "light", "prefers-reduced-motion": "no-preference", "scripting": "enabled",
          "prefers-contrast": "no-preference", "display-mode": "browser", "update": "fast", "color-gamut": "srgb",
          "prefers-reduced-transparency": "no-preference", "forced-colors": "none", "inverted-colors": "none",
          "dynamic-range": "standard", "overflow-block": "scroll", "overflow-inline": "scroll"}  # fmt: skip
_UNITS = {"px": 1.0, "em": 16.0, "rem": 16.0, "pt": 4 / 3, "in": 96.0, "cm": 37.8, "mm": 3.78, "vw": 12.8, "vh": 8.0,
          "dppx": 96.0, "x": 96.0, "dpi": 1.0, "dpcm": 2.54}  # fmt: skip


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
        found = _query(tokens[1:])
        return found if first == "only" or found is None else not found
    if first and first not in {"not", "and", "or"}:
        rest = tokens[2:] if len(tokens) > 1 and word(tokens[1:2]) == "and" else tokens[1:]
        if first not in {"screen", "all"}:
            return False
        return _condition(rest, _feature) if rest else True
    return _condition(tokens, _feature)


def _condition(tokens: tuple[Token, ...], judge: Callable[[Token], bool | None]) -> bool | None:
    """Whether `(a) and (b)`, `not (a)` or `(a) or (b)` holds, where each may have conditions in it; None: not known."""
    if word(tokens[:1]) == "not":
        inner = _condition(tokens[1:], judge)
        return None if inner is None else not inner
    joints = {word(tokens[place : place + 1]) for place in range(1, len(tokens), 2)}
    if len(tokens) > 1 and (len(joints) > 1 or not joints <= {"and", "or"} or len(tokens) % 2 == 0):
        return None
    found = [judge(token) for token in tokens[::2]]
    return _any(found) if "or" in joints else _all(found)


def _any(found: Sequence[bool | None]) -> bool | None:
    return True if True in found else None if None in found else False


def _all(found: Sequence[bool | None]) -> bool | None:
    return False if False in found else None if None in found else True


def _declared(token: Token) -> bool | None:
    if token.type == "function":
        return True if token.lower_name == "selector" else None
    if token.type != "() block":
        return None
    inside = significant(token.content)
    if len(inside) > 1 and inside[0].type == "ident" and inside[1].type == "literal" and inside[1].value == ":":
        return not inside[0].lower_value.startswith(("-moz-", "-ms-", "-o-"))
    return _condition(inside, _declared)


def _feature(token: Token) -> bool | None:
    if token.type != "() block":
        return None
    inside = significant(token.content)
    if inside and (inside[0].type != "ident" or word(inside[:1]) == "not") and inside[0].type in {"() block", "ident"}:
        return _condition(inside, _feature)
    marks = [place for place, one in enumerate(inside) if one.type == "literal"]
    if not marks:
        return _present(word(inside))
    if inside[marks[0]].value == ":" and inside[0].type == "ident":
        return _asked(inside[0].lower_value, inside[2:])
    return _compared(inside)


def _present(name: str) -> bool | None:
    if name in _NUMBERS:
        return _NUMBERS[name] != 0
    return None if name not in _WORDS else _WORDS[name] not in {"none", "no-preference"}


def _asked(name: str, value: tuple[Token, ...]) -> bool | None:
    plain = name.removeprefix("-webkit-").removeprefix("min-").removeprefix("max-")
    if plain in _WORDS:
        return word(value) == _WORDS[plain]
    number = _number(value)
    if plain not in _NUMBERS or number is None:
        return None
    least, most = name.startswith("min-"), name.startswith("max-")
    return _NUMBERS[plain] >= number if least else _NUMBERS[plain] <= number if most else _NUMBERS[plain] == number


def _compared(inside: tuple[Token, ...]) -> bool | None:
    """Whether a comparison such as `width >= 600px` or `400px < width <= 900px` holds; None where that is not known."""
    parts: list[list[Token]] = [[]]
    signs: list[str] = []
    for token in inside:
        if token.type == "literal" and token.value in {"<", ">", "="} | {"<=", ">="}:
            if parts[-1]:
                signs.append("")
                parts.append([])
            signs[-1] += token.value
        else:
            parts[-1].append(token)
    numbers = [_NUMBERS.get(word(part)) if word(part) else _number(tuple(part)) for part in parts]
    found = [_holds(a, sign, b) for a, sign, b in zip(numbers, signs, numbers[1:], strict=False)]
    return _all(found)


def _holds(left: float | None, sign: str, right: float | None) -> bool | None:
    if left is None or right is None:
        return None
    if left == right:
        return "=" in sign
    return left < right if "<" in sign else left > right if ">" in sign else False


def _number(value: tuple[Token, ...]) -> float | None:
    if len(value) == 3 and value[1].type == "literal" and value[1].value == "/" and value[2].type == "number":
        return value[0].value / value[2].value if value[0].type == "number" and value[2].value else None
    if len(value) != 1 or value[0].type not in {"number", "dimension"}:
        return None
    unit = value[0].lower_unit if value[0].type == "dimension" else ""
    return float(value[0].value) * (_UNITS.get(unit, 0.0) if unit else 1.0)
