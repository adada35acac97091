"""The messages between the head and its workers: JSON, and rows as Arrow. No code is ever made of them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import pyarrow as pa

from pipeline.cluster.errors import BadWorkerError
from pipeline.document import Hidden, Member, Parsed, Picture, Section, Unseen
from pipeline.errors import DocumentError, Failure
from pipeline.inbox.intake import Arrival
from pipeline.inbox.rows import Row, Work
from pipeline.outbox.schema import table_schema
from pipeline.parse import Limits
from pipeline.parse.child.channel import BadMessageError
from pipeline.parse.child.reply import format_parsed, parse_failure, parse_reply


def _member(failure: str | None, **facts: Any) -> Member:
    return Member(failure=None if failure is None else Failure(failure), **facts)


PROTOCOL: Final = 1
"""The number of this form of messages; head and worker must have the same."""
_NESTED: Final[Mapping[str, Callable[..., Any]]] = {
    "sections": Section, "hidden": Hidden, "images": Picture, "unseen": Unseen, "members": _member,
}  # fmt: skip
_HEADS: Final = ("document", "path", "parent", "size")
"""The columns that the head knows and a worker does not: of how a document came."""
NAMELESS: Final = Arrival("", "", 0)
"""What a worker knows of how a document came."""


def format_document(parsed: Parsed) -> bytes:
    """The message for a document that a worker has read."""
    return _json(format_parsed(parsed))


def parse_document(message: object, limits: Limits) -> Parsed:
    """The document that a worker has read: as strictly as one of a parser's child. BadWorkerError."""
    try:
        return parse_reply(_object(message), limits)
    except BadMessageError as error:
        raise BadWorkerError(f"it answered with no document: {error}") from error


def parse_unread(message: Mapping[str, Any]) -> DocumentError:
    """The failure of a document that a worker could not read. BadWorkerError."""
    try:
        return parse_failure({name: message.get(name) for name in ("failure", "reason")})
    except BadMessageError as error:
        raise BadWorkerError(f"it answered with no failure: {error}") from error


def format_works(works: Sequence[Work]) -> bytes:
    """The message for documents that are to be answered, whole: nothing of them is shortened on this way."""
    return _json([{"seconds": work.seconds, "parsed": _whole(work.parsed)} for work in works])


def parse_works(message: bytes) -> list[Work]:
    """The documents that a worker is to answer: it believes its head."""
    return [Work(NAMELESS, _parsed(one["parsed"]), one["seconds"]) for one in json.loads(message)]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _object(message: object) -> dict[str, Any]:
    try:
        found = json.loads(message) if isinstance(message, bytes) else None
    except ValueError as error:
        raise BadMessageError("not JSON") from error
    if not isinstance(found, dict):
        raise BadMessageError("not an object")
    return found


def _whole(parsed: Parsed) -> dict[str, Any]:
    made = {name: getattr(parsed, name) for name in Parsed.__dataclass_fields__}
    return made | {name: [asdict(one) for one in made[name]] for name in _NESTED}


def _parsed(message: Mapping[str, Any]) -> Parsed:
    made: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in message.items()}
    for name, kind in _NESTED.items():
        made[name] = tuple(kind(**one) for one in made[name])
    return Parsed(**made)


def format_rows(rows: Sequence[Row]) -> bytes:
    """The message for rows: an Arrow stream of the columns of results."""
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=table_schema())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def parse_rows(message: object, works: Sequence[Work]) -> list[Row]:
    """The rows of these documents, with the columns that the head knows. BadWorkerError for anything else: a worker may
    have been taken over."""
    if not isinstance(message, bytes):
        raise BadWorkerError("it answered with no rows")
    try:
        with pa.ipc.open_stream(pa.BufferReader(message)) as stream:
            table = stream.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise BadWorkerError(f"it answered with no rows: {error}") from error
    if table.schema != table_schema() or table.num_rows != len(works):
        raise BadWorkerError(f"it answered with {table.num_rows} rows of other columns for {len(works)} documents")
    return [_row(row, work) for row, work in zip(table.to_pylist(), works, strict=True)]


def _row(row: Row, work: Work) -> Row:
    if row["text_sha256"] != work.parsed.text_sha256:
        raise BadWorkerError("it answered with a row of another text")
    arrival = work.arrival
    return row | dict(zip(_HEADS, (arrival.sha256, arrival.path, arrival.parent, arrival.size), strict=True))
