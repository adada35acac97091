"""The jobs folder while the service runs: which files are new, changed or gone since they were last read.

A file is read when it looked the same twice in a row, so that one that is just being saved is not read by halves.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jobs.errors import ConfigError
from jobs.load import LoadedJob
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
    """A job file was read: `job`, or the `error` it has; neither when the file is gone."""

    name: str
    job: LoadedJob | None = None
    error: ConfigError | None = None


class JobFiles:
    """The job files of a workspace as last read."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._read: dict[Path, Stamp] = {}
        self._seen: dict[Path, Stamp] = {}

    def changes(self, *, at_once: bool = False) -> Iterator[Change]:
        """The changes since the last call, in the order of the names; `at_once`: also of files that may change yet."""
        now = {path: stamp_of(path) for path in self._workspace.job_files()}
        for path in sorted(self._read.keys() - now.keys()):
            del self._read[path]
            yield Change(path.stem)
        for path, stamp in now.items():
            if (at_once or stamp == self._seen.get(path)) and stamp != self._read.get(path):
                self._read[path] = stamp
                yield self._load(path)
        self._seen = now

    def _load(self, path: Path) -> Change:
        try:
            return Change(path.stem, job=load_job_of(self._workspace, path))
        except ConfigError as error:
            return Change(path.stem, error=error)
