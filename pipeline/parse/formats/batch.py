"""OpenAI Batch files: each line that is not blank becomes a document of its own, and a request is a line by itself.

Only jobs whose task is `batch` read files so; what a file is then follows from the job and not from its bytes.
"""

import codecs
from collections.abc import Iterator

from pipeline.document import Parsed, Section
from pipeline.errors import DocumentError, Failure
from pipeline.openai.line import BATCH_FILE, LineError, line_name, numbers_of, read_line
from pipeline.parse.contract import Source, finish

PARSER = "batch/1"
LINE, REPEATS = "line", "repeats"
"""Kinds of sections: the number of a request's line, and of the line that has its custom_id already."""

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def parse(source: Source, media_type: str) -> Parsed:
    """The requests in a file, or one of them."""
    return _file(source, media_type) if media_type == BATCH_FILE else _request(source, media_type)


def _file(source: Source, media_type: str) -> Parsed:
    if source.data.startswith(_WIDE):
        raise DocumentError(Failure.CORRUPT, "it is UTF-16; batch files are UTF-8")
    met: dict[str, int] = {}
    lines = readable = 0
    for number, line in _lines(source.data):
        lines += 1
        values = _values(line, source.limits.output_characters)
        readable += values is not None
        name = (values or {}).get("custom_id")
        first = met.setdefault(name, number) if isinstance(name, str) else number
        source.members.add(line_name(number, None if first == number else first), [line])
    if lines and not readable:
        raise DocumentError(Failure.CORRUPT, f"none of its {lines:,} lines is a JSON object")
    return finish(source, source.writer(), media_type, PARSER)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1, without line ends and the byte order mark."""
    begin, number = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0, 0
    while begin < len(data):
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        number += 1
        if line := data[begin:end].strip(b" \t\r"):
            yield number, line
        begin = end + 1


def _values(line: bytes, longest: int) -> dict[str, object] | None:
    """The JSON object of a line; None where it is none, or longer than `longest` characters can be."""
    try:
        return read_line(line.decode()) if len(line) <= 4 * longest else None
    except ValueError:
        return None


def _request(source: Source, media_type: str) -> Parsed:
    """The text is the line; its sections say its number, and the line that it repeats."""
    try:
        number, first = numbers_of(source.name)
    except LineError as error:
        raise DocumentError(Failure.INVALID_REQUEST, str(error)) from error
    try:
        text = source.data.decode()
        if len(text) > source.limits.output_characters:
            limit = source.limits.named("output_characters")
            raise DocumentError(
                Failure.TOO_LARGE, f"line {number} has {len(text):,} characters, more than {limit} allows"
            )
        read_line(text)
    except UnicodeDecodeError as error:
        reason = f"line {number}: byte {error.start + 1} is no UTF-8"
        raise DocumentError(Failure.INVALID_REQUEST, reason) from error
    except LineError as error:
        raise DocumentError(Failure.INVALID_REQUEST, f"line {number}: {error}") from error
    repeats = () if first is None else (Section(0, 1, REPEATS, str(first)),)
    return Parsed(text, media_type, PARSER, sections=(Section(0, 0, LINE, str(number)), *repeats))
