"""Find what a run takes (settled new files, or failed documents again), and what it leaves where it lies, and why."""

import errno
import hashlib
import os
import time
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pipeline.errors import DocumentError, Failure
from pipeline.inbox.batches import Comparing, Sightings
from pipeline.inbox.discover import Candidate, Scan, scan
from pipeline.inbox.intake import INSIDE, Again
from pipeline.inbox.order import Source
from pipeline.paths.names import ranker
from pipeline.plan import Input, RunPlan
from pipeline.records.history import History
from pipeline.records.register import Disposition, Unread
from pipeline.records.types import RerunAsked
from pipeline.report import Observer, Rerunning
from pipeline.states import State
from pipeline.text.visible import shown

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


def again(
    history: History, classes: Collection[Failure], left: Container[tuple[str, str]] = frozenset()
) -> tuple[Again, ...]:
    """The documents of the job whose last row is a failure of one of `classes`, by path, but for those in a container
    (sha256, path) of `left`.

    Those that were not read when they came still lie in the input folder. A name that was refused would be
    refused again.
    """
    found = [
        (path, Again(before.raw, before.size, document, before.parent))
        for (document, path), before in history.failed.items()
        if before.failure in classes
        and before.failure != Failure.NAME_REFUSED
        and (before.parent, path.rpartition(INSIDE)[0]) not in left
    ]
    return tuple(source for _, source in sorted(found, key=lambda one: one[0]))


SETTLING = "it may still be written to"  # for how long it has been still is another number each time
STOPPED = "the run was stopped before its turn"
WINDOW_CLOSED = "the window of the run closed before its turn"


def of_scan(found: Scan) -> Iterator[Disposition]:
    """The files that a scan found and does not hand on: ignored, still settling, held back by a manifest."""
    yield from ((State.IGNORED.value, reason, path) for path, reason in found.ignored)
    yield from ((State.PENDING.value, SETTLING, path) for path, _ in found.settling)
    yield from ((State.PENDING.value, reason, path) for path, reason in found.held)


def of_stop(sources: Sequence[Source], why: str) -> Iterator[Disposition]:
    """The files whose turn did not come before the run ended."""
    return ((State.PENDING.value, why, shown(source.path)) for source in sources)


# A file that was not read because of its size or its mode stays in the input folder and gets one row, without a sha256.
# Its entry has a digest of what the file system says of it instead (`unread`). While that stays the same, later runs
# leave the file alone; `retry` takes it up, as does a change of its bytes, times or mode, the user, or the limit.

_STAYING = (Failure.UNREADABLE, Failure.TOO_LARGE)


def digest_of(candidate: Candidate) -> str:
    """A sha256 over path, size, times, inode and mode of a file, and over who looks at it."""
    facts = (candidate.size, candidate.mtime_ns, candidate.ctime_ns, candidate.inode, candidate.mode, os.geteuid())
    return hashlib.sha256(b"\0".join([os.fsencode(candidate.path), *(b"%d" % fact for fact in facts)])).hexdigest()


def digest_for(source: object, error: DocumentError) -> str | None:
    """The digest that the entry of a failure gives for the file; None where there is none, or it may be another file
    next time."""
    return digest_of(source) if isinstance(source, Candidate) and error.failure in _STAYING else None


def refuse_size(source: Source, limit: int, where: str) -> None:
    """DocumentError (TOO_LARGE) before anything is copied; `where` is its folder, for people."""
    if source.size > limit:
        place = "failed/" if isinstance(source, Again) else f"{where}/{shown(source.path)}"
        fact = f"it has {source.size} bytes; limits.document_mib allows {limit}"
        raise DocumentError(Failure.TOO_LARGE, f"{fact}; it was not read, and lies where it lay: {place}")


def set_aside(found: Scan, unread: Mapping[str, Unread], limit: int) -> Scan:
    """The scan with those that failed before, and still lie there as they did, among the ignored."""
    if not unread:
        return found
    kept = {candidate: reason for candidate in found.ready if (reason := _reason(candidate, unread, limit))}
    ready = tuple(candidate for candidate in found.ready if candidate not in kept)
    ignored = ((shown(candidate.path), reason) for candidate, reason in kept.items())
    return replace(found, ready=ready, ignored=(*found.ignored, *ignored))


def taken_up(found: Scan, unread: Mapping[str, Unread], classes: Collection[Failure]) -> Iterator[Candidate]:
    """Yield the files of a scan that failed before, in one of `classes`."""
    for candidate in found.ready:
        before = unread.get(shown(candidate.path))
        if before and before[1] in classes:
            yield candidate


def _reason(candidate: Candidate, unread: Mapping[str, Unread], limit: int) -> str | None:
    digest, failure = unread.get(shown(candidate.path), ("", ""))
    if digest != digest_of(candidate) or (failure == Failure.TOO_LARGE and candidate.size <= limit):
        return None
    return f"failed before as {failure}, and is as it was; cloister retry takes it up again"
