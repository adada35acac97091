"""Find what a run takes: files of the input folder that are settled and new, or failed documents that are taken up
again."""

import errno
import os
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pipeline.inbox.batches import Comparing
from pipeline.inbox.discover import Candidate, Scan, scan
from pipeline.inbox.order import Source
from pipeline.inbox.retry import again
from pipeline.inbox.sightings import Sightings
from pipeline.inbox.unread import set_aside, taken_up
from pipeline.paths.patterns import ranker
from pipeline.plan import Input, RunPlan
from pipeline.records.history import History
from pipeline.records.types import RerunAsked
from pipeline.report import Observer, Rerunning

_PATIENCE = 15.0  # seconds that a run waits for files to become still: others wait for the workspace meanwhile

LARGE: Final = 256 << 10
"""Bytes of a document for which others, if they are small, do not wait."""
_STEPS_BACK = 900 * 10**9  # nanoseconds for each LARGE bytes

Stop = Callable[[], bool]


@dataclass(frozen=True)
class Found:
    """A scan of the input folder, and the documents that the run takes, in their order. Of a rerun `asked` and `told`
    say what it was asked for and what it takes; its scan has only what it leaves."""

    scan: Scan
    sources: Sequence[Source]
    asked: RerunAsked | None = None
    told: Rerunning | None = None


def check_inbox(source: Input) -> None:
    """Raise PermissionError where documents have to be moved out of the input folder, and cannot be."""
    if source.afterwards == "archive" and not os.access(source.folder, os.W_OK | os.X_OK):
        remedy = "documents cannot be moved out of it; allow writing, or set input.afterwards to keep"
        raise PermissionError(errno.EACCES, remedy, str(source.folder))


def find(
    plan: RunPlan, history: History, lost: Container[tuple[str, str]], observer: Observer, stop: Stop,
    sightings: Sightings,
) -> Found:  # fmt: skip
    """Scan the input folder. A retry takes failed documents instead, but for those in a container (sha256, path) of
    `lost`, whose rows are gone."""
    if plan.retry is not None:
        unread = taken_up(scan(plan.input, sightings=sightings), history.unread, plan.retry)
        return Found(Scan((), (), (), ()), (*again(history, plan.retry, lost), *unread))
    comparing = Comparing(lambda path, sha256: (path, sha256) in history.paths, stop)
    look = partial(scan, plan.input, sightings=sightings, comparing=comparing)
    found = _wait_until_still(look, plan.input.settle_seconds, observer, stop)
    found = set_aside(found, history.unread, plan.site.max_document_bytes)
    return Found(found, (oldest_first if plan.until else smallest_first)(found.ready, plan.input.priority))


def smallest_first(ready: Sequence[Candidate], priority: Sequence[str]) -> Sequence[Candidate]:
    """Documents of the same priority by classes of size, the smallest first, so that no small one waits for a large
    one; files of the same bytes stay in their order."""
    rank = ranker(priority)
    return sorted(ready, key=lambda each: (rank(each.path), (each.size // LARGE).bit_length()))


def oldest_first(ready: Sequence[Candidate], priority: Sequence[str]) -> Sequence[Candidate]:
    """Documents of the same priority in the order in which they were last written, so that what a window leaves is
    first in the next one; a large one lets those before it that came a while after it: the longer, the larger it is."""
    rank = ranker(priority)
    return sorted(ready, key=lambda each: (rank(each.path), each.mtime_ns + each.size // LARGE * _STEPS_BACK))


def _wait_until_still(look: Callable[[], Scan], seconds: float, observer: Observer, stop: Stop) -> Scan:
    """Scan; when files were touched a moment ago, give them time to become still, but no more than _PATIENCE."""
    found = look()
    patience = min(seconds + 0.1, _PATIENCE)
    deadline = time.monotonic() + patience
    if found.changing:
        observer.note("waiting until files are still", files=found.changing, at_most_seconds=round(patience, 1))
    while found.changing and time.monotonic() < deadline and not stop():
        time.sleep(min(0.5, seconds))
        found = look()
    if found.held_open:
        observer.note("files are held open by a writer", files=len(found.held_open))
    return found
