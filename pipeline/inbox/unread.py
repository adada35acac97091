"""Files whose bytes were not read, because of their size or their mode: known by how they lie, and left there.

Such a file stays in the input folder, so that nothing of its size is copied, and gets one row, without a sha256: that
would have to be read. Its entry has a digest of what the file system says of the file instead (`unread`). As long as
that is the same, later runs leave the file alone; `retry` takes it up, as does a change of its bytes, its times, its
mode, the user who runs, or, for a size, of the limit.
"""

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from pipeline.errors import DocumentError, Failure
from pipeline.inbox.discover import Candidate, Scan
from pipeline.inbox.intake import Again
from pipeline.inbox.order import Source
from pipeline.records.dispositions import Unread
from pipeline.text.visible import shown

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
