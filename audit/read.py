"""Reading what is committed, without the lock: a checkpoint only ever covers what no writer touches again."""

from collections.abc import Iterator
from pathlib import Path

from audit import store
from audit.checkpoint import Checkpoint
from audit.durable import StrPath
from audit.entry import Entry, parse_entry
from audit.errors import LogUntrusted
from audit.sign import parse_public_key


def read_checkpoint(folder: StrPath, public_key: str) -> Checkpoint:
    """What the log's key signed last; LogUntrusted if it did not, KeyRefused if `public_key` is none."""
    return store.read_checkpoint(Path(folder), parse_public_key(public_key))[0]


def read_entries(folder: StrPath, public_key: str, start: int = 0) -> Iterator[tuple[int, Entry]]:
    """The committed entries from `start` on, with their numbers, in order. Entries that a writer commits meanwhile
    are not among them. Each is checked to be canonical, well-formed and rightly numbered, else LogUntrusted; that it
    is the one which was signed is what `verify` checks."""
    checkpoint = read_checkpoint(folder, public_key)
    return _read(Path(folder), start, checkpoint.size)


def _read(folder: Path, start: int, size: int) -> Iterator[tuple[int, Entry]]:
    n = start
    segments = dict.fromkeys(store.segments_of(size), 1 << 62)
    for line in store.read_lines(folder, segments, start) if start < size else ():
        if line.n == size:
            return
        try:
            yield line.n, _entry(line)
        except ValueError as error:
            raise LogUntrusted(line.where, str(error)) from None
        n = line.n + 1
    if n < size:
        raise LogUntrusted(store.segment_of(n), f"ends before entry {n}, signed are {size} entries")


def _entry(line: store.Line) -> Entry:
    if not line.whole or line.segment != store.segment_of(line.n):
        raise ValueError("not a whole line of the segment that the entry belongs to")
    return parse_entry(line.data, line.n)
