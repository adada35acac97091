"""The messages between the head and its workers: JSON, and rows as Arrow. No code is ever made of them."""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import pyarrow as pa

from pipeline.cluster.errors import BadWorkerError
from pipeline.document import Hidden, Member, Parsed, Picture, Row, Section, Unseen
from pipeline.errors import DocumentError, Failure
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Work
from pipeline.outbox.schema import table_schema
from pipeline.parse import Limits
from pipeline.parse.child.channel import BadMessageError
from pipeline.parse.child.reply import format_parsed, parse_failure, parse_reply
from pipeline.states import State


def _member(failure: str | None, **facts: Any) -> Member:
    return Member(failure=None if failure is None else Failure(failure), **facts)


PROTOCOL: Final = 1
"""The number of this form of messages; head and worker must have the same."""
_NESTED: Final[Mapping[str, Callable[..., Any]]] = {
    "sections": Section, "hidden": Hidden, "images": Picture, "unseen": Unseen, "members": _member,
}  # fmt: skip
_ENDS: Final = {State.DONE, State.ABSTAINED, State.REVIEW, State.FAILED}
_LONGEST: Final = 1e7  # seconds of one document
_HEADER_TYPE, _HEADER, _COMPRESSION, _BATCH = 1, 2, 3, 3
"""Fields of the descriptions of an Arrow stream by their numbers, and the type of a batch of rows (Apache Arrow,
format/Message.fbs)."""
NAMELESS: Final = Arrival("", "", 0)
"""What a worker knows of how a document came."""


def format_document(parsed: Parsed) -> bytes:
    """The message for a document that a worker has read."""
    return _json(format_parsed(parsed))


def parse_document(message: object, limits: Limits) -> Parsed:
    """The document that a worker has read: as strictly as one of a parser's child. BadWorkerError."""
    try:
        return parse_reply(_object(message), limits)
    except (BadMessageError, OSError) as error:  # its disk is not ours: it has room, or says so itself
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
    except (ValueError, RecursionError) as error:
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
    table = pa.Table.from_pylist(rows, schema=table_schema())
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
        _refuse_compressed(message)
        with pa.ipc.open_stream(pa.BufferReader(message)) as stream:
            table = stream.read_all()
        table.validate(full=True)
        if table.schema != table_schema() or table.num_rows != len(works):
            raise ValueError(f"{table.num_rows}, or other columns, for {len(works)} documents")
        rows = table.to_pylist()  # not of other columns: of some a few bytes make a list without end
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise BadWorkerError(f"it answered with no rows: {error}") from error
    return [_row(Row(row), work) for row, work in zip(rows, works, strict=True)]


def _row(row: Row, work: Work) -> Row:
    if row.text_sha256 != work.parsed.text_sha256:
        raise BadWorkerError("it answered with a row of another text")
    if not _has_ended(row):
        raise BadWorkerError("it answered with a row that is no answer")
    came = work.arrival  # of which a worker knows nothing
    return row.having(document=came.sha256, path=came.path, parent=came.parent, size=came.size)


def _has_ended(row: Row) -> bool:
    """Whether a row ends its document as a row may that a model made: what is more, nothing that is counted with it is
    missing or endless."""
    seconds, failed = row.seconds, row.state == State.FAILED
    return (
        row.state in _ENDS
        and (row.failure in list(Failure) and row.reason is not None if failed else row.failure is None)
        and row.duplicate_of is None
        and row.tokens is not None and row.tokens >= 0
        and seconds is not None and 0 <= seconds < _LONGEST
    )  # fmt: skip


def _refuse_compressed(stream: bytes) -> None:
    """ValueError for a stream that is to be unpacked: a few bytes of it could become all of the memory, and no worker
    sends one. pa.ArrowException for what is no stream."""
    source = pa.BufferReader(stream)
    while source.tell() < len(stream):
        try:
            message = pa.ipc.read_message(source)
        except EOFError:
            return
        if message.type == "dictionary":
            raise ValueError("a dictionary, which no column has")
        if message.type == "record batch" and _is_compressed(bytes(message.metadata)):
            raise ValueError("columns that are compressed")


def _is_compressed(message: bytes) -> bool:
    """Whether the description of a batch of rows, a flatbuffer, names a compression."""
    try:
        root = struct.unpack_from("<I", message, 0)[0]
        kind, header = _field(message, root, _HEADER_TYPE), _field(message, root, _HEADER)
        if not kind or not header or message[kind] != _BATCH:
            raise ValueError("a batch of rows without its description")
        batch = header + struct.unpack_from("<I", message, header)[0]
        return _field(message, batch, _COMPRESSION) != 0
    except (struct.error, IndexError) as error:
        raise ValueError("a description of rows that is cut off") from error


def _field(message: bytes, table: int, number: int) -> int:
    """Where a field of a table of a flatbuffer stands; 0 where the table does not have it."""
    fields = table - struct.unpack_from("<i", message, table)[0]
    size, place = struct.unpack_from("<H", message, fields)[0], 4 + 2 * number
    offset = struct.unpack_from("<H", message, fields + place)[0] if place < size else 0
    return table + offset if offset else 0
