"""What lies in a log's folder and is not of its checkpoint: either what an interrupted (or running) commit leaves,
which is a note, or something that nobody can explain, which is a finding.

A commit appends entries, then makes tiles, then a new checkpoint (log.py). So leftover entries are whole and numbered
on, all with one stamp, and at most the last is torn; leftover tiles have the hashes of signed or leftover entries;
and a new checkpoint that was not put in place is one of all these entries.
"""

from audit.checkpoint import MAX_BYTES, Checkpoint, format_body
from audit.errors import LogUntrusted
from audit.recover import more_than_one_commit, tile_folders
from audit.report import Finding, VerifyReport
from audit.snapshot import Snapshot
from audit.store import CHECKPOINT, ENTRIES, LOCK, NEW_CHECKPOINT, Line, open_file, segments_of
from audit.stored import is_torn
from audit.tiles import FOLDER, parse_tile_path, tiles_of
from audit.walk import Walk

_UNKNOWN = "no file of this log"
_LEFT = "of a commit that was interrupted, or is running; no part of the log, and removed at the next start"


def judge_leftover(snapshot: Snapshot, walked: Walk, report: VerifyReport) -> None:
    """Once the signed entries are known to be right."""
    _judge_segments(snapshot, walked, report)
    _judge_tiles(snapshot, walked, report)
    _judge_new_checkpoint(snapshot, walked, report)


def judge_names(snapshot: Snapshot, report: VerifyReport) -> None:
    """Everything that belongs to the checkpoint is there, and there is nothing whose name says nothing."""
    size, listing = snapshot.checkpoint.size, snapshot.listing
    own = {LOCK, CHECKPOINT, *segments_of(size), *(tile.path for tile in tiles_of(size))}
    folders = {ENTRIES} | tile_folders(tiles_of(size))
    for path in sorted(own - listing.files.keys()) + sorted(folders - listing.folders):
        report.findings.append(Finding(path, "missing"))
    if listing.files.get(LOCK):
        report.findings.append(Finding(LOCK, f"{listing.files[LOCK]} bytes long, expected an empty file"))
    judged = {NEW_CHECKPOINT, *listing.segments(), *(path for path in listing.files if parse_tile_path(path))}
    for path in sorted(listing.files.keys() - own - judged):
        report.findings.append(Finding(path, _UNKNOWN))
    for path in sorted(path for path in listing.folders - folders if not FOLDER.fullmatch(path)):
        report.findings.append(Finding(path, "no folder of this log"))
    for path, kind in sorted(listing.others.items()):
        report.findings.append(Finding(path, f"{kind}, expected only files and folders"))


def _judge_segments(snapshot: Snapshot, walked: Walk, report: VerifyReport) -> None:
    checkpoint, listing = snapshot.checkpoint, snapshot.listing
    if walked.bytes != checkpoint.segment_bytes:
        fact = f"signs {checkpoint.segment_bytes} bytes of entries, found {walked.bytes}"
        report.findings.append(Finding(CHECKPOINT, fact))
    if len(walked.stamps) > 1:
        report.findings.append(Finding(CHECKPOINT, more_than_one_commit(checkpoint.size)))
    if walked.rest is not None and not _is_torn_line(walked.rest):
        fact = "neither a signed entry nor what an interrupted commit leaves; the next start cuts it"
        report.findings.append(Finding(f"{walked.rest.segment}, line {walked.rest.row}", fact))
    known = {*segments_of(checkpoint.size), *segments_of(walked.tree.size + 1)}
    for path in listing.segments().keys() - known:
        report.findings.append(Finding(path, _UNKNOWN))
    if extra := sum(size for path, size in listing.segments().items() if path in known) - walked.bytes:
        report.notes.append(f"{ENTRIES}: {extra} bytes ({walked.beyond} whole entries) beyond the checkpoint: {_LEFT}")


def _judge_tiles(snapshot: Snapshot, walked: Walk, report: VerifyReport) -> None:
    faults = {fault.tile: fault for fault in walked.faults}
    for tile in sorted(snapshot.stored.all() - set(tiles_of(snapshot.checkpoint.size))):
        fault = faults.get(tile)
        if (fault is None or fault.torn) and walked.tree.size >> 8 * tile.level > tile.index << 8:
            report.notes.append(f"{tile.path}: {_LEFT}")
        else:
            report.findings.append(Finding(tile.path, str(fault or "a tile of entries that the log does not have")))


def _judge_new_checkpoint(snapshot: Snapshot, walked: Walk, report: VerifyReport) -> None:
    if NEW_CHECKPOINT not in snapshot.listing.files:
        return
    old, note = format_body(snapshot.checkpoint).encode(), snapshot.note
    end = Checkpoint(report.origin, walked.tree.size, walked.tree.root(), walked.bytes + walked.beyond_bytes)
    body = format_body(end).encode()
    found = _read_new_checkpoint(snapshot)
    signature = len(note) - len(old)
    if is_torn(found, note) or (is_torn(found[: len(body)], body) and len(found) <= len(body) + signature):
        report.notes.append(f"{NEW_CHECKPOINT}: {_LEFT}")
    else:
        report.findings.append(Finding(NEW_CHECKPOINT, "not the checkpoint of the entries that lie here"))


def _read_new_checkpoint(snapshot: Snapshot) -> bytes:
    """At most one byte more than a checkpoint can have; empty if a running writer has put it in place meanwhile."""
    try:
        with open_file(snapshot.folder, NEW_CHECKPOINT) as file:
            return file.read(MAX_BYTES + 1)
    except LogUntrusted:
        return b""


def _is_torn_line(line: Line) -> bool:
    """A line without end that begins as every entry does; zeros are what a file system may show for bytes it lost."""
    return not line.whole and is_torn(line.data[:2], b'{"')
