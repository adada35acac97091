"""A writer opens the log: it checks the state that the checkpoint signs, and cuts what lies beyond it.

Checked at every start, in time that hardly grows with the log: the checkpoint's signature, that every tile and
segment is there and the segments have their sizes, the root (from the tiles at the right edge), and the entries of
the last tile. `verify` checks everything.

What lies beyond the checkpoint and can be what an interrupted commit left never was part of the log, and is removed;
what cannot is evidence, and nothing is (leftover.py judges, for `verify` as well).
"""

import contextlib
import itertools
from dataclasses import dataclass
from pathlib import Path

from audit.checkpoint import Checkpoint
from audit.durable import cut_durably, remove_durably, sync_folder
from audit.entry import parse_entry
from audit.errors import NAME_FIRST, RESTORE, LogUntrusted
from audit.leftover import Leftover, judge_leftover, stray_tiles
from audit.merkle import HASH, WIDTH, TileData, Tree, leaf_hash, split_hashes
from audit.sign import PublicKey
from audit.store import (
    CHECKPOINT,
    ENTRIES,
    NEW_CHECKPOINT,
    TILES,
    Listing,
    is_segment,
    list_folder,
    read_checkpoint,
    read_file,
    read_lines,
    read_new_checkpoint,
    segment_of,
    segments_of,
)
from audit.stored import StoredTiles, TileFault
from audit.tiles import FOLDER, Tile, edge_of, folders_of, parse_tile_path, paths_of
from audit.walk import Beyond, walk_beyond

_EVIDENCE = f"nothing was removed: keep a copy as evidence, then remove what nobody signed, or {RESTORE}"


@dataclass(frozen=True)
class Cut:
    """The bytes and files that were removed because no checkpoint covers them: bytes of segments (with that many whole
    entries), other files."""

    bytes: int
    entries: int
    files: int


@dataclass
class Head:
    """The committed state. `tail` is the size in bytes of the segment that entry size - 1 lies in."""

    checkpoint: Checkpoint
    note: bytes
    tree: Tree
    tail: int


@dataclass(frozen=True)
class Cuttable:
    """Files to be removed or cut: `segments` maps a path to the bytes that stay (0: the whole file goes)."""

    segments: dict[str, int]
    files: list[str]
    folders: list[str]


def read_head(folder: Path, key: PublicKey) -> tuple[Head, Listing]:
    """The committed state; LogUntrusted if anything that is checked does not fit the checkpoint."""
    checkpoint, note = read_checkpoint(folder, key)
    listing = list_folder(folder)
    for path in (*segments_of(checkpoint.size), *paths_of(checkpoint.size)):
        if path not in listing.files:
            raise LogUntrusted(path, f"missing, though the checkpoint covers {checkpoint.size} entries")
    head = Head(checkpoint, note, _read_tree(folder, checkpoint), _tail_size(checkpoint, listing))
    _check_tail(folder, head)
    return head, listing


def _find(head: Head, listing: Listing) -> Cuttable:
    """The files beyond the checkpoint that have the name of something that a commit makes. Other files are none of the
    writer's business: `verify` reports them."""
    size = head.checkpoint.size
    committed, last = set(segments_of(size)), segment_of(size - 1)
    segments = {path: 0 for path in listing.segments() if path not in committed and is_segment(path)}
    if size and listing.files[last] > head.tail:
        segments[last] = head.tail
    tiles, folders = paths_of(size), folders_of(size)
    files = [path for path in listing.files if path not in tiles and parse_tile_path(path)]
    files += [path for path in (NEW_CHECKPOINT,) if path in listing.files]
    empty = [path for path in listing.folders if path not in folders and FOLDER.fullmatch(path)]
    return Cuttable(segments, sorted(files), sorted(empty, reverse=True))


def cut(folder: Path, head: Head, listing: Listing) -> Cut | None:
    """Remove what an interrupted commit left; None if there is nothing. OSError if it cannot be removed, LogUntrusted
    if no interrupted commit left it, and then nothing was removed.

    Derived files go first, so that whatever of this survives a power cut is again what an interrupted commit leaves.
    """
    beyond = _refuse_unexplained(folder, head, listing)
    leftover = _find(head, listing)
    for path in leftover.files:
        remove_durably(folder / path)
    for path in leftover.folders:
        with contextlib.suppress(OSError):  # not empty: it holds something of which `verify` will speak
            (folder / path).rmdir()
            sync_folder((folder / path).parent)
    for path in sorted(leftover.segments, reverse=True):
        _shorten(folder / path, leftover.segments[path])
    removed = sum(listing.files[path] - keep for path, keep in leftover.segments.items())
    return Cut(removed, beyond.entries, len(leftover.files)) if removed or leftover.files else None


def _read_tree(folder: Path, checkpoint: Checkpoint) -> Tree:
    tree = Tree()
    for tile in edge_of(checkpoint.size):
        tree.edge += [[] for _ in range(tile.level - len(tree.edge))]
        tree.edge.append(_read_tile(folder, tile))
    if tree.size != checkpoint.size or tree.root() != checkpoint.root:
        fact = f"the tiles give the root {tree.root().hex()}, signed is {checkpoint.root.hex()}"
        raise LogUntrusted(TILES, f"{fact}")
    return tree


def _read_tile(folder: Path, tile: Tile) -> list[bytes]:
    return split_hashes(read_file(folder, tile.path, tile.width * HASH))


def _tail_size(checkpoint: Checkpoint, listing: Listing) -> int:
    if not checkpoint.size:
        return 0
    *before, last = [listing.files[path] for path in segments_of(checkpoint.size)]
    tail = checkpoint.segment_bytes - sum(before)
    if not 0 < tail <= last:
        fact = f"the segments hold {sum(before) + last} bytes, signed are {checkpoint.segment_bytes}"
        raise LogUntrusted(ENTRIES, f"{fact}")
    return tail


def _check_tail(folder: Path, head: Head) -> None:
    """The last segment has as many lines as it should, and those of the last tile are the entries that it hashes."""
    size = head.checkpoint.size
    if not size:
        return
    segment, first = segment_of(size - 1), (size - 1) // WIDTH * WIDTH
    lines = list(read_lines(folder, {segment: head.tail}, first))
    end = lines[-1] if lines else None
    if end is None or not end.whole or end.n != size - 1 or end.segment != segment_of(end.n):
        raise LogUntrusted(segment, f"its first {head.tail} bytes do not end with entry {size - 1}")
    hashes = _read_tile(folder, Tile(0, first // WIDTH, (size - 1) % WIDTH + 1))
    for line, expected in zip(lines, hashes, strict=True):
        try:
            parse_entry(line.data, line.n)
        except ValueError as error:
            raise LogUntrusted(line.where, str(error)) from None
        if leaf_hash(line.data) != expected:
            fact = f"hashes to {leaf_hash(line.data).hex()}, the tile has {expected.hex()}"
            raise LogUntrusted(line.where, f"{fact}")


def _refuse_unexplained(folder: Path, head: Head, listing: Listing) -> Beyond:
    """The entries and files beyond the checkpoint; LogUntrusted if anything that would be cut is not what a commit
    leaves."""
    size, tree = head.checkpoint.size, head.tree.copy()
    stray = stray_tiles(size, listing)
    stored = StoredTiles(folder, stray, {})
    faults = [fault for tile in stray for fault in _compare_inside(folder, size, tile)]
    lines = read_lines(folder, listing.segments(), max(size - 1, 0))  # from the last signed one: it may not be the
    beyond = walk_beyond(tree, faults, itertools.islice(lines, min(size, 1), None), stored)  # last line of its segment
    for part in tree.unfinished():
        faults += stored.compare(part)
    left = Leftover(head.checkpoint, head.note, read_new_checkpoint(folder, listing), listing, tree, beyond, faults)
    for finding in judge_leftover(left)[0]:
        remedy = NAME_FIRST if finding.where == CHECKPOINT else _EVIDENCE
        raise LogUntrusted(finding.where, finding.message, remedy)
    return beyond


def _compare_inside(folder: Path, size: int, tile: Tile) -> list[TileFault]:
    """A partial tile in a place where the checkpoint has a full one, held against that."""
    if size >> 8 * (tile.level + 1) <= tile.index:
        return []
    full = read_file(folder, Tile(tile.level, tile.index, WIDTH).path, WIDTH * HASH)
    return StoredTiles(folder, [tile], {}).compare(TileData(tile.level, tile.index, full))


def _shorten(path: Path, keep: int) -> None:
    if keep:
        cut_durably(path, keep)
    else:
        remove_durably(path)
