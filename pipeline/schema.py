"""The result table: one row a document, the same columns in Parquet, `--json` and Markdown."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

import audit
from pipeline.tasks import EVIDENCE, TASKS, Settings

VERSION = 1
BY_PATH = "cloister.copies"
"""The key of a table's metadata that is there where a document at another path is another document."""

_INPUT = (
    pa.field("document", pa.string()),
    pa.field("path", pa.string()),
    pa.field("parent", pa.string()),
    pa.field("size", pa.int64()),
    pa.field("media_type", pa.string()),
    pa.field("encoding", pa.string()),
    pa.field("encoding_confidence", pa.float64()),
    pa.field("language", pa.string()),
    pa.field("pages", pa.int32()),
    pa.field("state", pa.string()),
    pa.field("failure", pa.string()),
    pa.field("reason", pa.string()),
    pa.field("notes", pa.list_(pa.string())),
    pa.field("hidden", pa.list_(pa.struct([pa.field("kind", pa.string()), pa.field("characters", pa.int64())]))),
    pa.field("duplicate_of", pa.string()),
    pa.field("supersedes", pa.int64()),
)
_CHUNK = pa.struct(
    [
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
        pa.field("tokens", pa.int32()),
        pa.field("passages", pa.int32()),
        pa.field("context_start", pa.int64()),
    ]
)
_ORIGIN = (
    pa.field("evidence", pa.list_(EVIDENCE)),
    pa.field("chunks", pa.list_(_CHUNK)),
    pa.field("model_sha256", pa.string()),
    pa.field("numerics", pa.string()),
    pa.field("job_digest", pa.string()),
    pa.field("parser", pa.string()),
    pa.field("text_sha256", pa.string()),
    pa.field("software", pa.string()),
)
_RUN = (
    pa.field("run", pa.string()),
    pa.field("audit_index", pa.int64()),
    pa.field("tokens", pa.int64()),
    pa.field("seconds", pa.float64()),
    pa.field("finished_at", pa.timestamp("ms", tz="UTC")),
)
RUN_COLUMNS = frozenset(f.name for f in _RUN)
"""The columns that may differ between two runs over the same documents."""


def schema(task: Settings, by_path: bool = False) -> pa.Schema:
    """The table of a job with this task; `by_path`: copies of a document have rows of their own (BY_PATH says so)."""
    columns = next(kind.columns for kind in TASKS.values() if isinstance(task, kind.settings))
    about = {"cloister.table": str(VERSION), **({BY_PATH: "1"} if by_path else {})}
    return pa.schema([*_INPUT, *columns, *_ORIGIN, *_RUN], metadata=about)


def as_read_back(row: Mapping[str, Any], task: Settings) -> dict[str, Any]:
    """The row as the table gives it back."""
    read: dict[str, Any] = pa.Table.from_pylist([row], schema=schema(task)).to_pylist()[0]
    return read


def to_text(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds: a timestamp where there are only strings, in the log and in JSON."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def result_sha256(row: Mapping[str, Any]) -> str:
    """sha256 of the canonical JSON of the row as the table gives it back, without the columns of the run.

    `supersedes` is left out too: it depends on what was there before, not on the document.
    """
    result = {name: value for name, value in row.items() if name not in RUN_COLUMNS and name != "supersedes"}
    return hashlib.sha256(audit.canonical(result)).hexdigest()
