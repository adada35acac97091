"""A line of a batch file: one JSON object, read strictly, so that it means the same to everybody.

Imported by parsers too, so it needs nothing but the standard library.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

BATCH_FILE: Final = "application/x-openai-batch"
REQUEST: Final = "application/x-openai-request"
"""The media types of a batch file and of a line of it."""

DEEPEST: Final = 64  # levels
MOST: Final = 1_000_000  # of the characters that begin or separate values: what a text can become in memory
_STRUCTURE: Final = "[{,:"
_NAME = re.compile(r"(\d{7,})(?: repeats (\d{7,}))?\.json")


class LineError(ValueError):
    """A line is no request; the message says why."""


def read_line(text: str) -> dict[str, Any]:
    """The object of a line. LineError, also where a key is there twice or a text is no Unicode."""
    if sum(map(text.count, _STRUCTURE)) > MOST:
        raise LineError(f"it has more than {MOST:,} brackets, commas and colons")
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise LineError(_DEEP) from None
    except LineError:
        raise
    except json.JSONDecodeError as error:
        raise LineError(f"it is no JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}") from None
    except ValueError:  # a number of thousands of digits
        raise LineError("it is no JSON: a number is too long") from None
    if not isinstance(value, dict):
        raise LineError("it is no JSON object")
    _check(value)
    return value


def line_name(number: int, first: int | None = None) -> str:
    """The name of a line as a document; `first`: the line that has its custom_id already."""
    return f"{number:07}.json" if first is None else f"{number:07} repeats {first:07}.json"


def numbers_of(name: str) -> tuple[int, int | None]:
    """The numbers in a name that `line_name` made: of the line, and of the first one. Raises LineError."""
    if not (found := _NAME.fullmatch(name)):
        raise LineError(f"its name is none of a line: {name!r:.80}")
    return int(found[1]), int(found[2]) if found[2] else None


_DEEP: Final = f"it is nested deeper than {DEEPEST} levels"


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise LineError(f"it has the key {key!r:.80} twice")
        found[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise LineError(f"it is no JSON: {name} is no number")


def _check(value: Any) -> None:
    """Level by level, so that depth costs no stack."""
    level, depth = [value], 0
    while level:
        if depth > DEEPEST:
            raise LineError(_DEEP)
        for text in (one for one in level if isinstance(one, str) and not one.isascii()):
            try:
                text.encode()
            except UnicodeEncodeError:
                raise LineError("a text in it has half of a surrogate pair, which is no character") from None
        inner = [one for one in level if isinstance(one, dict | list)]
        level = [each for one in inner for each in ([*one, *one.values()] if isinstance(one, dict) else one)]
        depth += 1
