"""Room on the disks: looked for before a run and before each part, and a little kept back for the log.

state/reserve is a file of RESERVE bytes that nobody reads. When a disk is full it is removed, so that there is room to
log that the run was stopped; the next run makes it anew, and starts only if it can.
"""

import contextlib
import errno
import os
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import audit
from pipeline.inbox.order import Source
from pipeline.plan import RunPlan, Site
from pipeline.records.entries import read_entries
from pipeline.records.journal import cut_record, open_journal
from pipeline.records.types import RunStopped

RESERVE = 4 << 20
MARGIN = 32 << 20  # bytes that stay free on each disk
_ROW = 8 << 10  # what a row takes beside its text: its entry, and the blocks in which its small files end
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def look_before_run(plan: RunPlan, sources: Sequence[Source]) -> None:
    """OSError (ENOSPC) unless the documents of a first part fit in: a copy of each, its text, its row."""
    if not sources:
        return
    first = sources[: plan.part_documents]
    copied = (source.size for source in first if source.size <= plan.site.max_document_bytes)
    size, rows = sum(copied), len(first) * _ROW
    _look("a part", {plan.archive: 2 * size + rows, plan.outbox: size + rows, plan.site.audit: rows})


def look_before_part(plan: RunPlan, rows: int, table_bytes: int) -> None:
    """OSError (ENOSPC) unless so many rows fit in, with their table, Markdown and entries."""
    _look(f"a part of {rows:,} documents", {plan.outbox: 2 * table_bytes + rows * _ROW, plan.site.audit: rows * _ROW})


def _look(what: str, needs: Mapping[Path, int]) -> None:
    """Folders on one disk need their room together; one that is not there yet will be where the one above it is."""
    disks: dict[int, list[tuple[Path, int]]] = defaultdict(list)
    for folder, size in needs.items():
        there = next(path for path in (folder, *folder.parents) if path.exists())
        disks[there.stat().st_dev].append((there, size))
    for wanted in disks.values():
        there, need = wanted[0][0], sum(size for _, size in wanted) + MARGIN
        if shutil.disk_usage(there).free < need:
            fact = f"{what} needs {need / 2**20:,.1f} MiB of room, {MARGIN >> 20} of them as a reserve"
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: {fact}", str(there))


def hold_reserve(site: Site) -> None:
    """Make the reserve, if it is not there. OSError where there is no room for it."""
    path = _reserve(site)
    if path.is_file() and path.stat().st_blocks * 512 >= RESERVE:
        return
    path.parent.mkdir(exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(file, 0, RESERVE)
    except OSError as error:
        path.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(file)


def release_reserve(site: Site) -> bool:
    """Give its room back; whether there was one."""
    try:
        _reserve(site).unlink()
    except OSError:
        return False
    return True


def log_full(plan: RunPlan, run: str, error: Exception) -> None:
    """If that was a full disk: log that it stopped the run, in the room that was kept back. Never raises for a disk.

    The run has let the log go. A run that is tried again and again is logged once as long as nothing else happens.
    """
    cause = error.__cause__ if isinstance(error, audit.AuditError) else error
    if not isinstance(cause, OSError) or cause.errno not in _FULL or not release_reserve(plan.site):
        return
    stopped = RunStopped(run=run, job=plan.job, reason="no_space", where=_shown(plan, cause))
    with contextlib.suppress(OSError, audit.AuditError), open_journal(plan.site) as log:
        cut = [record.made_by(run, plan.job) for record in cut_record(log)]
        if cut or not _is_last(plan.site, log.next_index, stopped):
            log.commit([*cut, stopped])


def _is_last(site: Site, size: int, stopped: RunStopped) -> bool:
    last = next(read_entries(site, size - 1), None) if size else None
    return isinstance(last, RunStopped) and replace(last, run=stopped.run) == stopped


def _shown(plan: RunPlan, error: OSError) -> str:
    """Where there was no room: below the workspace, if it was there. Of a private job no file is named."""
    place = Path(os.fsdecode(error.filename)) if error.filename else plan.site.root
    if not place.is_relative_to(plan.site.root):
        return str(place.anchor if plan.private else place)
    below = place.relative_to(plan.site.root)
    return str(Path(*below.parts[:1]) if plan.private else below)


def _reserve(site: Site) -> Path:
    return site.state / "reserve"
