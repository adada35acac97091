"""Undo and redo at start: afterwards the workspace is as if the last run had ended between two commits."""

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pipeline.outbox.deletion import delete
from pipeline.outbox.placement import move_reports, place
from pipeline.plan import Site
from pipeline.records.entries import read_entries
from pipeline.records.history import History, read_history
from pipeline.records.journal import Journal, cut_record, open_journal
from pipeline.records.private import refuse_closed, remove_unused_openings
from pipeline.records.requests import ids_of, remove
from pipeline.records.types import Deleted, Placed, Record, RecoveredCut, RecoveredUndone


def recover(site: Site, log: Journal, history: History) -> list[Record]:
    """Redo committed parts that may not be in place, undo what was staged and never committed; the records of it."""
    records: list[Record] = [*cut_record(log)]
    for part, documents in history.unplaced.values():
        for entry in documents:
            refuse_closed(site.root, entry)
        place(site, part, documents)
        remove(site, ids_of(documents))  # they are in the log: what is met again after this was put there again
        records.append(Placed(run=part.run, job=part.job, file=part.file))
    with contextlib.suppress(OSError):  # a report keeps nobody from working: verify tells that it is not there
        move_reports(site.root, history.unmoved)
    for number, record in history.deletions.items():
        delete(site, record)
        records.append(Deleted(deletion=number))
    remove_unused_openings(site.root, history.openings)
    site.at_rest.tidy()
    removed = clear_staging(*site.root.glob("outbox/*"), *site.root.glob("archive/*"))
    if removed:
        records.append(RecoveredUndone(files=removed))
    return records


@contextlib.contextmanager
def recovered_log(site: Site, wait: float = 0) -> Iterator[Journal]:
    """The log's writer for something that is no run, when everything before it is in place. audit.AuditError; of them
    LogHeld only after so many seconds."""
    with open_journal(site, wait) as log:
        records = recover(site, log, read_history(read_entries(site), "", ""))
        if records:
            log.commit(records)
        yield log


def clear_staging(*folders: Path) -> int:
    """Remove what waits in the .staging/ of these folders; how many files that were."""
    stagings = [folder / ".staging" for folder in folders if (folder / ".staging").is_dir()]
    files = sum(1 for staging in stagings for path in staging.rglob("*") if path.is_file())
    for staging in stagings:
        shutil.rmtree(staging)
    return files


def describe(records: Sequence[Record], cut_off: Mapping[str, int] | None) -> str:
    """One line for the operator about what was recovered, and what the run that was cut off had done."""
    said = [_told(record) for record in records]
    if cut_off is not None:
        states = ", ".join(f"{count} {state}" for state, count in sorted(cut_off.items()))
        said.insert(0, f"the run before was cut off, with {states or 'nothing'} committed")
    return "; ".join(said)


def _told(record: Record) -> str:
    match record:
        case RecoveredCut():
            return f"cut {record.bytes} bytes of an interrupted commit from the log"
        case Placed():
            return f"put {record.file} in place"
        case Deleted():
            return f"ended the deletion of entry {record.deletion}"
        case RecoveredUndone():
            return f"removed {record.files} staged files that were never committed"
    raise TypeError(f"a start recovers no {record.type}")
