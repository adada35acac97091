"""What a service asks of the log: by what each job starts, up to when all its starts are decided, and which models may
be used.

A service asks once a second, and reads only what came since. What it knows is kept in state/nights/, sealed, so that a
service that begins need not read a long log: of another log, or where the file cannot be had, the log is read whole.
"""

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import audit
from pipeline.plan import Site
from pipeline.records.entries import from_json, recorded_entries
from pipeline.records.plain import from_plain, to_plain
from pipeline.records.register import Admissions
from pipeline.records.seal import check_seal, make_folder, remove_sealed, write_seal
from pipeline.records.types import AdmissionGranted, AdmissionRevoked, RunFinished, RunStarted, StartDecided, StartSet

_VERSION: Final = 4
_AT_ONCE: Final = 1_000
_FAR: Final = 50_000
"""Entries that a service that begins may have to read again: what is known is kept after so many."""


class Rule(NamedTuple):
    """By what a job starts: a cron line in a time zone, or the end of another job. All None: by neither."""

    cron: str | None = None
    timezone: str | None = None
    after: str | None = None


_NEITHER: Final = Rule()


@dataclass(frozen=True)
class Known:
    """The starts of a job. `since`: from when on its `rule` counts; `decided`: up to when all starts are decided;
    `finished`: when its last run ended with all its documents done; `begun`: when a run began that no person asked for
    and that was cut off or stopped. Times are in UTC; None for never."""

    rule: Rule = _NEITHER
    since: datetime | None = None
    decided: datetime | None = None
    finished: datetime | None = None
    begun: datetime | None = None

    @property
    def open_from(self) -> datetime | None:
        """The moment after which starts are not decided; None where no rule counts."""
        if self.since is None or self.rule == _NEITHER:
            return None
        return max(self.since, self.decided) if self.decided else self.since


@dataclass
class ServiceNow:
    """Keeps what the log says now to a service: the starts of all `jobs`, by name, and the `admissions` of models. Each
    look reads only what came since the last one. Nothing is to be concluded from it before it `is_read` to its end."""

    site: Site
    size: int = 0
    jobs: dict[str, Known] = field(default_factory=dict)
    admissions: Admissions = field(default_factory=Admissions)
    is_read: bool = False
    _kept: int = 0

    def __post_init__(self) -> None:
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, audit.AuditError):
            self._remember()

    def look(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Take in what came since the last look, or as much of it as was read when `stop` said so. audit.AuditError."""
        size = audit.read_checkpoint(self.site.audit, self.site.public_key).size
        if size < self.size:  # the log was put back to an earlier state
            self.size, self.jobs, self.admissions = 0, {}, Admissions()
        for number, entry in recorded_entries(self.site, self.size) if size > self.size else ():
            self._take(entry)
            self.size = number + 1
            if number % _AT_ONCE == 0 and stop():
                break
        self.is_read = self.is_read or self.size >= size
        if not self._kept <= self.size < self._kept + _FAR:
            self.keep()

    def keep(self) -> None:
        """Keep what is known for a service that begins; nothing where that cannot be written, for it is a cache."""
        with contextlib.suppress(OSError, ValueError, LookupError, audit.AuditError):
            make_folder(self._path.parent)
            root = audit.root_of(self.site.audit, self.site.public_key, self.size).hex()
            known = {"jobs": to_plain(self.jobs), "admissions": to_plain(self.admissions)}
            audit.write_file_atomically(
                self._path,
                json.dumps({"version": _VERSION, "size": self.size, "root": root, **known}).encode(),
                mode=0o600,
            )
            write_seal(self._path, self._secret)
        self._kept = self.size

    def known(self, job: str) -> Known:
        """The starts of this job."""
        return self.jobs.get(job, Known())

    def _take(self, entry: Mapping[str, Any]) -> None:
        match entry["type"]:
            case StartSet.TYPE:
                rule = Rule(entry["cron"], entry["timezone"], entry["after"])
                self._set(entry["job"], rule=rule, since=_moment(entry["since"]), decided=None)
            case StartDecided.TYPE:
                self._set(entry["job"], decided=_moment(entry["last"]))
            case AdmissionGranted.TYPE | AdmissionRevoked.TYPE:
                self.admissions.take(from_json(entry))
            case RunStarted.TYPE if not (entry.get("requests") or entry.get("retry") or entry.get("rerun")):
                self._set(entry["job"], begun=_moment(entry["time"]))
            case RunFinished.TYPE if not entry["interrupted"]:
                self._set(entry["job"], begun=None)
                if not entry.get("window_closed"):
                    self._set(entry["job"], finished=_moment(entry["time"]))

    def _set(self, job: str, **changed: Any) -> None:
        self.jobs[job] = replace(self.known(job), **changed)

    @cached_property
    def _path(self) -> Path:
        return self.site.state / "nights" / "starts.json"

    @cached_property
    def _secret(self) -> bytes:
        return audit.derive_secret(self.site.key_file, self.site.public_key, "state/nights", self.site.passphrase_file)

    def _remember(self) -> None:
        if not self._path.exists():
            return
        check_seal(self._path, self._secret)
        told = json.loads(self._path.read_bytes())
        size = told["size"]
        if (
            told["version"] != _VERSION
            or audit.root_of(self.site.audit, self.site.public_key, size).hex() != told["root"]
        ):
            remove_sealed(self._path)
            return
        self.jobs = from_plain(dict[str, Known], told["jobs"])
        self.admissions = from_plain(Admissions, told["admissions"])
        self.size = self._kept = size


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
