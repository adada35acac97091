"""Rows of results are written as a table beside which their documents can be found."""

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pipeline.document import Row
from pipeline.outbox.placement import archive_folder
from pipeline.outbox.tables import FORMATS
from pipeline.outbox.tables.base import Line
from pipeline.outbox.tables.flat import Layout
from pipeline.paths.names import archive_name, failed_apart, failed_name
from pipeline.plan import Site
from pipeline.states import State
from pipeline.tasks import Task
from pipeline.text.visible import shown


def write_table(site: Site, rows: Callable[[], Iterable[Row]], out: Path, task: Task | None = None) -> int:
    """Write rows, of which `rows` gives the same each time, to a file whose name says the format; how many there were.
    The columns are those of a job that has `task`, or of the settings that made the rows where nobody knows it.

    The file is there whole or not at all, and takes the place of one of its name. ValueError for an ending that is
    none of FORMATS, TableRefusedError for a table that the format cannot hold, OSError.
    """
    ending = out.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"no table is written as {out.suffix or 'a file without an ending'}")
    layout = (task and Layout.of_task(task)) or Layout.of_rows(rows())
    staged = out.with_name(f".{secrets.token_hex(8)}.{ending}")
    try:
        count = FORMATS[ending](staged, layout.columns(), _lines(site, layout, rows(), out.parent))
        staged.rename(out)
    finally:
        staged.unlink(missing_ok=True)
    return count


def _lines(site: Site, layout: Layout, rows: Iterable[Row], beside: Path) -> Iterator[Line]:
    for row in rows:
        original = original_of(site.root, row.job, row.path, row.document, row.state)
        link = None if original is None else os.path.relpath(original.absolute(), beside.absolute())
        yield layout.line(row, link)


def original_of(root: Path, job: str, path: str, sha256: str | None, state: str) -> Path | None:
    """The bytes of a row's document in archive/, or of a failed one in failed/; None where they are gone."""
    if state == State.FAILED:
        named = (_named(root / "failed" / job, name) for name in (failed_apart(path, sha256), failed_name(path)))
        return next((file for file in named if file and file.is_file()), None)
    folder = archive_folder(root, job, str(sha256)) / "bytes"
    if (named_so := folder / archive_name(path)).is_file():
        return named_so
    return next((file for file in sorted(folder.glob("*")) if file.is_file()), None) if folder.is_dir() else None


def _named(folder: Path, path: str) -> Path | None:
    """The file at a path that is written as people read it, where names may have bytes that are no UTF-8."""
    for part in path.split("/"):
        if not (folder / part).exists():
            there = folder.iterdir() if "\\" in part and folder.is_dir() else ()
            part = next((each.name for each in there if shown(each.name) == part), part)
        folder /= part
    return folder if folder.exists() else None
