"""The result table: one row a document, the same columns for all jobs and in Parquet and `--json`."""

import hashlib
import secrets
from datetime import datetime
from functools import cache
from typing import Any

import pyarrow as pa

import audit
from pipeline.document import Row
from pipeline.tasks import EVIDENCE, TASKS, Task, name_of

VERSION = 3
"""1 had the columns of one task, and neither `job`, `task` nor `replaces`; 2 had no `review`."""
COPIES = "cloister.copies"
"""The key of the metadata of a table of version 1 whose job answered a document at another path as another one."""

SALT = "cloister.salt"
"""The key of a private job's table's metadata whose value is random. Without the table nobody can make its sha256,
which the log has, from rows that he guesses."""

_TEXT, _COUNT, _SMALL, _REAL = pa.string(), pa.int64(), pa.int32(), pa.float64()
_HIDDEN = pa.struct([("kind", _TEXT), ("characters", _COUNT)])
_CHUNK = pa.struct([
    ("start", _COUNT), ("end", _COUNT), ("tokens", _SMALL), ("passages", _SMALL), ("context_start", _COUNT),
])  # fmt: skip
_REVIEW = pa.struct([("action", _TEXT), ("by", _TEXT), ("reason", _TEXT), ("of", _COUNT)])
_INPUT = (
    ("job", _TEXT), ("task", _TEXT), ("document", _TEXT), ("path", _TEXT), ("parent", _TEXT), ("size", _COUNT),
    ("media_type", _TEXT), ("encoding", _TEXT), ("encoding_confidence", _REAL), ("language", _TEXT), ("pages", _SMALL),
    ("state", _TEXT), ("failure", _TEXT), ("reason", _TEXT), ("notes", pa.list_(_TEXT)), ("hidden", pa.list_(_HIDDEN)),
    ("duplicate_of", _TEXT), ("supersedes", _COUNT), ("review", _REVIEW),
)  # fmt: skip
_ORIGIN = (
    ("evidence", pa.list_(EVIDENCE)), ("chunks", pa.list_(_CHUNK)), ("model_sha256", _TEXT), ("numerics", _TEXT),
    ("job_digest", _TEXT), ("parser", _TEXT), ("text_sha256", _TEXT), ("software", _TEXT),
)  # fmt: skip
_RUN = (
    ("run", _TEXT), ("audit_index", _COUNT), ("replaces", pa.list_(_COUNT)), ("tokens", _COUNT), ("seconds", _REAL),
    ("finished_at", pa.timestamp("ms", tz="UTC")),
)  # fmt: skip
RUN_COLUMNS = frozenset(name for name, _ in _RUN)
"""The columns that may differ between two runs over the same documents."""
_NO_RESULT = RUN_COLUMNS | {"supersedes", "job", "task"}


def table_schema() -> pa.Schema:
    """The table of every job, so that parts of all jobs can be read together: in a row the columns of other tasks than
    its own are null."""
    answers = [column for kind in TASKS.values() for column in kind.columns]
    return pa.schema([*_INPUT, *answers, *_ORIGIN, *_RUN], metadata={"cloister.table": str(VERSION)})


def salted(table: pa.Table) -> pa.Table:
    """The table with a new salt of 32 bytes."""
    salt = {SALT.encode(): secrets.token_hex(32).encode()}
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **salt})


def as_read_back(row: Row, task: Task) -> Row:
    """The row as the table gives it back."""
    return Row(pa.Table.from_pylist([row.having(task=name_of(task))], schema=table_schema()).to_pylist()[0])


def to_text(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds: a timestamp where there are only strings, in the log and in JSON."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def result_columns(row: Row) -> dict[str, Any]:
    """The columns of a row that the document, the settings and the software determine.

    Not those of the run; not `supersedes`, which depends on what was there before; not `review` where nobody decided
    the row; and where a row names its task, not what is null because it is a column of another one: so a row has the
    same columns whatever tasks there will be.
    """
    others = {name for name in _columns_of_others(row.task or "", tuple(TASKS)) if row.get(name) is None}
    if row.decided is None:
        others.add("review")
    return {name: value for name, value in row.items() if name not in _NO_RESULT and name not in others}


@cache
def _columns_of_others(task: str, tasks: tuple[str, ...]) -> frozenset[str]:
    """The columns that only others of the tasks than this one have; none where it is none of them."""
    names = {name: {column.name for column in TASKS[name].columns} for name in tasks}
    every = frozenset[str]().union(*names.values())
    return every - names.get(task, every)


def result_sha256(row: Row) -> str:
    """sha256 of the canonical JSON of `result_columns` of the row as the table gives it back."""
    return hashlib.sha256(audit.canonical(result_columns(row))).hexdigest()
