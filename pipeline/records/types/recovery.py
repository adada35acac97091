"""Records of what was found at a start or beside the log: interrupted commits, foreign files, a clock that was set."""

from pipeline.records.types.base import Record, kind


@kind("recovered.cut", "what an interrupted commit left behind the log was cut")
class RecoveredCut(Record):
    """How many bytes, entries and files there were behind the checkpoint."""

    bytes: int
    entries: int
    files: int


@kind("recovered.undone", "staged files that were never committed were removed")
class RecoveredUndone(Record):
    """How many files were removed."""

    files: int


@kind("handover.refused", "what lay in state/handover/ was no record that may be handed over")
class HandoverRefused(Record):
    """The name and owner of the file, why it was refused, and the name under which it is kept (earlier
    versions did not say it)."""

    file: str
    owner: str
    reason: str
    kept: str = ""


@kind("clock.stepped", "the clock was set since the entry of `before`")
class ClockStepped(Record):
    """The clock was set by so many seconds since the entry before, whose time this is."""

    seconds: float
    before: str
