"""A workspace made of a backup: into an empty folder, every byte held against the backup's list.

site.yaml is written last: only with it the folder is a workspace, and a restore that was cut off leaves none.
"""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import audit
from pipeline.backup.copying import copy_file, give_folder
from pipeline.backup.making import Tell
from pipeline.backup.manifest import (
    WORKSPACE,
    About,
    BackupRefusedError,
    Saved,
    backups_in,
    place_of,
    read_about,
    read_manifest,
)
from pipeline.backup.tree import KEYS, STATE
from pipeline.paths.names import file_sha256
from pipeline.plan import Site
from pipeline.proof.verify import Verification, verify
from pipeline.records.journal import Recorded, record
from pipeline.records.types import WorkspaceRestored
from pipeline.version import check_version

_SITE = "site.yaml"


@dataclass(frozen=True)
class Restored:
    """A workspace that was restored from the backup in `backup`, with how many files, and with keys or without; what
    its verification says, whether its log has the entry of it, and how it differs from the checkpoint that was kept
    elsewhere (None: it extends it)."""

    backup: Path
    about: About
    files: int
    keys: bool
    verification: Verification
    recorded: Recorded
    differs: str | None = None


def restore(
    source: Path, target: Path, open_site: Callable[[Path], Site], *, against: bytes | None = None, tell: Tell
) -> Restored:
    """Make a workspace in `target`, which is not there or is empty, of the backup `source`, or of the newest one in
    that folder; then verify it, also against a checkpoint that was kept elsewhere, and record that in its log.

    BackupRefusedError, WorkspaceRefusedError, OSError: then nothing is left in `target`.
    """
    backup = _chosen(source)
    about = read_about(backup)
    check_version(backup / WORKSPACE)
    saved = list(read_manifest(backup, about))
    keys = (backup / KEYS).is_dir()
    if not keys:
        saved = [each for each in saved if each.item.path.split("/")[0] != KEYS]
    _check_target(backup, target)
    _check_site(backup, saved, open_site)
    made = not target.exists()
    try:
        _fill(backup, target, saved, tell)
    except BaseException:
        _empty(target, made)
        raise
    site = open_site(target)
    found = verify(site, lambda done, total: tell("verifying", done, total))
    files = sum(each.sha256 is not None for each in saved)
    differs = _differs(site, against) if against else None
    wrong = len(found.integrity) + len(found.altered) + len(found.added)
    said = WorkspaceRestored(
        backup=backup.name, made=about.made, size=about.size, root=about.root, files=files, keys=keys, wrong=wrong
    )
    return Restored(backup, about, files, keys, found, record(site, said), differs)


def _differs(site: Site, against: bytes) -> str | None:
    """How the log differs from a checkpoint that was kept elsewhere."""
    findings = audit.verify(site.audit, site.public_key, against=against).findings
    return next((finding.message for finding in findings if finding.where == audit.KEPT), None)


def _chosen(source: Path) -> Path:
    """The backup itself, or the newest whole one in a folder of backups."""
    if not source.is_dir():
        raise BackupRefusedError(source, "no folder", "name a backup, or a folder of backups")
    if (source / "backup.json").exists() or not (found := backups_in(source)):
        return source
    return found[-1]


def _check_target(backup: Path, target: Path) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BackupRefusedError(target, "is there and is not empty", "name an empty folder, or one that is not there")
    if target.resolve().is_relative_to(backup.resolve()):
        raise BackupRefusedError(target, "lies in the backup", "name a folder elsewhere")
    if audit.is_network(kind := audit.file_system_of(target)):
        raise BackupRefusedError(target, f"lies on a network file system ({kind})", "a log needs a local disk")


def _check_site(backup: Path, saved: Iterable[Saved], open_site: Callable[[Path], Site]) -> None:
    """Let `open_site` refuse what this version does not understand, before anything is copied."""
    file = backup / WORKSPACE / _SITE
    if file.is_file() and file_sha256(file) in [each.sha256 for each in saved if each.item.path == _SITE]:
        open_site(file.parent)


def _fill(backup: Path, target: Path, saved: list[Saved], tell: Tell) -> None:
    """Copy everything, folders first and site.yaml last."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in (STATE, KEYS):
        (target / name).mkdir(mode=0o700)
    folders = [each for each in saved if each.sha256 is None]
    for each in sorted(folders, key=lambda folder: folder.item.path):
        (target / each.item.path).mkdir(mode=0o700, parents=True, exist_ok=True)
    files = sorted((each for each in saved if each.sha256 is not None), key=lambda file: file.item.path == _SITE)
    for number, each in enumerate(files, 1):
        if each.item.path == _SITE:
            audit.sync_filesystem(target)
        _bring(backup, target, each)
        tell("restoring", number, len(files))
    for each in sorted(folders, key=lambda folder: folder.item.path, reverse=True):  # those within others first
        give_folder(target / each.item.path, each.item)
    audit.sync_filesystem(target)


def _bring(backup: Path, target: Path, saved: Saved) -> None:
    """Copy one file, which has to have the bytes that it had when the backup was made."""
    folder, path = place_of(backup, saved.item.path)
    try:
        sha256 = copy_file(folder, path, target / saved.item.path, saved.item, lambda number: None)
    except FileNotFoundError as error:
        raise BackupRefusedError(folder / path, "is missing from the backup", "take another backup") from error
    if sha256 != saved.sha256:
        found = f"has other bytes than when the backup was made (sha256 {sha256[:12]}…, not {saved.sha256:.12}…)"
        raise BackupRefusedError(folder / path, found, "take another backup")


def _empty(target: Path, made: bool) -> None:
    """Leave the target as it was: not there, or empty."""
    if made:
        shutil.rmtree(target, ignore_errors=True)
        return
    for each in target.iterdir():
        shutil.rmtree(each, ignore_errors=True) if each.is_dir() else each.unlink(missing_ok=True)
