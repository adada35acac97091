"""The parts of a schema that hold no others, and what they are made of: strings, quotes, numbers, options."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Never

from engine.errors import EngineError
from engine.generate.constraint import quotes

WHOLE_DIGITS = 15
"""Digits before the point, at most: such integers are exact in float64."""
FRACTION_DIGITS = 10
"""Digits after the point, at most."""


def units(value: float, fraction: int, *, up: bool) -> int:
    """A bound in units of 10 ** -fraction, to the next unit above or below, within what can be written."""
    most: int = 10 ** (WHOLE_DIGITS + fraction) - 1
    scaled = Decimal(str(value)).scaleb(fraction)
    return max(-most, min(most, int(scaled.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))))


def between(low: int, high: int, fraction: int = 0) -> str:
    """The expression of all numbers from low to high, both in units of 10 ** -fraction; low <= high."""
    parts = []
    if low < 0:
        parts.append("-" + _magnitude(max(1, -high), -low, fraction))
    if high >= 0:
        parts.append(_magnitude(max(0, low), high, fraction))
    return _either(parts)


def _magnitude(low: int, high: int, fraction: int) -> str:
    if not fraction:
        return _whole(low, high)
    unit = 10**fraction
    (first, least), (last, most) = divmod(low, unit), divmod(high, unit)
    if first == last:
        return str(first) + _after_point(least, most, fraction)
    parts = []
    if least:
        parts.append(str(first) + _after_point(least, unit - 1, fraction))
        first += 1
    if most < unit - 1:
        parts.append(str(last) + _after_point(0, most, fraction))
        last -= 1
    if first <= last:
        parts.append(_whole(first, last) + _after_point(0, unit - 1, fraction))
    return _either(parts)


def _whole(low: int, high: int) -> str:
    parts = []
    for digits in range(len(str(low)), len(str(high)) + 1):
        least = 0 if digits == 1 else 10 ** (digits - 1)
        parts.append(_digits(str(max(low, least)), str(min(high, 10**digits - 1)), exact=True))
    return _either(parts)


def _after_point(low: int, high: int, fraction: int) -> str:
    digits = _digits(f"{low:0{fraction}}", f"{high:0{fraction}}", exact=False)
    if low:
        return rf"\.{digits}"
    return rf"(?:\.{digits.removesuffix('?')})?" if high else rf"(?:\.0{{1,{fraction}}})?"


def _digits(low: str, high: str, *, exact: bool) -> str:
    """Digits from low to high, strings of one length. Not exact: zeros at the end may be left out."""
    rest = len(low) - 1
    if rest < 0:
        return ""
    ends = "?" if not exact and low.strip("0") == "" else ""
    full = f"[0-9]{{{rest}}}" if exact else f"[0-9]{{0,{rest}}}"
    parts: dict[str, list[str]] = {}
    for digit in range(int(low[0]), int(high[0]) + 1):
        least = low[1:] if digit == int(low[0]) else "0" * rest
        most = high[1:] if digit == int(high[0]) else "9" * rest
        is_full = least == "0" * rest and most == "9" * rest
        parts.setdefault(full if is_full else _digits(least, most, exact=exact), []).append(str(digit))
    return _either([f"[{''.join(first)}]{after if rest else ''}" for after, first in parts.items()]) + ends


def _either(parts: list[str]) -> str:
    return f"(?:{'|'.join(parts)})"


LENGTH = 1_000
"""The default of `maxLength`, code points."""
QUOTE_LENGTH = 400
"""The same for a quote."""
MOST_LENGTH = 20_000
MOST_OPTIONS = 1_000
MOST_VALUES = 20_000
NOTES = frozenset({"title", "description", "default", "examples", "$schema", "$id", "$comment"})
"""Keywords that only tell people something."""

CHARACTER = r'([^"\\\x00-\x1f\x7f]|\\["\\nrt])'
"""A code point of a free string in its one spelling: no control characters but white space."""
SPELLED = r"([^\\]|\\[^u]|\\u[0-9a-f]{4})"
INNER = r"([^\\ ]|\\[^u]|\\u[0-9a-f]{4})"
"""A code point of a text that is quoted from as `quotes.spell` writes it; INNER is not a space."""

_SHORT = "0{3}[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3}"
_FOURTH = "0[48]|[2468][048]|[13579][26]"
DATE = (
    f"(({_SHORT})-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
    f"|([0-9]{{2}}({_FOURTH})|({_FOURTH})00)-02-29)"
)
"""A day of the calendar, years 0001 to 9999."""


@dataclass(frozen=True)
class Part:
    """An expression of the grammar, and the code points that it writes at most."""

    lark: str
    longest: int


def refuse(at: str, keyword: str, found: object, expected: str) -> Never:
    """Raise the EngineError that names the JSON pointer of a schema's part and the keyword."""
    raise EngineError(f"schema #{at:.300}: {keyword}: found {found!r:.80}, expected {expected}")


def literal(text: str) -> str:
    """A terminal that is this text."""
    return f"/{_exactly(text)}/"


def _exactly(text: str) -> str:
    """An expression of this text. All but letters and digits is written as numbers, so that nothing has a meaning."""
    return "".join(c if c.isascii() and c.isalnum() else f"\\x{{{ord(c):x}}}" for c in text)


def utf8(at: str, keyword: str, text: str) -> None:
    if quotes.SURROGATE.search(text):
        refuse(at, keyword, text, "Unicode text without lone surrogates")


def count(at: str, node: Mapping[str, Any], keyword: str, default: int, most: int) -> int:
    """A keyword that counts something."""
    value = node.get(keyword, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        refuse(at, keyword, value, f"a whole number from 0 to {most}")
    return value


def lengths(at: str, node: Mapping[str, Any], default: int, least: int = 0) -> tuple[int, int]:
    """The values of minLength and maxLength, or the defaults. Raises EngineError for bounds that contradict each
    other."""
    low = max(least, count(at, node, "minLength", least, MOST_LENGTH))
    high = count(at, node, "maxLength", max(low, default), MOST_LENGTH)
    if low > high:
        refuse(at, "maxLength", high, f"at least {low}")
    return low, high


def string(at: str, node: Mapping[str, Any]) -> Part:
    low, high = lengths(at, node, LENGTH)
    if "format" in node:
        if node["format"] != "date":
            refuse(at, "format", node["format"], "date")
        if "pattern" in node or not low <= 10 <= high:
            refuse(at, "format", "date", "no pattern beside it, and lengths that allow 10 code points")
        return Part(f'/"{DATE}"/', 12)
    if "pattern" in node:
        return _pattern(at, node["pattern"], low, high)
    return Part(f'/"{CHARACTER}{{{low},{high}}}"/', 2 + 2 * high)


def _pattern(at: str, pattern: object, low: int, high: int) -> Part:
    if not isinstance(pattern, str):
        refuse(at, "pattern", pattern, "a regular expression")
    utf8(at, "pattern", pattern)
    check_size(pattern, f"schema #{at:.300}: pattern")
    spelling = {"whitespace_flexible": False, "json_allowed_escapes": '"\\nrt'}
    part = {"type": "string", "pattern": pattern, "minLength": low, "maxLength": high, "x-guidance": spelling}
    return Part("%json " + json.dumps(part), 2 + 2 * high)


def number(at: str, node: Mapping[str, Any], fraction: int) -> Part:
    low, high = -(10 ** (WHOLE_DIGITS + fraction)) + 1, 10 ** (WHOLE_DIGITS + fraction) - 1
    for keyword in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
        value = node.get(keyword)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            refuse(at, keyword, value, "a number")
        is_low = keyword.endswith("inimum")
        bound = units(value, fraction, up=is_low)
        if "exclusive" in keyword and bound == units(value, fraction, up=not is_low):
            bound += 1 if is_low else -1
        low, high = (max(low, bound), high) if is_low else (low, min(high, bound))
        if low > high:
            refuse(at, keyword, value, "a range with a number in it that can be written")
    return Part(f"/{between(low, high, fraction)}/", 1 + WHOLE_DIGITS + fraction + (fraction > 0))


def options(at: str, node: Mapping[str, Any], types: list[str]) -> Part:
    """`enum` or `const`: scalars, each of one of the types."""
    keyword = "enum" if "enum" in node else "const"
    values = node["enum"] if keyword == "enum" else [node["const"]]
    if not isinstance(values, list) or not 0 < len(values) <= MOST_OPTIONS or {"enum", "const"} <= set(node):
        refuse(at, keyword, values, f"1 to {MOST_OPTIONS} values, and not both enum and const")
    spelled = [_scalar(at, keyword, value, types) for value in values]
    return Part(" | ".join(literal(one) for one in dict.fromkeys(spelled)), max(map(len, spelled)))


def values(at: str, given: Sequence[str | int | float], types: list[str]) -> Part:
    """The body of a terminal: one of the texts and numbers given for this place, or null where it is allowed."""
    if len(given) > MOST_VALUES:
        refuse(at, "values", len(given), f"at most {MOST_VALUES}")
    spelled = dict.fromkeys(_scalar(at, "values", value, types) for value in given)
    if "null" in types:
        spelled["null"] = None
    if not spelled:
        refuse(at, "values", "none", "one at least, or null allowed")
    return Part(f"/{'|'.join(map(_exactly, spelled))}/", max(map(len, spelled)))


def _scalar(at: str, keyword: str, value: object, types: list[str]) -> str:
    if not any(_is(value, name) for name in types):
        refuse(at, keyword, value, f"text, a number, true, false or null, of type {' or '.join(types)}")
    if isinstance(value, str):
        utf8(at, keyword, value)
    return json.dumps(value, ensure_ascii=False)


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, int | float):
        return name == "number" or (name == "integer" and value == int(value))
    return (name == "string" and isinstance(value, str)) or (name == "null" and value is None)


def quote(text: str, low: int, high: int) -> Part:
    """The body of a terminal: a quote from the terminal `text`."""
    if high == 1:
        form = INNER
    elif low > 1:
        form = f"{INNER}{SPELLED}{{{low - 2},{high - 2}}}{INNER}"
    else:
        form = f"{INNER}({SPELLED}{{0,{high - 2}}}{INNER})?"
    return Part(f"{literal(chr(34))} ({text} & /{form}/) {literal(chr(34))}", 2 + 6 * high)


def substring(some: list[str]) -> str:
    """The body of a terminal: all that some parts of a text, one after another, make."""
    return "%regex " + json.dumps({"substring_chunks": [quotes.spell(part) for part in some]})


LONGEST = 2_000
"""Code points of an expression, at most."""
LARGEST = 50_000
"""Characters and classes of an expression with all repetitions written out, at most: `(ab{3}){2}` has 8."""

TOKEN = re.compile(
    r"""(?P<escape>\\[pPxuU]\{[^}]*\}|\\.)          # one character or class, whatever stands in its braces
    |(?P<repeat>\{(?P<low>[0-9]+)(?P<open>,(?P<high>[0-9]*))?\})
    |(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])            # a set without sets in it
    |(?P<group>\((?:\?[A-Za-z-]*:|\?P?<[^>]*>)?) | (?P<end>\)) | (?P<mark>[*+?|^$]) | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)

_ESCAPED = re.compile(r"\\.", re.DOTALL)


def check_size(regex: str, where: str) -> None:
    """Raise EngineError, which begins with `where`, for an expression that is too large."""
    if len(regex) > LONGEST:
        raise EngineError(f"{where}: found {len(regex)} code points, expected at most {LONGEST}")
    if (found := size(regex, where)) > LARGEST:
        raise EngineError(f"{where}: found a size of {found:.3g} with its repetitions, expected at most {LARGEST}")


def size(regex: str, where: str) -> int:
    """Characters and classes with repetitions written out; alternatives are added up. Raises EngineError for flags that
    change how it is read, and for sets in sets."""
    sums, last = [0], 0
    for token in TOKEN.finditer(regex):
        if token["repeat"]:
            more = last * (max(int(token["low"]), int(token["high"] or 0), 1) - 1)
            sums[-1], last = sums[-1] + more, last + more
        elif token["group"]:
            _check_group(token["group"], regex[token.end() :], where)
            sums.append(0)
        elif token["end"]:
            last = sums.pop() if len(sums) > 1 else 0
            sums[-1] += last
        elif not token["mark"]:
            if token["set"] and "[" in _ESCAPED.sub("", token["set"][1:]):
                raise EngineError(
                    f"{where}: found a set in a set, expected sets such as [^a-z] (write \\[ for the sign)"
                )
            sums[-1], last = sums[-1] + 1, 1
    return sum(sums)


def _check_group(opening: str, after: str, where: str) -> None:
    if (opening == "(" and after.startswith("?")) or "x" in opening.split("<")[0].rstrip(":"):
        raise EngineError(f"{where}: found (?{after[1:9]!r}, expected groups (?: ), (?i: ) and (?s: ), no look-around")
