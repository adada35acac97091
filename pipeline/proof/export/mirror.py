"""The records of an export as a Parquet table: the members that most records have as columns, and each whole entry."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

_TEXTS = (
    "type", "run", "job", "host", "user", "document", "path", "parent", "media_type", "state", "failure", "reason",
    "model", "model_sha256", "job_digest", "parser", "text_sha256", "result_sha256", "part", "file",
)  # fmt: skip
_INTEGERS = ("n", "uptime_us", "size", "pages", "row", "rows", "tokens", "supersedes")
SCHEMA = pa.schema(
    [
        pa.field("time", pa.timestamp("us", tz="UTC")),
        *(pa.field(name, pa.int64()) for name in _INTEGERS),
        *(pa.field(name, pa.string()) for name in _TEXTS),
        pa.field("entry", pa.string(), metadata={"what": "the whole record, canonical JSON"}),
    ],
    metadata={"cloister.records": "1"},
)
_BATCH = 4096


class Mirror:
    """Writes records.parquet. A member that is not of its column's type is in `entry` alone."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self._flush()
        self._writer.close()

    def add(self, entry: Mapping[str, Any], line: bytes) -> None:
        """One record; `line` is its canonical form."""
        row: dict[str, Any] = {"time": datetime.fromisoformat(entry["time"]), "entry": line.decode()}
        row |= {name: entry[name] for name in _TEXTS if type(entry.get(name)) is str}
        row |= {name: entry[name] for name in _INTEGERS if type(entry.get(name)) is int}
        self._rows.append(row)
        if len(self._rows) == _BATCH:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=SCHEMA))
        self._rows = []
