"""Folders that say themselves when they are complete: by a `_READY` marker, or by a `manifest.sha256`.

`_READY`, whatever is in it, speaks for its folder and all below it: what is not newer than the marker (modification
and change time) is complete. A manifest speaks for the files that it names: all of them are there with the right
bytes, or none is taken. A file that is no longer there counts as there if this job has processed it; a batch that is
processed to the last file is over and binds nothing. Where both speak of a file, the manifest counts.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pipeline.inbox.manifest import MANIFEST, MAX_BYTES, MAX_LINES, BadManifestError, parse_manifest
from pipeline.inbox.sightings import Look, Sightings, look_of
from pipeline.paths.beneath import open_beneath
from pipeline.text.visible import shown

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
            return self._add(batch)
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

    def _add(self, batch: _Batch) -> str:
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
