"""Verification of a whole log: every byte of every file under its folder, and nothing but the public key is trusted.

Three things say what the entries are: the entries, the tiles, and the signed root. Which of them is wrong follows from
the two that agree:

    entries give the signed root                    a tile that differs is wrong
    tiles do, entries do not                        the first entry whose hash is not the tile's is wrong
    neither does, and they differ                   the first difference is named: the entry or its hash
    neither does, and they agree with each other    the checkpoint is not of these entries

Entries are streamed: memory does not grow with the log, but for the names of its files. No lock is taken: a commit
that a running writer has not finished looks like one that was interrupted, and is a note.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from audit.cosign import parse_witness_key
from audit.durable import StrPath
from audit.errors import RESTORE, LogUntrusted, LogUnwritable
from audit.kept import judge_kept, judge_unheld, signers_of
from audit.leftover import Leftover, judge_leftover
from audit.merkle import Tree, split_hashes
from audit.names import judge_names
from audit.parallel import hash_segments
from audit.report import Finding, VerifyReport
from audit.roots import StoredTree
from audit.rotation import judge_rotations
from audit.sign import PublicKey, parse_public_key
from audit.snapshot import Snapshot, take_snapshot
from audit.store import CHECKPOINT, locate, read_lines
from audit.stored import TileFault
from audit.tiles import tiles_of
from audit.walk import Progress, Walk, walk


def verify(
    folder: StrPath,
    public_key: str,
    progress: Progress | None = None,
    *,
    against: bytes | None = None,
    witnesses: Iterable[str] = (),
    processes: int = 1,
) -> VerifyReport:
    """Check everything; what is wrong is in the report, the worst first, and not raised. `progress` is called with
    (entries done, size) every 4096 entries. `against` is a checkpoint that was kept elsewhere, which the log has to
    extend, and which all of `witnesses` have to have cosigned. More `processes` find the same in less time; they are
    spawned, so a script that asks for them must be one that can be imported. KeyRefused if a key is none,
    LogUnwritable if the log cannot be read."""
    key, witnesses = parse_public_key(public_key), list(witnesses)
    for witness in witnesses:
        parse_witness_key(witness)
    try:
        snapshot = take_snapshot(Path(folder), key)
        report = _verify(snapshot, progress or (lambda done, size: None), processes)
        if report.sound:
            report.findings.extend(_judge_rotations(snapshot, key))
        if against is not None:
            report.findings.extend(_judge_kept(snapshot, key, against, witnesses))
        return report
    except LogUntrusted as error:
        findings = [Finding(error.where, f"{error.message}; {RESTORE}")]
        if against is not None:
            findings.append(judge_unheld(against, key))
        return VerifyReport(key.origin, 0, b"", findings)
    except LogUnwritable as error:
        raise LogUnwritable(f"{error}: nothing can be said of a log that cannot be read") from error


def _verify(snapshot: Snapshot, progress: Progress, processes: int) -> VerifyReport:
    checkpoint = snapshot.checkpoint
    report = VerifyReport(checkpoint.origin, checkpoint.size, checkpoint.root)
    folder, segments = snapshot.folder, snapshot.listing.segments()
    read = partial(read_lines, folder, segments)
    with closing(hash_segments(folder, checkpoint.size, segments, processes)) as hashed:
        walked = walk(read, checkpoint.size, snapshot.stored, progress, hashed if processes > 1 else ())
    committed = set(tiles_of(checkpoint.size))
    faults = [fault for fault in walked.faults if fault.tile in committed]
    if walked.broken is None and walked.root == checkpoint.root:
        report.findings.extend(_wrong_tiles(faults))
        _judge_leftover(snapshot, walked, report)
    else:
        report.findings.extend(_wrong_entries(snapshot, walked, faults))
    report.findings.extend(judge_names(checkpoint.size, snapshot.listing))
    return report


def _judge_rotations(snapshot: Snapshot, key: PublicKey) -> list[Finding]:
    return judge_rotations(snapshot.folder, snapshot.listing, snapshot.checkpoint, key, snapshot.stored)


def _judge_kept(snapshot: Snapshot, key: PublicKey, kept: bytes, witnesses: list[str]) -> list[Finding]:
    tree = StoredTree(snapshot.checkpoint.size, snapshot.stored)
    finding = judge_kept(kept, signers_of(snapshot.folder, key, kept), snapshot.checkpoint, tree, witnesses)
    return [finding] if finding else []


def _judge_leftover(snapshot: Snapshot, walked: Walk, report: VerifyReport) -> None:
    checkpoint = snapshot.checkpoint
    if walked.bytes != checkpoint.segment_bytes:
        fact = f"signs {checkpoint.segment_bytes} bytes of entries, found {walked.bytes}"
        report.findings.append(Finding(CHECKPOINT, fact))
    findings, notes = judge_leftover(
        Leftover(
            checkpoint,
            snapshot.note,
            snapshot.new_checkpoint,
            snapshot.listing,
            walked.tree,
            walked.beyond,
            walked.faults,
        )
    )
    report.findings.extend(findings)
    report.notes.extend(notes)


def _wrong_tiles(faults: list[TileFault]) -> Iterator[Finding]:
    return (Finding(fault.tile.path, str(fault)) for fault in faults)


def _wrong_entries(snapshot: Snapshot, walked: Walk, faults: list[TileFault]) -> Iterator[Finding]:
    """The entries are not the signed ones. If the tiles are, they tell the first wrong entry exactly."""
    above = _faults_above_leaves(snapshot)
    doubt = "" if above is not None else " (or the tile is wrong: the tiles do not give the signed root either)"
    leaves = [(fault.entries.start, fault.of_leaf()) for fault in faults if fault.tile.level == 0]
    wrong = [(n, f"not the entry that was signed: {fact}{doubt}") for n, fact in leaves]
    wrong += [walked.broken] if walked.broken else []
    if wrong:
        n, message = min(wrong)
        yield Finding(locate(n), message, n)
    else:
        yield Finding(CHECKPOINT, _misfit(snapshot, walked, faults))
    yield from _wrong_tiles(above or [])


def _misfit(snapshot: Snapshot, walked: Walk, faults: list[TileFault]) -> str:
    """The entries and the tiles of their hashes fit each other, but not the root: someone changed both."""
    fact = f"signs the root {snapshot.checkpoint.root.hex()}, but the entries and their tiles give {walked.root.hex()}"
    if not faults:
        return fact
    fault = min(faults, key=lambda fault: (fault.tile.level, fault.entries.start))
    return f"{fact}; by {fault.tile.path} one of the entries {fault.entries[0]} to {fault.entries[-1]} was changed"


def _faults_above_leaves(snapshot: Snapshot) -> list[TileFault] | None:
    """The faults of the tiles above level 0 if those of level 0 give the signed root; None if they do not."""
    tree, faults, committed = Tree(), list[TileFault](), list(tiles_of(snapshot.checkpoint.size))
    for tile in (tile for tile in committed if tile.level == 0):
        for leaf in split_hashes(snapshot.stored.read(tile)):
            faults += [fault for full in tree.append(leaf) for fault in snapshot.stored.compare(full)]
    if tree.size != snapshot.checkpoint.size or tree.root() != snapshot.checkpoint.root:
        return None
    faults += [fault for part in tree.unfinished() for fault in snapshot.stored.compare(part)]
    return [fault for fault in faults if fault.tile.level > 0 and fault.tile in set(committed)]
