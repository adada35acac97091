"""`cloister backup` and `restore`, the workspace on another disk; and `cloister encryption`, keys of what is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import pipeline
from jobs.cli.audit_verify import exit_code_of, verification_lines
from jobs.cli.options import Wait, argument, option, read_note
from jobs.cli.printing import Answer, At, listed
from jobs.config.load import load_site, shown
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace, keep_private
from jobs.errors import NO_ROOM, ConfigError, ExitCode, Problem, worst
from jobs.progress import telling
from jobs.record import tell_not_recorded
from jobs.visible import counted

_MIB = 2**20


def backup(
    at: At,
    folder: Annotated[Path, argument("DEST", "The folder of the backups, made if it is not there.")],
    keys: Annotated[bool, option("--with-keys", "Copy the keys, too: who has such a backup can sign the log.")] = False,
) -> Answer:
    """Copy the workspace into a new folder in DEST, and verify the copy.

    Runs and the service go on meanwhile. What has not changed since the backup before is one with its files there, and
    takes no room. A backup that is cut off or finds no room leaves those before it as they were. Caches are left out,
    and folders of documents that lie outside of the workspace.
    """
    site, now = at.site, datetime.now(UTC)
    with telling("backing up") as tell, _refusals(site.root, folder):
        made = pipeline.back_up(
            site, folder, _site_of, now, keys=keys, tell=lambda what, done, all: tell(done, all, what)
        )
    code = exit_code_of(made.verification)
    if made.recorded.why:
        tell_not_recorded(made.recorded.why)
    told = {"folder": made.folder, **vars(made.about), "files": made.files, "copied_bytes": made.copied_bytes}
    told |= {"linked": made.linked, "damaged_before": made.damaged, "exit_code": code}
    return Answer(told, _backup_lines(made, site.origin, code), code)


@contextmanager
def _refusals(root: Path, folder: Path) -> Iterator[None]:
    """A backup that is refused is a mistake of the command, or a damaged disk; so is one that finds no room."""
    try:
        yield
    except pipeline.backup.BackupRefusedError as error:
        raise ConfigError(Problem(error.where, error.found, None, error.remedy)) from error
    except pipeline.backup.NeverStillError as error:
        raise ConfigError(Problem("backup", str(error), None, "try again, or when no job is running")) from error
    except OSError as error:
        where = str(error.filename or folder)
        if error.errno not in NO_ROOM or (root / where).is_relative_to(root):
            raise
        remedy = "make room there, or let this user write there; the backups before are as they were"
        raise ConfigError(Problem(where, error.strerror or str(error), None, remedy)) from error


def _site_of(root: Path) -> pipeline.Site:
    return make_site(Workspace(root, load_site(root / "site.yaml")))


def _backup_lines(made: pipeline.backup.BackedUpNow, origin: str, code: ExitCode) -> Iterator[str]:
    new = f"{made.copied_bytes / _MIB:,.1f} MiB copied"
    yield f"{made.folder}: {counted(made.files, 'file')}, {new}, {made.linked:,} as in the backup before."
    yield f"  log           {counted(made.about.size, 'entry')}, root {made.about.root}"
    keys = "in it: keep it as you keep the keys" if made.about.keys else "not in it: keep them apart"
    yield f"  keys          {keys}"
    if made.damaged:
        yield f"  DAMAGED       {made.damaged}, the backup before: nothing was taken from it. Look at that disk"
    if made.about.left_out:
        yield f"  left out      {counted(len(made.about.left_out), 'thing')}:"
        yield from listed([f"{path}: {why}" for path, why in made.about.left_out.items()], len(made.about.left_out))
    if code == ExitCode.DONE and made.verification.complete:
        yield "  verified      all that the log proves is in it, unchanged"
    else:
        yield from verification_lines(made.verification, origin)


def restore(
    source: Annotated[Path, argument("SRC", "A backup, or a folder of backups: then the newest one in it.")],
    folder: Annotated[Path, argument("DIR", "The folder of the workspace; it must be empty or not exist.")],
    against: Annotated[
        Path | None, option("--against", "Say whether the log is older than this kept or cosigned checkpoint.", "FILE")
    ] = None,
) -> Answer:
    """Make a workspace of a backup, and verify it.

    Every file is held against the list of the backup, and the log against all that it proves; the log then gets the
    entry of that. Exit 4 if something was
    altered, or if the checkpoint knows of entries that the backup does not have, as is right for an older one.
    """
    keep_private()
    kept = read_note(against) if against else None
    with telling("restoring") as tell:
        try:
            made = pipeline.restore(
                source, folder, _site_of, against=kept, tell=lambda what, done, all: tell(done, all, what)
            )
        except pipeline.backup.BackupRefusedError as error:
            raise ConfigError(Problem(error.where, error.found, None, error.remedy)) from error
        except pipeline.version.WorkspaceRefusedError as error:
            raise ConfigError(Problem(str(source), error.found, error.expected, error.remedy)) from error
    if made.recorded.why is not None:
        tell_not_recorded(made.recorded.why)
    code = worst([exit_code_of(made.verification), *([ExitCode.AUDIT_FAILED] if made.differs else [])])
    said = {"folder": folder.absolute(), "backup": made.backup, "made": made.about.made, "keys": made.keys}
    said |= {"right": made.about.right, "files": made.files, "differs": made.differs}
    said |= {"ok": made.verification.ok, "complete": made.verification.complete}
    return Answer({**said, **vars(made.verification), "exit_code": code}, _restored_lines(made, folder, against), code)


def _restored_lines(made: pipeline.backup.Restored, folder: Path, against: Path | None) -> Iterator[str]:
    yield f"{shown(folder)}: {counted(made.files, 'file')} as they were at {made.about.made} ({made.backup})."
    if not made.keys:
        yield "  keys          not in the backup: bring them to keys/, readable by their owner alone (mode 0600)"
    yield from verification_lines(made.verification, made.about.origin)
    if not made.about.right:
        yield "  NOT RIGHT     when it was made, as it says itself: an older backup of this folder may be"
    if against and made.differs:
        yield f"  OLDER OR ANOTHER than the checkpoint in {against}: {made.differs}"
        yield "                what the checkpoint knows beyond this backup is lost, unless a later backup has it"
    elif against:
        yield f"  extends       the checkpoint in {against}"


def new(file: Annotated[Path, argument("FILE", "The file of the key, which must not exist.")]) -> Answer:
    """Make a key that wraps the keys of documents and results.

    Only its owner may read the file. site.yaml names it: `encryption: {key_file: FILE}`.
    """
    try:
        made = pipeline.atrest.make_kek(file)
    except FileExistsError as error:
        raise ConfigError(Problem(shown(file), "exists already; a key is never overwritten")) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ConfigError(Problem(shown(file), "lies in no folder", None, f"mkdir -p {shown(file.parent)}")) from error
    return Answer({"file": str(file.absolute()), "key": made.name}, [
        f"Made the key {made.name} in {shown(file)}",
        "  Keep a copy of it elsewhere, and not with the backups: without it nothing that is encrypted can be read.",
        "  In site.yaml:  encryption: {key_file: FILE}, with the path from the workspace, or the whole path",
    ])  # fmt: skip


def rewrap(at: At, wait: Wait = 0) -> Answer:
    """Wrap the keys of documents and results anew, with the key that site.yaml names today.

    Before, name the new key as encryption.key_file, and the old one as previous_key_file. No document is encrypted
    anew. What is cut off is ended by the same command. Afterwards the old key opens nothing of this workspace; with it
    go all older copies of private/, as in backups.
    """
    if not at.site.at_rest.on:
        raise ConfigError(Problem("site.yaml", "no key 'encryption': nothing is encrypted here"))
    with pipeline.records.open_journal(at.site, wait):
        done = pipeline.rewrap(at.site.at_rest)
    lines = [f"The key {done.key} wraps {done.keys:,} keys, {done.rewrapped:,} of them since now"]
    if done.rewrapped:
        lines += [
            "  Make a backup, then destroy the key before it: it opens nothing here any more, but older backups, and",
            "  those open from then on only with private/.atrest/ of a newer one",
        ]
    return Answer(asdict(done), lines)


def decrypt(
    at: At,
    file: Annotated[Path, argument("FILE", "A file in archive/ or failed/.")],
    out: Annotated[Path, option("--out -o", "The clear copy, which must not exist.", "FILE")],
) -> Answer:
    """Write a clear copy of a document or text that is kept encrypted; only its owner may read it.

    A file that is not encrypted is copied as it is. For results there is `cloister results JOB -o FILE`.
    """
    try:
        data = at.site.at_rest.read_bytes(file)
        with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as copy:
            copy.write(data)
    except FileExistsError as error:
        raise ConfigError(Problem(shown(out), "exists already", None, "name another file")) from error
    except (FileNotFoundError, IsADirectoryError) as error:
        raise ConfigError(Problem(str(error.filename or file), f"no file: {error.strerror}")) from error
    told = {"file": str(out.absolute()), "bytes": len(data)}
    return Answer(told, [f"Wrote {len(data):,} bytes to {shown(out)}, in the clear"])
