"""Put a committed part in place: steps 3 and 4 of a commit, and the redo of them after a crash.

Everything is derived from the log's entries alone, and every step may be repeated, so that a run killed anywhere ends
as one that was not. Order: results and kept bytes get their places; all of that is synced; only then inputs go.
"""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Any

import audit
from pipeline.errors import Failure
from pipeline.inbox.intake import COPY, staging_of
from pipeline.paths.beneath import Writers, open_beneath, unlink_beneath
from pipeline.paths.names import REASON, archive_name, archive_place, failed_apart, failed_name, former_name
from pipeline.plan import Site
from pipeline.records.types import Document, Part, Reported
from pipeline.states import State

_CHUNK = 1 << 20


def place(site: Site, part: Part, documents: Sequence[Document]) -> None:
    """Rename the part and its Markdown files into place, then move the inputs of its documents."""
    root = site.root
    staging = root / "outbox" / part.job / ".staging"
    for name in [part.file, *(made.file for entry in documents for made in entry.made_files)]:
        _take_place(staging, root, name)
    for entry in documents:
        if entry.is_decided:  # by a person: nothing came in
            continue
        if entry.grown_from:
            clear_failed(site, replace(entry, document=entry.grown_from))
        if entry.state == State.FAILED:
            _to_failed(site, entry)
        elif entry.state == State.DUPLICATE:
            shutil.rmtree(_staging(root, entry), ignore_errors=True)
            clear_failed(site, entry)
        else:
            _to_archive(root, entry)
            clear_failed(site, entry)
    inputs = root / part.folder
    emptied = part.afterwards == "archive"
    for entry in documents if emptied else ():
        if entry.document and not entry.parent and entry.state != State.FAILED:
            _keep_bytes(site, inputs, entry)
    sync(root, *site.key_folders, *(root / name / part.job for name in ("outbox", "archive", "failed")))
    writers = Writers(inputs)
    for entry in [entry for entry in documents if entry.document and not entry.parent] if emptied else ():
        _remove_input(writers, entry)
    sync(inputs)


def move_reports(root: Path, reports: Iterable[Reported]) -> None:
    """Rename committed reports to their names, over those that they take the place of; may be repeated. OSError."""
    folders = set[Path]()
    for report in reports:
        folders.add(folder := root / "outbox" / report.job)
        for made in report.made_files:
            _take_place(folder / ".staging", root, made.file)
    sync(*folders)


def _take_place(staging: Path, root: Path, name: str) -> None:
    """Rename a staged file to its name; one that an earlier version put elsewhere for the same document goes."""
    move(staging / staged_name(name), root / name)
    if (former := former_name(name)) is not None:
        (root / former).unlink(missing_ok=True)


def sync(*folders: Path) -> None:
    """Make durable what was written below these folders: each of their file systems once."""
    there = {folder.stat().st_dev: folder for folder in folders if folder.is_dir()}
    for folder in there.values():
        audit.sync_filesystem(folder)


def staged_name(name: str) -> str:
    """The flat name under which a result waits in outbox/<job>/.staging/ for its place."""
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:32] + Path(name).suffix


def archive_folder(root: Path, job: str, sha256: str) -> Path:
    """Where a finished document lies: bytes/NAME, and the parsed text as text/SHA256.txt."""
    return root / "archive" / job / archive_place(sha256)


def move(source: Path, target: Path) -> None:
    """Rename, if the source is still there."""
    if source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)


def _move_over(source: Path, target: Path, staging: Path) -> None:
    """Move a file; to another file system, as failed/ may lie on one of its own, by a copy: whole and on the disk
    before it has its name, which is on the disk before the source goes. `staging` is a folder there."""
    try:
        move(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        staging.mkdir(exist_ok=True)
        copy = staging / COPY
        shutil.copyfile(source, copy)
        audit.sync_filesystem(staging)
        copy.rename(target)
        audit.sync_folder(target.parent)
        source.unlink()
        staging.rmdir()


def _staging(root: Path, entry: Document) -> Path:
    return staging_of(root / "archive" / entry.job, str(entry.n))


def _to_archive(root: Path, entry: Document) -> None:
    staging, final = _staging(root, entry), archive_folder(root, entry.job, str(entry.document))
    if staging.is_dir():
        move(staging / COPY, final / "bytes" / archive_name(entry.raw_path))
        for name in _names(staging / "text"):
            move(staging / "text" / name, final / "text" / name)
        _remove_staged(staging)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 (at a third of the time of paths, for each document)
    except FileNotFoundError:
        return []


def _remove_staged(staging: Path) -> None:
    """The folder of a document that was moved: as a rule it is empty, and rmtree looks at everything twice."""
    try:
        if (staging / "text").is_dir():
            (staging / "text").rmdir()
        staging.rmdir()
    except OSError:
        shutil.rmtree(staging)


def _keep_bytes(site: Site, inputs: Path, entry: Document) -> None:
    """Before an input goes: a copy, if the archive holds none any more that can be read (somebody cleaned up, or a key
    was lost, and it came again)."""
    kept = archive_folder(site.root, entry.job, str(entry.document)) / "bytes"
    if not kept.is_dir() or not any(site.at_rest.keeps(path, entry.size) for path in kept.iterdir()):
        _copy_input(site, inputs, entry, kept / archive_name(entry.raw_path))


def _to_failed(site: Site, entry: Document) -> None:
    root, folder = site.root, site.root / "failed" / entry.job
    target = _failed_place(site, folder, entry)
    target.parent.mkdir(parents=True, exist_ok=True)
    if entry.document:
        _move_over(_staging(root, entry) / COPY, target, folder / ".staging")
        shutil.rmtree(_staging(root, entry), ignore_errors=True)
    target.with_name(target.name + REASON).write_bytes(reason_body(entry))


def reason_body(entry: Document) -> bytes:
    """The .reason.json of a failed document, by its entry and the sentences of this version."""
    failure = Failure(entry.failure or "")
    told = reason_facts(entry) | {"meaning": failure.sentence, "remedy": failure.remedy}
    return (json.dumps(told, indent=2, ensure_ascii=False) + "\n").encode()


def reason_facts(entry: Document) -> dict[str, Any]:
    """The members of a .reason.json that are the same in every version."""
    return {key: getattr(entry, key) for key in ("job", "path", "document", "failure", "reason", "run", "n", "time")}


def clear_failed(site: Site, entry: Document) -> None:
    """Remove from failed/ a document that has ended otherwise since: its bytes are in the archive."""
    folder = site.root / "failed" / entry.job
    if not folder.is_dir():
        return
    for name in (failed_name(entry.raw_path), failed_apart(entry.raw_path, entry.document)):
        target, reason = folder / name, folder / (name + REASON)
        told = _reason_of(reason)
        if told in (entry.document, None, ""):
            if target.is_file() and not target.is_symlink() and _is_of(site, target, entry):
                target.unlink()
            if told != "":
                reason.unlink(missing_ok=True)
            remove_empty(target.parent, folder)


def _reason_of(path: Path) -> str | None:
    """The document of which a .reason.json tells; None if it could not be read when it failed, "" if there is none."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return None if told["document"] is None else str(told["document"])
    except (OSError, ValueError, TypeError, KeyError):
        return ""


def remove_empty(folder: Path, top: Path) -> None:
    """The folder and those above it below `top`, as far as they hold nothing."""
    with contextlib.suppress(OSError):  # not empty
        while folder != top:
            folder.rmdir()
            folder = folder.parent


def _failed_place(site: Site, folder: Path, entry: Document) -> Path:
    """Under the document's own path, or apart where something else lies there or above it."""
    target = folder / failed_name(entry.raw_path)
    above = [parent for parent in target.parents if parent.is_relative_to(folder)]
    blocked = target.is_dir() or target.with_name(target.name + REASON).is_dir()
    blocked |= any(parent.exists() and not parent.is_dir() for parent in above)
    if blocked or (target.exists() and not _is_of(site, target, entry)):
        return folder / failed_apart(entry.raw_path, entry.document)
    return target


def _is_of(site: Site, file: Path, entry: Document) -> bool:
    return site.at_rest.is_of(file, entry.job, entry.document)


def _remove_input(writers: Writers, entry: Document) -> None:
    """Only if it still is those bytes, and nobody writes to it: what comes behind them would be lost. A file that was
    put in its place meanwhile stays as new.

    One that may not be removed stays too: the next run meets it as a duplicate.
    """
    with _opened_input(writers.folder, entry) as source, contextlib.suppress(OSError):
        if source is None:
            return
        with writers.kept_away(source.fileno()) as nobody_writes:
            if _has_bytes_of(source, entry) and nobody_writes():
                unlink_beneath(writers.folder, entry.raw_path, source.fileno())


def _copy_input(site: Site, inputs: Path, entry: Document, target: Path) -> None:
    with _opened_input(inputs, entry) as source:
        if source and _has_bytes_of(source, entry):
            source.seek(0)
            target.parent.mkdir(parents=True, exist_ok=True)
            with site.at_rest.create(target, entry.job) as copy:
                for chunk in iter(lambda: source.read(_CHUNK), b""):
                    copy.write(chunk)
                copy.finish(str(entry.document))


@contextlib.contextmanager
def _opened_input(inputs: Path, entry: Document) -> Iterator[BufferedReader | None]:
    """What lies in the place of an entry's input, if it is a file that can be read; None otherwise."""
    try:
        descriptor = open_beneath(inputs, entry.raw_path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        yield None
        return
    with os.fdopen(descriptor, "rb") as source:
        yield source if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def _has_bytes_of(source: BufferedReader, entry: Document) -> bool:
    return hashlib.file_digest(source, "sha256").hexdigest() == entry.document
