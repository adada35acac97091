"""Folders that say themselves when they are complete: by a `_READY` marker, or by a `manifest.sha256`.

`_READY`, whatever is in it, speaks for its folder and all below it: what is not newer than the marker (modification
and change time) is complete. A manifest speaks for the files that it names: all of them are there with the right
bytes, or none is taken. A file that is no longer there counts as there if this job has processed it; a batch that is
processed to the last file is over and binds nothing. Where both speak of a file, the manifest counts.
"""

import errno
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pipeline.paths.beneath import open_beneath
from pipeline.text.visible import shown, visible

Look = tuple[int, int, int, int]


def look_of(status: os.stat_result) -> Look:
    """The facts that change when a file changes: size, times and inode."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


@dataclass
class Sightings:
    """The sightings of one input folder: since when files have looked as they do, by this process's own clock, and
    their sha256.

    Only what is asked for is remembered, and only until a scan (for the sha256: one that compares) does not ask for it:
    memory grows with the files whose times cannot be trusted and those that a manifest names, not with all others.
    """

    clock: Callable[[], float] = time.monotonic
    _since: dict[str, tuple[Look, float]] = field(default_factory=dict)
    _since_before: dict[str, tuple[Look, float]] = field(default_factory=dict)
    _digests: dict[tuple[str, Look], str] = field(default_factory=dict)
    _digests_before: dict[tuple[str, Look], str] = field(default_factory=dict)

    def begin(self, comparing: bool) -> None:
        """A new scan, which will ask for sha256s or not."""
        self._since_before, self._since = self._since, {}
        if comparing:
            self._digests_before, self._digests = self._digests, {}

    def still_for(self, path: str, status: os.stat_result) -> float:
        """Seconds since `path` was first seen as it looks now, in all scans since; 0 at first sight."""
        look, now = look_of(status), self.clock()
        known = self._since_before.pop(path, None)
        if known is None or known[0] != look:
            known = (look, now)
        self._since[path] = known
        return now - known[1]

    def sha256(self, path: str, look: Look, compute: Callable[[], str | None]) -> str | None:
        """The sha256 of the file's bytes, computed once as long as it looks the same. None if `compute` gives none."""
        known = self._digests_before.get((path, look)) or self._digests.get((path, look)) or compute()
        if known:
            self._digests[path, look] = known
        return known


READY = "_READY"
_CHUNK = 1 << 20
_CHARACTERS = 128 << 20


@dataclass(frozen=True)
class Comparing:
    """The facts that a scan needs to compare bytes: whether this job has processed (shown path, sha256), and when to
    give up."""

    processed: Callable[[str, str], bool]
    stop: Callable[[], bool] = lambda: False


@dataclass
class _Batch:
    """One manifest: the sha256 of each path below the input folder, and those that were found there."""

    manifest: str
    files: dict[str, str]
    there: dict[str, tuple[Look, str | None]] = field(default_factory=dict)  # with the reason why not to take it yet


@dataclass(frozen=True)
class _Scope:
    """The signs of a folder, which hold for all below it: the times of its marker, or why it is held."""

    folder: str
    times: tuple[int, int] | None = None
    held: str | None = None

    def reaches(self, folder: str) -> bool:
        return not self.folder or folder == self.folder or folder.startswith(self.folder + "/")


@dataclass
class Batches:
    """The batches and signs of one scan, which comes through a folder's signs first, then its files, then the folders
    in it.

    Without `comparing`, files are held against a manifest by their presence and stillness alone.
    """

    folder: Path
    sightings: Sightings
    comparing: Comparing | None
    _scopes: list[_Scope] = field(default_factory=list)
    _batches: list[_Batch] = field(default_factory=list)
    _named: dict[str, tuple[_Batch, ...]] = field(default_factory=dict)
    _lines: int = 0  # of all manifests that bind
    _characters: int = 0  # of the paths that they name

    def enter(self, folder: str) -> None:
        """The scan comes to `folder`."""
        while self._scopes and not self._scopes[-1].reaches(folder):
            self._scopes.pop()

    def sign(self, folder: str, name: str, status: os.stat_result) -> str | None:
        """Take `name` for what it says of `folder`: why it is no document; None if it is no such file."""
        if name == READY:
            self._scopes.append(_Scope(folder, times=(status.st_mtime_ns, status.st_ctime_ns)))
            return "the marker of a complete batch, not a document"
        if name != MANIFEST:
            return None
        path = os.path.join(folder, name)  # noqa: PTH118 - names of any bytes
        try:
            batch = self._batch(folder, path)
        except BadManifestError as error:
            held = f"held: {shown(path)}:{error}"
        except OSError as error:
            held = f"held: {shown(path)} cannot be read: {error.strerror}"
        else:
            if self.comparing and all(self.comparing.processed(shown(p), sha256) for p, sha256 in batch.files.items()):
                return "the manifest of a batch that is over: each of its files was processed before"
            self._batches.append(batch)
            self._lines += len(batch.files)
            self._characters += sum(map(len, batch.files))
            alone = (batch,)
            for each in batch.files:
                self._named[each] = (*self._named[each], batch) if each in self._named else alone
            later = "" if self.comparing else "; the bytes of its files are compared when a run starts"
            return f"the manifest of a batch, not a document{later}"
        self._scopes.append(_Scope(folder, held=held))
        return f"the manifest of a batch, not a document; its folder is {held}"

    def held(self, path: str) -> str | None:
        """Why `path` cannot be taken where a manifest above it cannot be read and no other one names it."""
        return None if path in self._named else next((scope.held for scope in self._scopes if scope.held), None)

    def complete(self, status: os.stat_result) -> bool:
        """Whether a marker above the file, which the scan is at, says that it is complete."""
        times = (status.st_mtime_ns, status.st_ctime_ns)
        return any(s.times and times[0] <= s.times[0] and times[1] <= s.times[1] for s in self._scopes)

    def found(self, path: str, status: os.stat_result, settling: str | None) -> bool:
        """Note that the file is there; True if a manifest names it and decides. `settling`: why it would wait."""
        batches = self._named.get(path, ())
        for batch in batches:
            batch.there[path] = (look_of(status), settling)
        return bool(batches)

    def decide(self) -> tuple[dict[str, str], dict[str, str]]:
        """After the scan: the reason for each path that a manifest holds, and what each manifest that holds waits for.

        The second tells of a batch of which nothing has come yet. Without `comparing` it is empty: the files of a batch
        that is over are gone too.
        """
        held: dict[str, str] = {}
        waiting: dict[str, str] = {}
        for batch in self._batches:
            if trouble := self._trouble(batch):
                reason = f"held: {shown(batch.manifest)} names {trouble}"
                held |= dict.fromkeys(batch.there.keys() - held.keys(), reason)
                if self.comparing:
                    waiting[shown(batch.manifest)] = f"it names {trouble}"
        return held, waiting

    def _batch(self, folder: str, path: str) -> _Batch:
        """The batch that a manifest names. All manifests that bind in one scan may have as many lines as one may:
        memory has a bound."""
        files = parse_manifest(self._read(path))
        characters = sum(map(len, files)) + len(files) * len(folder)
        if self._lines + len(files) > MAX_LINES or self._characters + characters > _CHARACTERS:
            expected = f"at most {MAX_LINES:,} lines, with short names, in all manifests: remove those that are over"
            raise BadManifestError(1, "more", expected)
        return _Batch(path, {os.path.join(folder, name): sha256 for name, sha256 in files.items()})  # noqa: PTH118

    def _trouble(self, batch: _Batch) -> str | None:
        """The first file for which the batch cannot be taken, and why; presence is looked at before any bytes."""
        for path, sha256 in batch.files.items():
            if path not in batch.there:
                if not (self.comparing and self.comparing.processed(shown(path), sha256)):
                    return f"{_called(batch, path)}, which is missing"
            elif not self.comparing and (settling := batch.there[path][1]):
                return f"{_called(batch, path)}, which {settling}"
        if self.comparing:
            troubles = (self._differs(batch, path, self.comparing) for path in batch.there)
            return next((trouble for trouble in troubles if trouble), None)
        return None

    def _differs(self, batch: _Batch, path: str, comparing: Comparing) -> str | None:
        look, _ = batch.there[path]
        try:
            sha256 = self.sightings.sha256(path, look, partial(self._sha256, path, look, comparing))
        except OSError as error:
            return f"{_called(batch, path)}, which cannot be read: {error.strerror}"
        if sha256 is None:
            return f"{_called(batch, path)}, which was not compared: the run was to stop"
        return None if sha256 == batch.files[path] else f"{_called(batch, path)}, whose bytes differ"

    def _sha256(self, path: str, look: Look, comparing: Comparing) -> str | None:
        digest = hashlib.sha256()
        descriptor = open_beneath(self.folder, path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            while chunk := os.read(descriptor, _CHUNK):
                digest.update(chunk)
                if comparing.stop():
                    return None
            if look_of(os.fstat(descriptor)) != look:
                raise OSError(errno.EBUSY, "it changed while it was read")
        finally:
            os.close(descriptor)
        return digest.hexdigest()

    def _read(self, path: str) -> bytes:
        """Read at most one byte more than a manifest may have."""
        descriptor = open_beneath(self.folder, path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            return file.read(MAX_BYTES + 1)


def _called(batch: _Batch, path: str) -> str:
    """A file as its manifest calls it."""
    return shown(path[len(batch.manifest) - len(MANIFEST) :])


# A line of a manifest is a sha256, a space, a mark and a file's name, as `sha256sum` writes them. The mark is a space
# for text and `*` for binary mode, which mean the same here. In a line that begins with a backslash, \\, \n and \r
# stand for those characters (coreutils manual, md5sum). Names are any bytes, below the manifest's folder. Each line has
# an end, so that a line cut off is not taken for a whole one; a carriage return before it belongs to the end.

MANIFEST = "manifest.sha256"
MAX_BYTES = 64 << 20
MAX_LINES = 1_000_000
_LINE = re.compile(rb"(\\?)([0-9a-fA-F]{64}) [ *]([^\0]+)", re.DOTALL)
_ESCAPE = re.compile(rb"\\(.?)", re.DOTALL)
_ESCAPES = {b"\\": b"\\", b"n": b"\n", b"r": b"\r"}
_NAME = 4096  # bytes: PATH_MAX
_SHOWN = 80  # characters of a bad line


class BadManifestError(Exception):
    """The manifest says nothing that can be relied on: line, what was found and what was expected."""

    def __init__(self, line: int, found: str, expected: str) -> None:
        super().__init__(f"{line}: found {found}, expected {expected}")


def parse_manifest(body: bytes) -> dict[str, str]:
    """The sha256 of each file by its name, in the order of the lines. BadManifestError.

    A line for the manifest itself is passed over: `sha256sum * > manifest.sha256` writes one, and it cannot hold.
    """
    if len(body) > MAX_BYTES or body.count(b"\n") > MAX_LINES:
        raise BadManifestError(1, "more", f"at most {MAX_BYTES >> 20} MiB and {MAX_LINES:,} lines")
    *lines, rest = body.split(b"\n")
    if rest:
        raise BadManifestError(len(lines) + 1, f"{_shown(rest)} without a line end", "a line end (is it complete?)")
    files: dict[str, str] = {}
    for number, line in enumerate((line.removesuffix(b"\r") for line in lines), 1):
        if line.strip():
            name, sha256 = _parse_line(number, line)
            if files.setdefault(name, sha256) != sha256:
                raise BadManifestError(number, f"another sha256 of {_shown(os.fsencode(name))}", "every name once")
    if not files:
        raise BadManifestError(1, "no file", "a line for each file of the batch")
    files.pop(MANIFEST, None)
    return files


def _parse_line(number: int, line: bytes) -> tuple[str, str]:
    match = _LINE.fullmatch(line)
    if match is None:
        expected = "64 hexadecimal digits, two spaces (or a space and *) and a name, as sha256sum writes"
        raise BadManifestError(number, _shown(line), expected)
    name = _ESCAPE.sub(lambda escape: _unescaped(number, escape), match[3]) if match[1] else match[3]
    if len(name) > _NAME:
        raise BadManifestError(number, f"a name of {len(name):,} bytes", f"at most {_NAME:,}")
    parts = [part for part in name.split(b"/") if part != b"."]
    if b".." in parts or b"" in parts or not parts:
        raise BadManifestError(number, _shown(name), "the name of a file in the manifest's folder or below it")
    return os.fsdecode(b"/".join(parts)), match[2].decode().lower()


def _unescaped(number: int, escape: re.Match[bytes]) -> bytes:
    if escape[1] not in _ESCAPES:
        raise BadManifestError(number, _shown(escape[0]), "\\\\, \\n or \\r, for the line begins with a backslash")
    return _ESCAPES[escape[1]]


def _shown(text: bytes) -> str:
    clipped = text[:_SHOWN].decode("utf-8", "backslashreplace")
    return f"'{visible(clipped)}{'…' if len(text) > _SHOWN else ''}'"
