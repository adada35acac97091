"""Tables of results as they were written before rows named their job, their task and the rows that they replace."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.outbox.schema import COPIES, table_schema
from pipeline.tasks import TASKS

NOW = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
NEW = ("job", "task", "replaces")


def old_schema(task: str = "classify", copies: bool = False) -> pa.Schema:
    """Version 1: the columns of one task."""
    others = {column.name for name, kind in TASKS.items() if name != task for column in kind.columns}
    metadata = {"cloister.table": "1", **({COPIES: "1"} if copies else {})}
    return pa.schema([f for f in table_schema() if f.name not in NEW and f.name not in others], metadata=metadata)


def write_part(path: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema | None = None) -> None:
    """A part with these columns; the others are null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.Table.from_pylist([{"finished_at": NOW, **row} for row in rows], schema=schema or table_schema()), path
    )
