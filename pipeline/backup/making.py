"""A backup of a workspace, also while a service works in it.

Nothing is held and nobody waits. Files are copied, or linked to the backup before where they did not change; then it
is looked again. If no file that commits change is another one now, and none came or went, then what was copied is how
the workspace stood at one moment, as a power cut at that moment would have left it, and from there any run goes on
(audit/FORMAT.md, pipeline/outbox/). Otherwise what changed is copied too, and it is looked again.

The files that come in, wait for the log or are staged are not waited for: each of them is where it was, or its
successor is among the files that commits change, which are then not the same.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import audit
from pipeline.backup.copying import copy_file, give_folder, link_file
from pipeline.backup.manifest import (
    About,
    BackupRefusedError,
    Saved,
    backups_in,
    name_of,
    part_of,
    parts_in,
    place_of,
    read_about,
    read_manifest,
    write_about,
    write_manifest,
)
from pipeline.backup.tree import KEYS, Item, Tree, scan
from pipeline.paths.names import file_sha256
from pipeline.plan import Site
from pipeline.proof.verify import Verification, verify
from pipeline.records.journal import Recorded, record
from pipeline.records.types import BackedUp
from pipeline.version import this_version

Tell = Callable[[str, int, int], None]
_LOCK = ".lock"
_PASSES = 30
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL})
"""What is said of a file that is not there any more, or in whose place, or above it, is something else by now."""
_VERIFIED = frozenset({"audit", "outbox", "archive", "failed"})


class NeverStillError(Exception):
    """Commits followed each other faster than files can be copied."""


@dataclass(frozen=True)
class BackedUpNow:
    """A backup that was made: its folder, what it says of itself, how many files it has, the bytes that were copied
    for it and the files that are one with those of the backup before. `recorded`: whether the log knows of it.
    `damaged`: the backup before, where this one is right only without files of it."""

    folder: Path
    about: About
    files: int
    copied_bytes: int
    linked: int
    verification: Verification
    recorded: Recorded
    damaged: Path | None = None


def back_up(
    site: Site, folder: Path, open_site: Callable[[Path], Site], now: datetime, *, keys: bool = False, tell: Tell
) -> BackedUpNow:
    """Make a backup of the workspace in `folder`, and verify it. `open_site` gives the site of a workspace.

    What else is in `folder` stays as it is, whatever goes wrong. BackupRefusedError, NeverStillError, OSError.
    """
    folder = folder.absolute()
    if folder.resolve().is_relative_to(site.root.resolve()) or site.root.resolve().is_relative_to(folder.resolve()):
        raise BackupRefusedError(folder, "lies in the workspace, or the workspace in it", "name a folder elsewhere")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise BackupRefusedError(error.filename, "is no folder", "name another one") from error
    with _alone(folder):
        for left in parts_in(folder):
            shutil.rmtree(left)
        before = _before(folder, site)
        name = name_of(now, folder)
        part = folder / part_of(name)
        try:
            making, about, verification = _made(site, part, before, keys, tell, open_site, now)
            part.rename(folder / name)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        audit.sync_folder(folder)
    files = sum(not each.item.folder for each in making.saved.values())
    said = BackedUp(size=about.size, root=about.root, files=files, keys=keys, right=about.right)
    damaged = before if about.right and making.before is None else None
    told = record(site, said)
    return BackedUpNow(folder / name, about, files, making.copied, making.linked, verification, told, damaged)


def _made(
    site: Site, part: Path, before: Path | None, keys: bool, tell: Tell, open_site: Callable[[Path], Site],
    now: datetime,
) -> "tuple[_Making, About, Verification]":  # fmt: skip
    """Make the backup in `part`; where it is not right, once more without the files of the one before, which may be
    what is damaged. BackupRefusedError, NeverStillError, OSError."""
    making = _Making(site, part, before, keys, tell)
    try:
        about, verification = making.make(open_site, now)
        if verification.ok or not making.linked:
            return making, about, verification
    except BackupRefusedError:
        if not making.linked:
            raise
    shutil.rmtree(part)
    return _made(site, part, None, keys, tell, open_site, now)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other backup is made in this folder meanwhile; file systems that have no locks are taken at their word."""
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with contextlib.suppress(OSError):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BackupRefusedError(folder, "another backup is made here now", "wait for it to end") from error
        yield
    finally:
        os.close(handle)


def _before(folder: Path, site: Site) -> Path | None:
    """The newest backup in the folder that can be read, all of which are of this log."""
    for backup in reversed(backups_in(folder)):
        try:
            about = read_about(backup)
        except BackupRefusedError:
            continue
        if about.origin != site.origin:
            raise BackupRefusedError(folder, f"has backups of the log {about.origin}", "name another folder")
        return backup
    return None


class _Making:
    """A backup on its way. `saved`: what it has by now; `before`: the backup whose files it may have, too."""

    def __init__(self, site: Site, part: Path, before: Path | None, keys: bool, tell: Tell) -> None:
        self.saved: dict[str, Saved] = {}
        self.copied = self.linked = 0
        self._site, self._part, self.before, self._keys, self._tell = site, part, before, keys, tell
        self._known: dict[str, Saved] = {}
        if before is not None:
            with contextlib.suppress(BackupRefusedError):  # a damaged list: everything is copied
                saved = read_manifest(before, read_about(before))
                self._known = {each.item.path: each for each in saved if not each.item.folder}

    def make(self, open_site: Callable[[Path], Site], now: datetime) -> tuple[About, Verification]:
        """Copy until the workspace stands still, and verify the copy."""
        for top in ("", "workspace", *([KEYS] if self._keys else [])):
            (self._part / top).mkdir(mode=0o700)
        tree = self._copy_until_still()
        for path in sorted(tree.items, reverse=True):  # those within others first: what is copied into one changes it
            if (item := tree.items[path]).folder:
                self.saved[path] = Saved(item, None)
                give_folder(self._place(path), item)
        audit.sync_filesystem(self._part)
        self._check_others()
        site, own = open_site(self._part / "workspace"), self._site.at_rest
        if site.at_rest.on:  # the workspace's own key of what is encrypted need not be in the copy
            key_files = replace(site.at_rest, key_file=own.key_file, previous_file=own.previous_file)
            site = replace(site, at_rest=key_files)
        verification = verify(site, lambda done, total: self._tell("verifying", done, total))
        about = About(
            this_version().version,
            now.isoformat(timespec="seconds"),
            site.origin,
            site.public_key,
            size=verification.size,
            root=verification.root.hex(),
            keys=self._keys,
            left_out=tree.left_out,
            right=verification.ok,
            files_sha256=write_manifest(self._part, (self.saved[path] for path in sorted(self.saved))),
        )
        write_about(self._part, about)
        audit.sync_filesystem(self._part)
        return about, verification

    def _copy_until_still(self) -> Tree:
        tree = self._scan()
        for _ in range(_PASSES):
            self._copy(tree)
            after = self._scan()
            if after.stands_as(tree) and after.standing().keys() <= self.saved.keys():
                return tree
            tree = after
        raise NeverStillError(f"{self._site.root}: files changed while each of {_PASSES} copies was made")

    def _scan(self) -> Tree:
        site, rest = self._site, self._site.at_rest
        secrets = (site.key_file, site.passphrase_file, rest.key_file, rest.previous_file)
        return scan(site.root, keys=self._keys, secrets=[path for path in secrets if path is not None])

    def _copy(self, tree: Tree) -> None:
        """Make the copy as the tree says, as far as it is not so by now."""
        for path in sorted(self.saved.keys() - tree.items.keys(), reverse=True):
            self._forget(path)
        total = len(tree.items)
        for number, (path, item) in enumerate(tree.items.items(), 1):
            there = self.saved.get(path)
            if there is not None and (there.item == item or (item.folder and there.item.folder)):
                continue
            if there is not None:
                self._forget(path)
            if item.folder:
                self._place(path).mkdir(mode=0o700, parents=True, exist_ok=True)
                self.saved[path] = Saved(item, None)
            elif (sha256 := self._take(item)) is not None:
                self.saved[path] = Saved(item, sha256)
            self._tell("copying", number, total)

    def _take(self, item: Item) -> str | None:
        """Copy or link one file; its sha256. None for one that is gone, or no file any more, which the next look
        tells."""
        known = self._known.get(item.path)
        if self.before and known and known.item == item:
            folder, path = place_of(self.before, item.path)
            if link_file(folder / path, self._place(item.path)):
                self.linked += 1
                return known.sha256
        top, _, rest = item.path.partition("/")
        folder, path = (self._site.root / top, rest) if rest else (self._site.root, top)
        try:
            return copy_file(folder, path, self._place(item.path), item, self._count)
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise

    def _count(self, number: int) -> None:
        self.copied += number

    def _forget(self, path: str) -> None:
        place, there = self._place(path), self.saved.pop(path)
        if there.item.folder:
            shutil.rmtree(place)
        else:
            place.unlink()

    def _place(self, path: str) -> Path:
        folder, rest = place_of(self._part, path)
        return folder / rest

    def _check_others(self) -> None:
        """Read again what the log does not tell of: models, job files, keys and what waits."""
        for path, each in self.saved.items():
            if each.sha256 and path.split("/")[0] not in _VERIFIED and file_sha256(self._place(path)) != each.sha256:
                raise BackupRefusedError(self._place(path), "has other bytes than were written", "check that disk")
