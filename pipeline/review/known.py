"""Here stands what a process knows of jobs while it takes decisions: read once, and then only what came since.

A page on which people decide takes hundreds of decisions in one process, and a log has thousands of entries. Kept is
the history of each job with the size and the root of the log that it is of, so that a log that was put back to an
earlier state is read anew. Of a log with entries of private jobs nothing is kept: what opens them may be gone tomorrow.
"""

import threading
from dataclasses import dataclass

import audit
from pipeline.plan import Site
from pipeline.records.entries import fold, read_entries
from pipeline.records.history import History
from pipeline.records.index import history_of

_JOBS = 16  # of which the history is kept


@dataclass(frozen=True)
class _Kept:
    history: History
    size: int
    root: bytes


class Known:
    """The histories of jobs; one at a time may ask."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str], _Kept] = {}
        self._lock = threading.Lock()

    def history(self, site: Site, job: str) -> History:
        """The history of a job, for what hangs on no settings, up to the last entry. audit.AuditError."""
        key = str(site.audit), site.public_key, job
        with self._lock:
            kept = self._kept.pop(key, None)
            size = audit.read_checkpoint(site.audit, site.public_key).size
            if kept is None or not _is_of(site, kept, size):
                history = history_of(site, size, job)
            else:
                history = kept.history
                if size > kept.size:
                    fold((entry for entry in read_entries(site, kept.size) if entry.n < size), history)
            if not history.openings:
                while len(self._kept) >= _JOBS:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[key] = _Kept(history, size, audit.root_of(site.audit, site.public_key, size))
        return history


def _is_of(site: Site, kept: _Kept, size: int) -> bool:
    try:
        return kept.size <= size and audit.root_of(site.audit, site.public_key, kept.size) == kept.root
    except LookupError:
        return False


KNOWN = Known()
"""What this process knows."""
