"""The log as this package writes it: each commit also takes what was handed over, and says when the clock was set."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import audit
from pipeline.errors import MachineRefusedError, ModelRefusedError
from pipeline.plan import RunPlan, Site
from pipeline.records.entries import check_record, from_json, read_entries, recorded_entries
from pipeline.records.handover import Handover, folder_of, hand_over, waiting
from pipeline.records.nights import is_told
from pipeline.records.types import ClockStepped, Json, Record, RecoveredCut, RunRefused, VersionChanged
from pipeline.version import (
    VERSION_FILE,
    WorkspaceRefusedError,
    read_version,
    this_version,
    write_version,
)


class Writable(Protocol):
    """Anything that can be committed: a record, or the JSON of one that goes into the log as it is."""

    def to_json(self) -> Json:
        """The members that are committed."""


_LOOK_SECONDS = 0.25  # between two looks whether the log is free
_CLOCK_SECONDS = 2.0  # what is less may be a pause between two looks at the clocks


class Journal:
    """The log's writer, with what every commit takes along. Made by `open_journal`."""

    def __init__(self, site: Site) -> None:
        self._stamp = audit.stamp_now()
        self._log = audit.Log.open(
            site.audit,
            key_path=site.key_file,
            public_key=site.public_key,
            passphrase_path=site.passphrase_file,
            stamp=lambda: self._stamp,
        )
        self._handover = Handover(site)
        try:
            self._take_over(site)
            self._last = _last_stamp(site, self._log.next_index)
        except BaseException:
            self._log.close()
            raise

    @property
    def cut(self) -> audit.Cut | None:
        """The bytes and files that an interrupted commit had left, which are cut now."""
        return self._log.cut

    @property
    def next_index(self) -> int:
        """The number that the next entry will have."""
        return self._log.next_index

    def commit(self, records: Sequence[Writable]) -> int | None:
        """Commit the records, and after them what was handed over; the number of the first. None if there is nothing.

        AuditError.
        """
        self._stamp = audit.stamp_now()
        whole = [*records, *_steps(self._last, self._stamp), *self._handover.collect()]
        if not whole:
            return None
        first = self._log.commit([each.to_json() for each in whole])
        self._last = self._stamp
        self._handover.clear()
        return first

    def _take_over(self, site: Site) -> None:
        """Let version.json, and then the log, say that this version writes the workspace from now on.
        audit.LogUntrusted for a workspace that a newer version took over meanwhile; OSError."""
        try:
            written = read_version(site.root)
        except WorkspaceRefusedError as error:
            raise audit.LogUntrusted(VERSION_FILE, error.found, error.remedy) from error
        if written is None:
            with contextlib.suppress(OSError):  # of a version that wrote none, into a folder that is not to be written
                write_version(site.root)
            return
        now, before = this_version(), written.before
        if written.now != now:
            before = before or written.now
            write_version(site.root, before)
        if before is not None:
            last = _last(site, self._log.next_index)
            told = from_json(last) if last else None
            if not isinstance(told, VersionChanged) or told.after != now:
                self._log.commit([VersionChanged(before=before, after=now).to_json()])
            write_version(site.root)

    def rotate(self, key_file: Path, public_key: str, passphrase_file: Path | None) -> int:
        """Let the log's key hand over to another one, in an entry behind all that waits; its number. Whoever opens the
        log after that has to trust the other one. AuditError."""
        self.commit(cut_record(self))
        self._stamp = audit.stamp_now()  # each commit has its own
        n = self._log.rotate({"run": ""}, key_path=key_file, public_key=public_key, passphrase_path=passphrase_file)
        self._last = self._stamp
        return n

    def close(self) -> None:
        """Let go of the log."""
        self._log.close()


@contextlib.contextmanager
def open_journal(site: Site, wait: float = 0) -> Iterator[Journal]:
    """The log, held, as soon as nobody else holds it. What is handed over while it is being let go is taken up after
    that. AuditError; of them LogHeld only after so many seconds."""
    with contextlib.closing(_when_free(site, wait)) as journal:
        yield journal
    take_up(site)


def _when_free(site: Site, wait: float) -> Journal:
    deadline = time.monotonic() + wait
    while True:
        try:
            return Journal(site)
        except audit.LogHeld:
            if (left := deadline - time.monotonic()) <= 0:
                raise
        time.sleep(min(_LOOK_SECONDS, left))


def take_up(site: Site) -> None:
    """Commit what waits, if nobody holds the log: who holds it looks after letting it go, as here."""
    while names := waiting(site):
        try:
            with contextlib.closing(Journal(site)) as journal:
                journal.commit([])
        except audit.AuditError:
            return
        if not set(names) - set(waiting(site)):
            return


@dataclass(frozen=True)
class Recorded:
    """The fate of a record: entry `n`; or handed over to the one who holds the log; or neither, and `why`."""

    n: int | None = None
    handed: bool = False
    why: str | None = None


def record(site: Site, *facts: Record) -> Recorded:
    """Record what a command did, outside of runs. Never waits and never fails because of the log.

    Committed, all of them at once, where nobody holds the log; else left for the holder if it is one that may be handed
    over, else said why not. ValueError for a record that is not one of the table of types.
    """
    for each in facts:
        check_record(each.to_json())
    try:
        with open_journal(site) as journal:
            cut, first = cut_record(journal), journal.next_index
            try:
                journal.commit([*cut, *facts])
                return Recorded(n=first + len(cut))
            except audit.LogUnwritable as error:  # it may have happened all the same: handed over, it could be in twice
                return Recorded(why=str(error))
    except audit.LogUntrusted as error:
        return Recorded(why=str(error))
    except audit.AuditError as error:
        may_be = len(facts) == 1 and facts[0].HANDED
        return _handed_over(site, facts[0], str(error)) if may_be else Recorded(why=str(error))


def _handed_over(site: Site, facts: Record, why: str) -> Recorded:
    try:
        hand_over(site, facts)
    except OSError as error:
        return Recorded(why=f"{why}; nor can it be handed over: {folder_of(site)}: {error.strerror}")
    except (ValueError, audit.AuditError) as error:
        return Recorded(why=f"{why}; nor can it be handed over: {error}")
    take_up(site)  # the holder may have looked for the last time before
    return Recorded(handed=True)


def cut_record(journal: Journal) -> list[RecoveredCut]:
    """The record of what was cut at this start, if anything was."""
    if journal.cut is None:
        return []
    return [RecoveredCut(bytes=journal.cut.bytes, entries=journal.cut.entries, files=journal.cut.files)]


@dataclass(frozen=True)
class ClockSeen:
    """The clock against the last entry of the log, whose time is `last`. `behind`: seconds by which the clock is behind
    it, 0 if it is not. `stepped`: seconds by which the clock was set since then, 0 if it was not; known within one
    start of the machine only."""

    last: str
    behind: float
    stepped: float


def look_at_clock(site: Site, now: audit.Stamp) -> ClockSeen | None:
    """Hold the clocks `now` against the last entry; None if there is none. Nothing is locked. AuditError."""
    last = _last_stamp(site, audit.read_checkpoint(site.audit, site.public_key).size)
    if last is None:
        return None
    steps = _steps(last, now) if last.boot == now.boot else []
    behind = max(0.0, -_seconds(last.time, now.time))
    return ClockSeen(last.time, behind, steps[0].seconds if steps else 0.0)


def _last(site: Site, size: int) -> Mapping[str, Any] | None:
    """The last entry of a log of `size` entries, as the log has it."""
    return next((said for _, said in recorded_entries(site, size - 1)), None) if size else None


def _last_stamp(site: Site, size: int) -> audit.Stamp | None:
    last = _last(site, size)
    return audit.Stamp(**{name: last[name] for name in _STAMP}) if last else None


_STAMP = audit.Stamp.__dataclass_fields__


def _steps(last: audit.Stamp | None, now: audit.Stamp) -> list[ClockStepped]:
    """Whether the clock was set since the last entry: within one boot against the uptime, else where it went back."""
    if last is None:
        return []
    seconds = _seconds(last.time, now.time)
    if last.boot == now.boot:
        seconds -= (now.uptime_us - last.uptime_us) / 1e6
    if (last.boot == now.boot and abs(seconds) > _CLOCK_SECONDS) or (last.boot != now.boot and seconds < 0):
        return [ClockStepped(seconds=round(seconds, 3), before=last.time)]
    return []


def _seconds(first: str, second: str) -> float:
    return (datetime.fromisoformat(second) - datetime.fromisoformat(first)).total_seconds()


_LOOKED_AT = 1_000  # entries, back from the last one


def log_refused(plan: RunPlan, run: str, error: ModelRefusedError | MachineRefusedError) -> None:
    """Log the refusal, once in a night while it stays the same. The run has let the log go. Never raises for a log."""
    reason = str(error).replace(f"{plan.site.root}/", "")
    refused = RunRefused(run=run, job=plan.job, model=plan.model.name, reason=reason)
    with contextlib.suppress(OSError, audit.AuditError), open_journal(plan.site) as log:
        cut = [each.made_by(run, plan.job) for each in cut_record(log)]
        if cut or not is_told(_last_of_run(plan.site, plan.job, log), refused):
            log.commit([*cut, refused])


def _last_of_run(site: Site, job: str, log: Journal) -> Record | None:
    entries = read_entries(site, max(0, log.next_index - _LOOKED_AT))
    last: Record | None = None
    for entry in entries:
        if entry.type.startswith("run.") and entry.job == job:
            last = entry
    return last
