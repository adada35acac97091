"""The rows that hold: of several for one document the last one, read from the parts in outbox/."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipeline.plan import Site
from pipeline.schema import to_text


def results(site: Site, job: str | None = None) -> Iterator[dict[str, Any]]:
    """Rows as plain values with `job` beside the columns of the table, by job and path.

    Reads two narrow columns of every part first, so that memory grows with the number of documents, not of words.
    """
    for folder in sorted(path for path in (site.root / "outbox").glob("*") if path.is_dir()):
        if job in (None, folder.name):
            yield from _of_job(folder)


def _of_job(folder: Path) -> Iterator[dict[str, Any]]:
    parts = sorted(folder.glob("part-*.parquet"))
    holds = _last_rows(parts)
    rows = [row | {"job": folder.name} for part in parts for row in _rows(part) if row["audit_index"] in holds]
    yield from sorted(rows, key=lambda row: str(row["path"]))


def _last_rows(parts: list[Path]) -> set[int]:
    """The log entry of the last row of each document; a duplicate's row stands for its path."""
    last: dict[tuple[str, str], int] = {}
    for part in parts:
        for row in pq.read_table(part, columns=["document", "path", "state", "audit_index"]).to_pylist():
            own = row["document"] is not None and row["state"] != "duplicate"
            key = ("document", row["document"]) if own else ("path", row["path"])
            last[key] = max(row["audit_index"], last.get(key, -1))
    return set(last.values())


def _rows(part: Path) -> Iterator[dict[str, Any]]:
    for batch in pq.ParquetFile(part).iter_batches(batch_size=256):
        for row in batch.to_pylist():
            yield row | {"finished_at": to_text(row["finished_at"])}
