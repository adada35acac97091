"""Values as JSON has them, and back by their types, so that what is remembered need not be spelled out a second time.

A dataclass or named tuple is the list of its fields, a mapping a list of pairs, an entry of the log what it says there.
"""

from collections import Counter
from collections.abc import Mapping, MutableMapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from pipeline.records.entries import from_json
from pipeline.records.types import Record


def to_plain(value: Any) -> Any:
    """The JSON value."""
    match value:
        case None | str() | int() | float():
            return value
        case Record():
            return value.said
        case bytes():
            return value.hex()
        case datetime():
            return value.isoformat()
        case Mapping():
            return [[to_plain(key), to_plain(each)] for key, each in value.items()]
    if is_dataclass(value):
        return [to_plain(getattr(value, each.name)) for each in fields(value)]
    return [to_plain(each) for each in (sorted(value) if isinstance(value, set) else value)]


def from_plain(kind: Any, plain: Any) -> Any:
    """The value of this type that `to_plain` made plain. ValueError, TypeError, LookupError for what it cannot be."""
    origin, args = get_origin(kind), get_args(kind)
    if plain is None or kind in (str, int, float, bool):
        return plain
    if NoneType in args:
        return from_plain(next(option for option in args if option is not NoneType), plain)
    if isinstance(plain, Mapping):
        return from_json(plain)
    if kind in (bytes, datetime):
        return kind.fromhex(plain) if kind is bytes else kind.fromisoformat(plain)
    if origin in (dict, Counter, MutableMapping):
        key, value = args if len(args) == 2 else (*args, int)
        made = {from_plain(key, its): from_plain(value, each) for its, each in plain}
        return Counter(made) if origin is Counter else made
    if origin is tuple and args[-1] is not ...:
        return tuple(from_plain(of, each) for of, each in zip(args, plain, strict=True))
    if origin in (list, set, tuple):
        return origin(from_plain(args[0], each) for each in plain)
    return kind(*(from_plain(of, each) for of, each in zip(_types(kind), plain, strict=True)))


@cache
def _types(kind: type) -> tuple[Any, ...]:
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind)] if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]
    return tuple(hints[name] for name in names)
