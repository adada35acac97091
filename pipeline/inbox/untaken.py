"""A run leaves files where they lie: which, and with what reason, for the log (records/dispositions.py)."""

from collections.abc import Iterator, Sequence

from pipeline.inbox.discover import Scan
from pipeline.inbox.order import Source
from pipeline.records.dispositions import Disposition
from pipeline.states import State
from pipeline.text.visible import shown

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
