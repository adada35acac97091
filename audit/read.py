"""Reading what is committed, without the lock: a checkpoint only ever covers what no writer touches again."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from audit import store
from audit.checkpoint import Checkpoint
from audit.durable import StrPath
from audit.entry import Entry, parse_entry
from audit.errors import RESTORE, LogUntrusted
from audit.merkle import Tree, leaf_hash
from audit.recover import read_head
from audit.report import Finding
from audit.sign import parse_public_key
from audit.verify import verify

_LOOKS = 10
"""How often the tail is read again because a writer committed meanwhile."""


def read_checkpoint(folder: StrPath, public_key: str) -> Checkpoint:
    """The checkpoint that the log's key signed last; LogUntrusted if it did not, KeyRefused if `public_key` is none."""
    return store.read_checkpoint(Path(folder), parse_public_key(public_key))[0]


def read_entries(folder: StrPath, public_key: str, start: int = 0) -> Iterator[tuple[int, Entry]]:
    """The committed entries from `start` on, with their numbers, in order. Entries that a writer commits meanwhile
    are not among them. Each is checked to be canonical, well-formed and rightly numbered, else LogUntrusted.

    That they are the ones which were signed is known once all of them are read from entry 0: the end is a LogUntrusted
    that names the first wrong entry if their root is not the checkpoint's. So decide nothing before the end. Who stops
    earlier, or starts later, has what `verify` would have to check.
    """
    checkpoint = read_checkpoint(folder, public_key)
    return _read(Path(folder), public_key, start, checkpoint)


def check_tail(folder: StrPath, public_key: str) -> Checkpoint:
    """The checkpoint, once all that a writer checks when it opens the log is checked (recover.py says what), without
    its lock, and nothing is written. LogUntrusted, LogUnwritable, KeyRefused."""
    key = parse_public_key(public_key)
    for _ in range(_LOOKS):
        _, note = store.read_checkpoint(Path(folder), key)
        try:
            return read_head(Path(folder), key)[0].checkpoint
        except LogUntrusted:
            if store.read_checkpoint(Path(folder), key)[1] == note:
                raise  # no writer went on meanwhile
    return read_head(Path(folder), key)[0].checkpoint


def _read(folder: Path, public_key: str, start: int, checkpoint: Checkpoint) -> Iterator[tuple[int, Entry]]:
    size, tree, n = checkpoint.size, Tree(), start
    for line in _lines(folder, start, size):
        try:
            entry = _entry(line)
        except ValueError as error:
            raise _first_wrong(folder, public_key, line.where, str(error)) from None
        if start == 0:
            tree.append(leaf_hash(line.data))
        yield line.n, entry
        n = line.n + 1
    if n < size:
        raise _first_wrong(folder, public_key, store.segment_of(n), f"ends before entry {n}, signed are {size} entries")
    if start == 0 and tree.root() != checkpoint.root:
        fact = f"signs the root {checkpoint.root.hex()}, but the entries give {tree.root().hex()}"
        raise _first_wrong(folder, public_key, store.CHECKPOINT, fact)


def _lines(folder: Path, start: int, size: int) -> Iterator[store.Line]:
    segments = dict.fromkeys(store.segments_of(size), 1 << 62)
    lines = store.read_lines(folder, segments, start) if start < size else iter(())
    return itertools.takewhile(lambda line: line.n < size, lines)


def _entry(line: store.Line) -> Entry:
    if not line.whole or line.segment != store.segment_of(line.n):
        raise ValueError("not a whole line of the segment that the entry belongs to")
    return parse_entry(line.data, line.n)


def _first_wrong(folder: Path, public_key: str, where: str, message: str) -> LogUntrusted:
    """The error that a verification gives for the entries: by the tiles, one before this place may be wrong already."""
    findings = verify(folder, public_key).findings
    finding = next((f for f in findings if f.entry is not None or f.where == store.CHECKPOINT), Finding(where, message))
    return LogUntrusted(finding.where, finding.message, RESTORE)
