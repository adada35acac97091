"""The jobs folder while the service runs: which files are new, changed or gone, and which jobs do not fit each other.

A file is read when it looked the same twice in a row, so that one that is just being saved is not read by halves.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from jobs.config.load import LoadedJob, did_you_mean, load_site, shown
from jobs.config.plan import input_folder
from jobs.config.workspace import Workspace, load_job_of
from jobs.errors import ConfigError, Problem

_ENDING = re.compile(r"\*\.[^*?\[]+")  # a pattern of which it can be said whether it meets another one
Stamp = tuple[int, int, int] | None


class Beside:
    """The jobs of a workspace beside each other: those that can be read, and the names of all `files`. Folders are
    looked up once, for hundreds of jobs are each held against all others."""

    def __init__(self, workspace: Workspace, jobs: Iterable[LoadedJob], files: Collection[str]) -> None:
        self.workspace, self.files = workspace, files
        self.jobs = {job.name: job for job in jobs}
        self._in: dict[Path, list[LoadedJob]] = {}
        self._below: dict[Path, list[LoadedJob]] = {}
        for job in self.jobs.values():
            folder = self.folder_of(job)
            self._in.setdefault(folder, []).append(job)
            for above in folder.parents:
                self._below.setdefault(above, []).append(job)

    def folder_of(self, job: LoadedJob) -> Path:
        """Where the job's files really lie."""
        return input_folder(self.workspace, job).resolve()

    def check(self, job: LoadedJob) -> None:
        """ConfigError if a job does not fit those that lie beside it. The job itself may be among them."""
        others = {name: other for name, other in self.jobs.items() if name != job.name}
        problems = [*self._folders(job), *_after(job, others, self.files)]
        if problems:
            raise ConfigError(*problems)

    def _folders(self, job: LoadedJob) -> Iterator[Problem]:
        """Files that one job moves away are lost to the other one."""
        own = self.folder_of(job)
        near = [each for folder in (own, *own.parents) for each in self._in.get(folder, [])]
        for other in sorted((*near, *self._below.get(own, [])), key=lambda each: each.name):
            moves = "archive" in (job.config.input.afterwards, other.config.input.afterwards)
            if other.name != job.name and moves and not _apart(job.config.input.include, other.config.input.include):
                theirs = self.folder_of(other)
                found = f"the folder {own}, from which the job {other.name!r} takes files too" + (
                    "" if own == theirs else f" ({theirs})"
                )
                remedy = "give each job a folder of its own; or input.include with different endings, or keep the "
                remedy += "files in both (input.afterwards: keep)"
                yield job.source.problem(("input", "folder"), found, "a folder from which one job takes files", remedy)


def _apart(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether no file can match both, as far as can be said."""
    endings = [{each.lower() for each in patterns} for patterns in (one, other)]
    known = all(_ENDING.fullmatch(each) for each in endings[0] | endings[1])
    return known and not any(a.endswith(b[1:]) or b.endswith(a[1:]) for a in endings[0] for b in endings[1])


def _after(job: LoadedJob, others: Mapping[str, LoadedJob], files: Collection[str]) -> Iterator[Problem]:
    after = job.config.after
    if after is None:
        return
    if after not in files and after not in others:
        known = sorted({*files, *others} - {job.name})
        expected = f"one of {', '.join(known)}" if known else "another job of the workspace"
        yield job.source.problem(("after",), f"after: {after}, which is no job", expected, did_you_mean(after, known))
        return
    chain = [job.name]
    while after is not None and after not in chain:
        chain.append(after)
        after = others[after].config.after if after in others else None
    if after == job.name:
        found = f"a circle: {' after '.join([*chain, job.name])}"
        remedy = "give one of them a schedule, or let files start it"
        yield job.source.problem(("after",), found, "jobs of which one starts by itself", remedy)


def stamp_of(path: Path | os.DirEntry[str]) -> Stamp:
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
            error = errors.get(name)
            if error is None:
                try:
                    beside.check(self._jobs[name])
                except ConfigError as unfit:
                    self._unfit[name] = error = unfit
            change = Change(name, error=error) if error else Change(name, job=self._jobs[name])
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

    def _told(self, change: Change) -> Change:
        was_broken = change.name in self._broken
        if change.error:
            self._broken.add(change.name)
            return change
        self._broken.discard(change.name)
        return replace(change, mended=was_broken and change.job is not None)


_FIXED = ("origin", "key", "public_key", "passphrase_file")


def read_again(workspace: Workspace) -> Workspace:
    """The workspace as its site.yaml is now. ConfigError, also where it names another log or key: runs and records go
    on under the key with which the service began, and a log has one writer's key at a time."""
    path = workspace.root / "site.yaml"
    site = load_site(path)
    changed = [key for key in _FIXED if getattr(site.log, key) != getattr(workspace.site.log, key)]
    if changed or site.service.log_file != workspace.site.service.log_file:
        keys = [f"log.{key}" for key in changed] or ["service.log_file"]
        found = f"{', '.join(keys)}: changed while the service runs"
        raise ConfigError(Problem(shown(path), found, "as it was at its start", "stop the service and start it again"))
    return replace(workspace, site=site)
