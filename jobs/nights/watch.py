"""The jobs folder while the service runs: which files are new, changed or gone since they were last read.

A file is read when it looked the same twice in a row, so that one that is just being saved is not read by halves.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from jobs.errors import ConfigError
from jobs.load import LoadedJob
from jobs.nights.beside import Beside
from jobs.workspace import Workspace, load_job_of

Stamp = tuple[int, int, int] | None


def stamp_of(path: Path) -> Stamp:
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
        self._stamps: dict[Path, Stamp] = {}
        self._seen: dict[Path, Stamp] = {}
        self._jobs: dict[str, LoadedJob] = {}  # of the files that can be read, also those that do not fit
        self._unfit: dict[str, str] = {}  # job -> what was told of it
        self._broken: set[str] = set()

    @property
    def names(self) -> list[str]:
        """The jobs whose files lay there when they were last looked at, whatever is in them."""
        return [path.stem for path in self._seen]

    def changes(self, *, at_once: bool = False) -> Iterator[Change]:
        """The changes since the last call, in the order of the names; `at_once`: also of files that may change yet."""
        now = {path: stamp_of(path) for path in self._workspace.job_files()}
        gone = sorted(self._stamps.keys() - now.keys())
        still = {path for path, stamp in now.items() if at_once or stamp == self._seen.get(path)}
        fresh = [path for path, stamp in now.items() if path in still and stamp != self._stamps.get(path)]
        self._seen = now
        if not gone and not fresh:
            return
        for path in gone:
            del self._stamps[path]
            self._jobs.pop(path.stem, None)
            self._unfit.pop(path.stem, None)
            yield self._told(Change(path.stem))
        again = sorted(self._unfit.keys() - {path.stem for path in fresh})
        errors = {path.stem: self._read(path, now[path]) for path in fresh}
        beside = Beside(self._workspace, self._jobs.values(), self.names)
        for name in [*errors, *again]:
            told = self._unfit.pop(name, None)
            change = self._fitting(name, errors.get(name), beside)
            if told is None or told != self._unfit.get(name):
                yield self._told(change)

    def _read(self, path: Path, stamp: Stamp) -> ConfigError | None:
        self._stamps[path] = stamp
        self._jobs.pop(path.stem, None)
        try:
            self._jobs[path.stem] = load_job_of(self._workspace, path)
        except ConfigError as error:
            return error
        return None

    def _fitting(self, name: str, error: ConfigError | None, beside: Beside) -> Change:
        if error is None:
            try:
                beside.check(self._jobs[name])
            except ConfigError as unfit:
                self._unfit[name], error = str(unfit), unfit
        return Change(name, error=error) if error else Change(name, job=self._jobs[name])

    def _told(self, change: Change) -> Change:
        was_broken = change.name in self._broken
        if change.error:
            self._broken.add(change.name)
            return change
        self._broken.discard(change.name)
        return replace(change, mended=was_broken and change.job is not None)
