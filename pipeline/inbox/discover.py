"""One full scan of a job's input folder, in sorted order; every path gets exactly one state."""

import contextlib
import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.inbox.batches import MANIFEST, READY, Batches, Comparing, Sightings
from pipeline.paths.beneath import HELD_OPEN, Walk, Writers, open_beneath
from pipeline.paths.names import leaving, matcher, named_by_nobody, ranker
from pipeline.plan import Input
from pipeline.text.visible import shown

_DEEPEST = 200  # folders below the input folder
_PATH_MAX = 4096  # bytes, as Linux has it
_HIDDEN = "a hidden name"
_FIRST = {MANIFEST: 0, READY: 1}  # of a folder's files: what they say holds for the others

Reasons = tuple[tuple[str, str], ...]


@dataclass(frozen=True, order=True, slots=True)
class Candidate:
    """A settled file: its path below the input folder as the system knows it, and what told that it was still.
    `named`: a manifest says that its bytes are whole."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int = 0
    mode: int = 0
    named: bool = False

    @property
    def name(self) -> str:
        """Its path as people read it."""
        return shown(self.path)


@dataclass(frozen=True)
class Scan:
    """`ready` to be taken, in that order; `settling`: still being written; `held`: its batch is not complete;
    `ignored`: never taken. All but the first say why. Every path stands in exactly one of them. `names`: how many are
    ignored for a name that no person gives, by its pattern (paths/names.py). `unseen`: of how many of the ready ones
    it cannot be told whether somebody has them open for writing."""

    ready: tuple[Candidate, ...]
    settling: Reasons
    held: Reasons
    ignored: Reasons
    names: Mapping[str, int] = field(default_factory=dict)
    unseen: int = 0

    @property
    def held_open(self) -> tuple[str, ...]:
        """The settling files that somebody has open for writing: that they are still says nothing."""
        return tuple(path for path, reason in self.settling if reason == HELD_OPEN)

    @property
    def changing(self) -> int:
        """How many files are to be taken when they have been still for a while."""
        return len(self.settling) - len(self.held_open)

    @property
    def pending(self) -> Reasons:
        """The files that may be taken by a later scan."""
        return (*self.settling, *self.held)


def scan(
    source: Input, now: float | None = None, *, sightings: Sightings | None = None, comparing: Comparing | None = None
) -> Scan:
    """Look at every path below `source.folder` once. `now` is the time (seconds) that settling is measured against.

    `sightings` are what earlier scans saw. With `comparing`, the bytes of files that a manifest names are compared.
    Raises OSError where `source.folder` itself cannot be listed.
    """
    sightings = sightings or Sightings()
    sightings.begin(comparing is not None)
    batches = Batches(source.folder, sightings, comparing)
    sorting = _Sorting(source, time.time() if now is None else now, sightings, batches)
    with contextlib.closing(sorting.opens):
        for folder, name, status in _walk(source.folder):
            sorting.add(folder, name, status)
    return sorting.scan()


@dataclass
class _Sorting:
    """Gives each path its state."""

    source: Input
    now: float
    sightings: Sightings
    batches: Batches
    ready: list[Candidate] = field(default_factory=list)
    settling: list[tuple[str, str]] = field(default_factory=list)
    held: list[tuple[str, str]] = field(default_factory=list)
    ignored: list[tuple[str, str]] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)
    unseen: int = 0

    def __post_init__(self) -> None:
        self.included = matcher(self.source.include)
        self.writers, self.opens = Writers(self.source.folder), Walk(self.source.folder)
        self.excluded = f"matches none of input.include: {', '.join(self.source.include)}"

    def add(self, folder: str, name: str, status: os.stat_result | str | OSError) -> None:
        """The next path of the walk."""
        path = f"{folder}/{name}" if folder else name
        self.batches.enter(folder)
        if isinstance(status, OSError):
            self._add_unseen(folder, name, path, status)
        elif isinstance(status, str):
            self.ignored.append((shown(path), status))
        elif not stat.S_ISREG(status.st_mode):
            self.ignored.append((shown(path), f"not a regular file: {_kind(status.st_mode)}"))
        else:
            self._add_file(folder, name, path, status)

    def _add_unseen(self, folder: str, name: str, path: str, error: OSError) -> None:
        """Hold what cannot be looked at, since documents may lie there; a name that is too long stays so."""
        reason = f"cannot be looked at: {error.strerror}"
        if passed_over := self._passed_over(folder, name, path):
            self.ignored.append((shown(path), passed_over))
        elif error.errno == errno.ENAMETOOLONG:
            self.ignored.append((shown(path), reason))
        else:
            self.held.append((shown(path), f"held: {reason}"))

    def _add_file(self, folder: str, name: str, path: str, status: os.stat_result) -> None:
        settling = self._settling(path, status)
        named = self.batches.found(path, status, settling)
        if reason := self._never(folder, name, path, status):
            self.ignored.append((shown(path), reason))
        elif held := self.batches.held(path):
            self.held.append((shown(path), held))
        elif settling and not named and not self.batches.complete(status):
            self.settling.append((shown(path), settling))
        elif not named and self._is_held_open(folder, name):
            self.settling.append((shown(path), HELD_OPEN))
        else:
            times = (status.st_mtime_ns, status.st_ino, status.st_ctime_ns)
            self.ready.append(Candidate(path, status.st_size, *times, status.st_mode, named))

    def _never(self, folder: str, name: str, path: str, status: os.stat_result) -> str | None:
        """Why the file is no document; a marker or manifest takes effect."""
        if passed_over := self._passed_over(folder, name, path):
            return passed_over
        if sign := self.batches.sign(folder, name, status):
            return sign
        return None if self.included(name.lower()) or self.included(path.lower()) else self.excluded

    def _passed_over(self, folder: str, name: str, path: str) -> str | None:
        """Why nobody gave that name to a document, or did not want it seen; counted by the kind of name."""
        if pattern := leaving(path):
            self.names[pattern] += 1
            return named_by_nobody(pattern)
        return _HIDDEN if name.startswith(".") or folder.startswith(".") or "/." in folder else None

    def _settling(self, path: str, status: os.stat_result) -> str | None:
        """Why the file may still be written to.

        A modification time in the future tells nothing: the change time alone counts. Where that too lies in the
        future, the clock was set back or another machine's clock is ahead, and ages tell nothing: then the file must be
        seen to stay as it is.
        """
        seconds = self.source.settle_seconds
        changed = status.st_ctime if status.st_mtime > self.now else max(status.st_mtime, status.st_ctime)
        if self.now >= changed:
            age = self.now - changed
            return f"changed {age:.1f} s ago; taken when still for {seconds:g} s" if age < seconds else None
        if (still := self.sightings.still_for(path, status)) >= seconds:
            return None
        return f"has times in the future; watched for {still:.1f} s, taken when still for {seconds:g} s"

    def _is_held_open(self, folder: str, name: str) -> bool:
        """Whether somebody writes to the file, for all that can be told: or has it for himself, so that it does not
        open at all."""
        try:
            descriptor = self.opens.open(folder, name, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            return error.errno == errno.EAGAIN
        try:
            held = self.writers.hold(descriptor)
            self.unseen += held is None
            return held is True
        finally:
            os.close(descriptor)

    def scan(self) -> Scan:
        """After the last path: what the manifests say, and the order."""
        ready = self.ready
        held, waiting = self.batches.decide()
        if held:
            self.held += [(shown(each.path), held[each.path]) for each in ready if each.path in held]
            ready = [each for each in ready if each.path not in held]
        if self.source.priority:
            rank = ranker(self.source.priority)
            ready.sort(key=lambda candidate: rank(candidate.path))
        ignored = ((path, f"{reason}; {waiting[path]}" if path in waiting else reason) for path, reason in self.ignored)
        return Scan(tuple(ready), tuple(self.settling), tuple(self.held), tuple(ignored), self.names, self.unseen)


def _walk(folder: Path) -> Iterator[tuple[str, str, os.stat_result | str | OSError]]:
    """Yield each thing below `folder` that is no folder: its folder, its name and its status; links are not followed.

    A folder's files come first, its manifest and marker before the others, then its folders, each sorted by the bytes
    of their names. What cannot be looked at, a folder too, comes with the error; what was taken away since its folder
    was listed does not come at all.
    """
    waiting = [("", "", 0)]
    while waiting:
        above, last, depth = waiting.pop()
        parent = f"{above}/{last}" if above else last
        if depth > _DEEPEST:
            yield above, last, f"nested deeper than {_DEEPEST} folders"
            continue
        place = os.path.join(folder, parent, "")  # noqa: PTH118 - names of any bytes, and this loop runs 100,000 times
        try:
            if len(os.fsencode(place)) > _PATH_MAX:
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
            folders, files = _listed(folder, parent)
        except OSError as error:
            if not parent:
                raise
            if error.errno != errno.ENOENT:
                yield above, last, error
            continue
        for name in files:
            try:
                yield parent, name, os.lstat(place + name)
            except OSError as error:
                if error.errno != errno.ENOENT:
                    yield parent, name, error
        waiting += [(parent, name, depth + 1) for name in reversed(folders)]


def _listed(folder: Path, path: str) -> tuple[list[str], list[str]]:
    """The names of the folders in folder/path, and of all else in it, sorted. Only `folder` itself may be a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = open_beneath(folder, path, flags) if path else os.open(folder, flags)
    folders: list[str] = []
    files: list[str] = []
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
    finally:
        os.close(descriptor)
    return sorted(folders, key=os.fsencode), sorted(files, key=lambda name: (_FIRST.get(name, 2), os.fsencode(name)))


def _kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")
