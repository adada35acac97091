"""The jobs folder while the service runs: which files are new, changed or gone since they were last read.

A file is read when it looked the same twice in a row, so that one that is just being saved is not read by halves.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from jobs.errors import ConfigError
from jobs.load import LoadedJob
from jobs.nights.beside import Beside
from jobs.workspace import Workspace, load_job_of

Stamp = tuple[int, int, int] | None


def stamp_of(path: "Path | os.DirEntry[str]") -> Stamp:
    """A stamp that changes when a file changes; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Change:
    """A job file was read: `job`, or the `error` it has; neither when the file is gone. `mended`: it had one before."""

    name: str
    job: LoadedJob | None = None
    error: ConfigError | None = None
    mended: bool = False


class JobFiles:
    """The job files of a workspace as last read. A job that does not fit those beside it is read again with them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._stamps: dict[str, Stamp] = {}
        self._seen: dict[str, Stamp] = {}
        self._jobs: dict[str, LoadedJob] = {}  # of the files that can be read, also those that do not fit
        self._unfit: dict[str, ConfigError] = {}  # job -> why its file, which can be read, does not fit the others
        self._broken: set[str] = set()

    @property
    def names(self) -> list[str]:
        """The jobs whose files lay there when they were last looked at, whatever is in them."""
        return [*self._seen]

    @property
    def unfit(self) -> Mapping[str, ConfigError]:
        """The jobs whose files can be read, but do not fit those beside them, each with what is wrong."""
        return self._unfit

    def changes(self, *, at_once: bool = False) -> Iterator[Change]:
        """The changes since the last call, in the order of the names; `at_once`: also of files that may change yet."""
        now = dict(self._look())
        gone = sorted(self._stamps.keys() - now.keys())
        still = {name for name, stamp in now.items() if at_once or stamp == self._seen.get(name)}
        fresh = [name for name, stamp in now.items() if name in still and stamp != self._stamps.get(name)]
        self._seen = now
        if not gone and not fresh:
            return
        for name in gone:
            del self._stamps[name]
            self._jobs.pop(name, None)
            self._unfit.pop(name, None)
            yield self._told(Change(name))
        again = sorted(self._unfit.keys() - set(fresh))
        errors = {name: self._read(name, now[name]) for name in fresh}
        beside = Beside(self._workspace, self._jobs.values(), self.names)
        for name in [*errors, *again]:
            told = self._unfit.pop(name, None)
            change = self._fitting(name, errors.get(name), beside)
            if told is None or str(told) != str(self._unfit.get(name)):
                yield self._told(change)

    def _look(self) -> Iterator[tuple[str, Stamp]]:
        """The jobs and the stamps of their files, in the order of the names. Once a second: so no path is made."""
        with os.scandir(self._workspace.jobs) as found:
            files = sorted(((each.name, each) for each in found), key=lambda each: each[0])
        for name, entry in files:
            if name.endswith(".yaml") and not name.startswith("."):
                yield name.removesuffix(".yaml"), stamp_of(entry)

    def _read(self, name: str, stamp: Stamp) -> ConfigError | None:
        self._stamps[name] = stamp
        self._jobs.pop(name, None)
        try:
            self._jobs[name] = load_job_of(self._workspace, self._workspace.jobs / f"{name}.yaml")
        except ConfigError as error:
            return error
        return None

    def _fitting(self, name: str, error: ConfigError | None, beside: Beside) -> Change:
        if error is None:
            try:
                beside.check(self._jobs[name])
            except ConfigError as unfit:
                self._unfit[name] = error = unfit
        return Change(name, error=error) if error else Change(name, job=self._jobs[name])

    def _told(self, change: Change) -> Change:
        was_broken = change.name in self._broken
        if change.error:
            self._broken.add(change.name)
            return change
        self._broken.discard(change.name)
        return replace(change, mended=was_broken and change.job is not None)
