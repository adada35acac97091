"""The messages between the head and its workers: plain values and bytes, of which no code is ever made."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import pyarrow as pa

from pipeline.cluster.errors import BadWorkerError
from pipeline.document import Hidden, Member, Parsed, Picture, Section, Unseen
from pipeline.errors import Failure
from pipeline.inbox.intake import Arrival
from pipeline.inbox.rows import Row, Work
from pipeline.outbox.schema import table_schema

PROTOCOL: Final = 1
"""The number of this form of messages; head and worker must have the same."""
_NESTED: Final = {"sections": Section, "hidden": Hidden, "images": Picture, "unseen": Unseen}
_HEADS: Final = ("document", "path", "parent", "size")
"""The columns that the head knows and a worker does not: of how a document came."""
NAMELESS: Final = Arrival("", "", 0)
"""What a worker knows of how a document came."""


def format_parsed(parsed: Parsed) -> dict[str, Any]:
    """The message for a document that was read."""
    return {name: _plain(value) for name, value in vars(parsed).items() if name in Parsed.__dataclass_fields__}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [asdict(one) if hasattr(one, "__dataclass_fields__") else one for one in value]
    return value


def parse_parsed(message: Mapping[str, Any]) -> Parsed:
    """The document that the head describes: its worker believes it."""
    made = {name: tuple(value) if isinstance(value, list | tuple) else value for name, value in message.items()}
    for name, kind in _NESTED.items():
        made[name] = tuple(kind(**one) for one in made[name])
    made["members"] = tuple(_member(one) for one in made["members"])
    return Parsed(**made)


def _member(one: Mapping[str, Any]) -> Member:
    failure = one["failure"]
    return Member(**{**one, "failure": None if failure is None else Failure(failure)})


def format_works(works: Sequence[Work]) -> list[dict[str, Any]]:
    """The message for documents that are to be answered."""
    return [{"seconds": work.seconds, "parsed": format_parsed(work.parsed)} for work in works]


def parse_works(message: Sequence[Mapping[str, Any]]) -> list[Work]:
    """The documents that a worker is to answer."""
    return [Work(NAMELESS, parse_parsed(one["parsed"]), float(one["seconds"])) for one in message]


def format_rows(rows: Sequence[Row]) -> bytes:
    """The message for rows: an Arrow stream of the columns of results."""
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=table_schema())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def parse_rows(message: bytes, works: Sequence[Work]) -> list[Row]:
    """The rows of these documents, with the columns that the head knows. BadWorkerError for anything else: a worker may
    have been taken over."""
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
