"""JSON and JSON Lines: every value with the way to it, in the order of the file.

{"a": {"b": [1, "x"]}}   ->   a.b[0]: 1
                              a.b[1]: x
"""

import json
from typing import Any

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.writer import TextWriter

PARSER = "json/1"


class _Members(list[tuple[str, Any]]):
    """An object with its members in order, equal names included."""


# Numbers stay the text they are: 1.10 is not 1.1, and no number is too long.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_Members, parse_float=str, parse_int=str, parse_constant=str, strict=False
)


def is_json(text: str) -> bool:
    """Whether a text is one object or array; raises RecursionError where it is too deep to know."""
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return False
    try:
        _DECODER.decode(text.lstrip("\ufeff"))
    except ValueError:
        return False
    return True


def is_json_lines(text: str) -> bool:
    """Whether every line is an object or an array, and there are at least two."""
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return False
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and all(line.lstrip().startswith(("{", "[")) for line in lines) and all(map(is_json, lines))


def parse(source: Source, media_type: str) -> Parsed:
    """The values, one a line; a record of JSON Lines is a block, named by its place as in an array."""
    writer, text = source.writer(), source.decoded.text.lstrip("\ufeff")
    try:
        if media_type == "application/x-ndjson":
            for place, line in enumerate(line for line in text.splitlines() if line.strip()):
                writer.gap()
                _write(writer, f"[{place}]", _DECODER.decode(line))
        else:
            _write(writer, "", _DECODER.decode(text))
    except ValueError as error:
        raise DocumentError(Failure.CORRUPT, f"not JSON: {error}") from error
    return finish(source, writer, media_type, PARSER, decoded=source.decoded)


def _write(writer: TextWriter, way: str, value: Any) -> None:
    if isinstance(value, _Members) and value:
        for name, member in value:
            _write(writer, f"{way}.{name}" if way else name, member)
    elif isinstance(value, list) and value:
        for place, member in enumerate(value):
            _write(writer, f"{way}[{place}]", member)
    else:
        writer.line(f"{way}: {_scalar(value)}" if way else _scalar(value))


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "{}" if isinstance(value, _Members) else json.dumps(value)
