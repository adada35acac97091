"""RFC 8785, the JSON Canonicalization Scheme: one value, one sequence of bytes.

    {"b":1.0,"a":"ü\\n"}    becomes    {"a":"ü\\n","b":1}

Object members are sorted by the UTF-16 code units of their names, numbers are written as ECMAScript writes them,
strings carry only the escapes that JSON demands, and there is no white space. Parsing is strict: what is decoded is
encoded again and compared, so that exactly one sequence of bytes stands for each value. A float with an integral
value comes back as an int (JSON has one kind of number), beyond 2**53 as a float.
"""

import json
from collections.abc import Callable
from json.encoder import encode_basestring as _quoted  # with the escapes of RFC 8785, 3.2.2.2
from typing import Any

MAX_INT = 2**53 - 1  # the greatest integer that every JSON reader has exactly
MAX_DEPTH = 64


def canonical(value: Any) -> bytes:
    """The canonical bytes of a JSON value. ValueError for what JSON cannot say without loss: NaN, infinities, integers
    beyond ±(2**53 - 1), lone surrogates, names that are not strings, other types, nesting deeper than 64."""
    try:
        return _text(value, MAX_DEPTH).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a lone surrogate in a string: {error.object[error.start : error.end]!r}") from None


def parse_canonical(data: bytes) -> Any:
    """The value whose canonical bytes are exactly `data`; ValueError for all other bytes."""
    try:
        return _parse_plain(data)
    except (ValueError, RecursionError):  # not of the plain kind, or wrong: the definition decides, and says where
        return _parse_by_definition(data)


def _parse_plain(data: bytes) -> Any:
    """Parse most entries at three times the speed, checked by the standard library's encoder. It writes what RFC 8785
    does but for some floats (each is looked at), integers beyond 2**53 (they come as floats, which it writes in another
    way), names beyond the BMP (their order is another) and nesting; ValueError where it cannot tell."""
    text = data.decode()
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH or not (text.isascii() or max(text) < "\U00010000"):
        raise ValueError("not plain")
    value = _PLAIN_DECODER.raw_decode(text)[0]
    if _PLAIN_ENCODER.encode(value) != text:
        raise ValueError("not canonical")
    return value


def _parse_by_definition(data: bytes) -> Any:
    try:
        value = _DECODER.decode(data.decode())
        again = canonical(value)
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH}") from None
    if again != data:
        at = next((i for i, (a, b) in enumerate(zip(data, again, strict=False)) if a != b), min(len(data), len(again)))
        found, expected = data[at : at + 12], again[at : at + 12]
        raise ValueError(f"not canonical JSON at byte {at}: found {found!r}, expected {expected!r}")
    return value


def _parse_int(text: str) -> int | float:
    # Beyond 2**53 ECMAScript's form of a number has no exponent up to 1e21, so there an integer literal is a float.
    value = int(text)
    return value if -MAX_INT <= value <= MAX_INT else float(text)


def _parse_float(text: str) -> float:
    value = float(text)
    if _float(value, 0) != text:
        raise ValueError(f"{text} is not the canonical form of a number")
    return value


_DECODER = json.JSONDecoder(parse_int=_parse_int)
_PLAIN_DECODER = json.JSONDecoder(parse_int=_parse_int, parse_float=_parse_float)
_PLAIN_ENCODER = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def _text(value: Any, depth: int) -> str:
    if type(value) is str:
        return _quoted(value)
    writer = _WRITERS.get(type(value))
    if writer is None:  # a subclass, such as an enumeration's member
        writer = next((w for kind, w in _WRITERS.items() if isinstance(value, kind)), _refuse)
    if depth == 0:
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    return writer(value, depth - 1)


def _object(value: dict[str, Any], depth: int) -> str:
    if not all(isinstance(name, str) for name in value):
        raise ValueError(f"names must be strings, found {next(n for n in value if not isinstance(n, str))!r}")
    members = sorted(value.items(), key=_utf16) if not "".join(value).isascii() else sorted(value.items())
    return "{" + ",".join([f"{_quoted(name)}:{_text(member, depth)}" for name, member in members]) + "}"


def _utf16(item: tuple[str, Any]) -> bytes:
    return item[0].encode("utf-16-be", "surrogatepass")


def _array(value: list[Any] | tuple[Any, ...], depth: int) -> str:
    return "[" + ",".join([_text(item, depth) for item in value]) + "]"


def _integer(value: int, _: int) -> str:
    if not -MAX_INT <= value <= MAX_INT:
        raise ValueError(f"{value} is beyond ±(2**53 - 1), which JSON does not carry exactly; write it as a string")
    return int.__repr__(value)


def _float(value: float, _: int) -> str:
    """ECMA-262, Number::toString: the shortest digits that give the same double, in ECMAScript's layout."""
    if value - value != 0:
        raise ValueError(f"JSON has no {value}")
    if value == 0:
        return "0"  # also for -0
    if 1e-4 <= abs(value) < 1e16:  # where Python writes no exponent, it writes what ECMAScript does
        return float.__repr__(value).removesuffix(".0")
    mantissa, _e, exponent = float.__repr__(abs(value)).partition("e")
    whole, _dot, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(exponent or 0)  # the value is 0.DIGITS * 10**point
    digits = digits.rstrip("0")
    return ("-" if value < 0 else "") + _layout(digits, point)


def _layout(digits: str, point: int) -> str:
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"


def _refuse(value: Any, _: int) -> str:
    raise ValueError(f"JSON has no {type(value).__name__}: {value!r}")


_WRITERS: dict[type, Callable[[Any, int], str]] = {
    str: lambda value, _: _quoted(value),
    bool: lambda value, _: "true" if value else "false",  # before int, of which it is a subclass
    int: _integer,
    float: _float,
    type(None): lambda value, _: "null",
    dict: _object,
    list: _array,
    tuple: _array,
}
