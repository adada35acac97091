"""The folder of an export, in the order in which it is made. audit/FORMAT.md has its bytes.

records.jsonl           the entries of the range, as they stand in the log
records.parquet         the same as a table
report.html             the same for people
keys/                   the log's public key and earlier ones
verify.py               one file that checks all of it
export.json             the range, and the sha256 of each file above
                        (now the log gets its record of this export, which has the sha256 of export.json, as the very
                        next entry: nothing can have come between)
log/                    the log in the layout of C2SP tlog-tiles, with that record
export.proof            that record with its proof; not there where this user may not write the log
keys/rotated-*.proof    how each earlier key handed over to the next
SHA256SUMS              of all files, for sha256sum -c
"""

import contextlib
import fcntl
import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import audit
from pipeline.paths.names import file_sha256
from pipeline.plan import Site
from pipeline.proof.export.mirror import Mirror
from pipeline.proof.export.page import Fate, add_answers, write_report
from pipeline.proof.export.summary import Summary
from pipeline.records.entries import recorded_entries
from pipeline.records.journal import Recorded, cut_record, open_journal
from pipeline.records.settings import label
from pipeline.records.types import LogExported

VERSION = 1
_BUNDLE = 256  # entries
_UNFINISHED = "cloister-export"
_ATTEMPTS = 5
_BEFORE, _INSIDE, _AFTER = 0, 1, 2  # where an entry lies, beside the range of times that was asked for


class Asked(NamedTuple):
    """The time that was asked for, as entries have times, and whether answers are shown."""

    since: str
    before: str
    answers: bool


class Prepared(NamedTuple):
    """Holds what was written before the log is held: the range, the sha256 of export.json, and how many answers are
    shown."""

    span: "Span"
    sha256: str
    answers: int


@dataclass(frozen=True)
class Span:
    """The entries `first` to `end` - 1 of a log of `size` entries with the root `root`, among which are all whose time
    lies in [since, before); `range_of` says which others are."""

    since: str
    before: str
    first: int
    end: int
    size: int
    root: bytes

    @property
    def bundles(self) -> range:
        """The entries in whose bundles the range lies, and one before and after it, which show where it begins and
        ends."""
        return range(max(self.first - 1, 0), min(self.end + 1, self.size))


@dataclass(frozen=True)
class Exported:
    """The export in `folder`: `records` entries from number `first` on, and in the same bundles of 256 `others`.
    `size` and `root` are the log's; `recorded` says whether it knows of this export. `answers` of documents stand in
    its report."""

    folder: Path
    records: int
    first: int
    others: int
    size: int
    root: bytes
    recorded: Recorded
    answers: int


def export(
    site: Site, target: Path, since: date | None = None, until: date | None = None, *, wait: float = 0,
    answers: bool = True,
) -> Exported:  # fmt: skip
    """Write the entries of these days (UTC, both included) to `target`, which must not exist, or be an empty folder;
    `answers`: the report shows the answers of documents, but of private jobs.

    Everything is read and checked first: audit.AuditError; of them LogHeld if another process holds the log for longer
    than `wait` seconds. FileExistsError; OSError. Then nothing is left behind. A log that this user cannot write is
    exported all the same, without a record of it. What an export to `target` left that was killed goes too.
    """
    target = target.resolve()  # "." has a name too
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there already, and is not an empty folder")
    asked = Asked(_moment(since or date.min), _moment(until + timedelta(1) if until else date.max), answers)
    with _beside(target) as folder:
        made, checkpoint, recorded = _fill(site, folder, asked, wait)
        lines = [f"{file_sha256(folder / name)}  {name}\n" for name in _names(folder)]
        (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
        audit.sync_filesystem(folder)
        folder.rename(target)
        audit.sync_folder(target.parent)
    span, size = made.span, checkpoint.size
    held = min(-(-span.bundles.stop // _BUNDLE) * _BUNDLE, size) - span.bundles.start // _BUNDLE * _BUNDLE
    records = span.end - span.first
    others = held - records if span.bundles else -records
    return Exported(target, records, span.first, others, size, checkpoint.root, recorded, made.answers)


def _fill(site: Site, folder: Path, asked: Asked, wait: float) -> tuple[Prepared, audit.Checkpoint, Recorded]:
    """All files but SHA256SUMS. The log is read before it is held, so that no run has to wait for that; what was
    committed meanwhile makes it read once more."""
    made = _prepare(site, folder, asked)
    try:
        with open_journal(site, wait) as journal:
            if cut := cut_record(journal):
                journal.commit(cut)
            if journal.next_index != made.span.size:
                made = _prepare(site, folder, asked)
            journal.commit([_record(made)])
            size = made.span.size
            return made, _write_log(site, made.span, folder, size), Recorded(n=size)
    except audit.LogHeld:
        raise
    except audit.AuditError as error:
        return *_without_record(site, folder, asked), Recorded(why=str(error))


def _prepare(site: Site, folder: Path, asked: Asked) -> Prepared:
    """All files that export.json names, and that. What an earlier attempt made goes."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    checkpoint = audit.read_checkpoint(site.audit, site.public_key)
    sides, since, before = bytearray(), asked.since, asked.before
    for n, entry in recorded_entries(site):  # at its end the log is known to be the signed one
        if n < checkpoint.size:
            sides.append(_BEFORE if entry["time"] < since else _INSIDE if entry["time"] < before else _AFTER)
    span = Span(since, before, *range_of(sides), checkpoint.size, checkpoint.root)
    answers = _write_records(site, span, folder, asked.answers)
    (folder / "keys").mkdir()
    (folder / "keys" / "log.pub").write_text(site.public_key + "\n", encoding="utf-8")
    for rotation in audit.rotations(site.audit, site.public_key):
        (folder / "keys" / f"until-{rotation.n:012d}.pub").write_text(rotation.old_key + "\n", encoding="utf-8")
    shutil.copyfile(audit.VERIFIER, folder / "verify.py")
    about = {
        "v": VERSION, "origin": site.origin, "from": span.since, "before": span.before,
        "first": span.first, "end": span.end, "size": span.size, "root": span.root.hex(),
        "bundles": [span.bundles.start // _BUNDLE * _BUNDLE, span.bundles.stop],
        "software": label(), "files": {name: file_sha256(folder / name) for name in _names(folder)},
    }  # fmt: skip
    body = audit.canonical(about) + b"\n"
    (folder / "export.json").write_bytes(body)
    return Prepared(span, hashlib.sha256(body).hexdigest(), answers)


def range_of(sides: bytes | bytearray) -> tuple[int, int]:
    """The smallest range of entries, as (first, end), with all that lie inside, and such that in the bundles of the
    entries next to it all others lie before it, or after it. `sides` says it of each entry.

    So whoever has only the bundles around the range can see that none of its entries was left out. Where a clock was
    set, entries of other times stand beside the range: they are taken in, until what lies around it is in order."""
    if (first := sides.find(_INSIDE)) >= 0:
        end = sides.rfind(_INSIDE) + 1
    else:  # an empty range between what lies before and after
        pair = sides.find(bytes([_BEFORE, _AFTER]))
        first = end = 0 if sides.startswith(bytes([_AFTER])) else pair + 1 if pair >= 0 else len(sides)
    wrong: int | None = first
    while wrong is not None:
        first = wrong
        shown = range(max(first - 1, 0) // _BUNDLE * _BUNDLE, first)
        wrong = next((n for n in shown if sides[n] != _BEFORE), None)
    wrong = end - 1
    while wrong is not None:
        end = wrong + 1
        shown = range(end, min((end // _BUNDLE + 1) * _BUNDLE, len(sides)))
        wrong = next((n for n in reversed(shown) if sides[n] != _AFTER), None)
    return first, end


def _without_record(site: Site, folder: Path, asked: Asked) -> tuple[Prepared, audit.Checkpoint]:
    """The files, and a copy of the log as it was when its range was looked for: nobody says what came later."""
    for _ in range(_ATTEMPTS):
        made = _prepare(site, folder, asked)
        checkpoint = _write_log(site, made.span, folder, None)
        if checkpoint.size == made.span.size:
            return made, checkpoint
    raise audit.LogUnwritable(f"{site.audit}: others write it all the time; try again when no run is at work")


def _record(made: Prepared) -> LogExported:
    span = made.span
    return LogExported(since=span.since, before=span.before, first=span.first, end=span.end, export_sha256=made.sha256)


def _moment(day: date) -> str:
    return f"{datetime.combine(day, time(), UTC):%Y-%m-%dT%H:%M:%S}.000000Z".rjust(27, "0")


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A folder that only we can read, to become `target`; gone if it does not. It is locked while we live, so that the
    next export to the same target knows what is left of the dead."""
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{target.name}-{_UNFINISHED}-"
    with _locked(target.parent):  # of two exports at once neither takes the other's new folder for a dead one's
        for path in target.parent.glob(f"{glob.escape(prefix)}*"):
            if path.is_symlink() or not path.is_dir() or path.stat().st_uid != os.geteuid():
                continue
            with contextlib.suppress(BlockingIOError), _locked(path, fcntl.LOCK_NB):
                shutil.rmtree(path, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        ours = contextlib.ExitStack()
        ours.enter_context(_locked(folder))
    with ours:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path, how: int = 0) -> Iterator[None]:
    """BlockingIOError with LOCK_NB, if another process has locked it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | how)
        yield
    finally:
        os.close(handle)


def _write_records(site: Site, span: Span, folder: Path, answers: bool) -> int:
    """The records as lines, as a table and as a page; how many answers the page shows."""
    summary = Summary()
    with (folder / "records.jsonl").open("wb") as lines, Mirror(folder / "records.parquet") as mirror:
        for entry in _entries(site, span):
            line = audit.canonical(entry)
            lines.write(line + b"\n")
            mirror.add(entry, line)
            summary.add(entry)
    about = {
        "since": span.since, "before": span.before, "first": span.first, "end": span.end, "size": span.size,
        "root": span.root.hex(), "key": site.public_key, "origin": site.origin, "software": label(),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    fates = add_answers(site, summary.documents.rows) if answers else None
    write_report(folder / "report.html", about, summary, fates)
    return fates[Fate.SHOWN] if fates else 0


def _entries(site: Site, span: Span) -> Iterator[Mapping[str, Any]]:
    if span.first < span.end:
        for n, entry in recorded_entries(site, span.first):
            yield entry
            if n + 1 == span.end:
                return


def _write_log(site: Site, span: Span, folder: Path, number: int | None) -> audit.Checkpoint:
    checkpoint = audit.write_tlog_tiles(site.audit, site.public_key, folder / "log", span.bundles)
    note = (folder / "log" / "checkpoint").read_bytes()
    proofs = {f"keys/rotated-{each.n:012d}.proof": each.n for each in audit.rotations(site.audit, site.public_key)}
    if number is not None:
        proofs["export.proof"] = number
    for name, n in proofs.items():
        (folder / name).write_text(audit.prove(site.audit, site.public_key, n, note), encoding="utf-8")
    return checkpoint


def _names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
