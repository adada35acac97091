"""The files in a log's folder behind its checkpoint are judged here, once for all: they are what a commit leaves that
was interrupted (or runs), by a kill or a power cut, or something that nobody can explain. `verify` calls the one a note
and the other a finding; a start cuts the one and refuses the other.

A commit appends entries, then makes tiles, then a new checkpoint, each durable before the next (log.py). So leftover
entries are whole and numbered on, all with one stamp, and at most the last is torn; leftover tiles have the hashes of
signed or leftover entries; and a new checkpoint that was not put in place is one of all these entries. A power cut may
have put zeros in the place of sectors that were not synced.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from audit.checkpoint import Checkpoint, format_body
from audit.merkle import Tree
from audit.report import Finding
from audit.store import CHECKPOINT, ENTRIES, NEW_CHECKPOINT, Line, Listing, is_segment, segments_of
from audit.stored import SECTOR, TileFault, is_torn
from audit.tiles import Tile, parse_tile_path, paths_of
from audit.walk import Beyond

_LEFT = "of a commit that was interrupted, or is running; no part of the log, and removed at the next start"


@dataclass(frozen=True)
class Leftover:
    """The files and entries behind a checkpoint whose entries are known to be right. `tree` is that of the signed
    entries and those beyond; `faults` are those of all tiles that the checkpoint does not cover, held against that
    tree. `new_checkpoint` are the bytes of one that was not put in place, if there is such a file."""

    checkpoint: Checkpoint
    note: bytes
    new_checkpoint: bytes | None
    listing: Listing
    tree: Tree
    beyond: Beyond
    faults: list[TileFault]


def judge_leftover(left: Leftover) -> tuple[list[Finding], list[str]]:
    """Findings on files that no interrupted commit leaves, and notes on those that one did leave. Files of other names
    are not judged here."""
    judged = [*_judge_segments(left), *_judge_tiles(left), *_judge_new_checkpoint(left)]
    findings = [said for said in judged if isinstance(said, Finding)]
    return findings, [said for said in judged if isinstance(said, str)]


def stray_tiles(size: int, listing: Listing) -> set[Tile]:
    """The tiles that lie there and do not belong to a checkpoint of `size` entries."""
    committed = paths_of(size)
    return {tile for path in listing.files if path not in committed and (tile := parse_tile_path(path))}


def _judge_segments(left: Leftover) -> Iterator[Finding | str]:
    size, beyond, segments = left.checkpoint.size, left.beyond, left.listing.segments()
    if len(beyond.stamps) > 1:
        fact = "those that follow are of more than one commit, of which only one can be unfinished"
        yield Finding(CHECKPOINT, f"covers {size} entries, but {fact}: it is older than the log")
    if beyond.rest is not None and not _is_torn_line(beyond.rest):
        fact = f"what lies behind the first {beyond.rest.at} bytes is"
        fact = f"{fact} neither a signed entry nor what an interrupted commit leaves"
        yield Finding(f"{beyond.rest.segment}, line {beyond.rest.row}", fact)
    known = {*segments_of(size), *segments_of(left.tree.size + 1)}
    for path in segments.keys() - known:
        if is_segment(path):
            yield Finding(path, "a segment of entries that the log does not have")
    here = sum(bytes for path, bytes in segments.items() if path in known)
    if extra := here - left.checkpoint.segment_bytes:
        yield f"{ENTRIES}: {extra} bytes ({beyond.entries} whole entries) beyond the checkpoint: {_LEFT}"


def _judge_tiles(left: Leftover) -> Iterator[Finding | str]:
    faults = {fault.tile: fault for fault in left.faults}
    for tile in sorted(stray_tiles(left.checkpoint.size, left.listing)):
        fault = faults.get(tile)
        if (fault is None or fault.torn) and left.tree.size >> 8 * tile.level > tile.index << 8:
            yield f"{tile.path}: {_LEFT}"
        else:
            yield Finding(tile.path, str(fault or "a tile of entries that the log does not have"))


def _judge_new_checkpoint(left: Leftover) -> Iterator[Finding | str]:
    if (found := left.new_checkpoint) is None:
        return
    old, note = format_body(left.checkpoint).encode(), left.note
    size = left.checkpoint.segment_bytes + left.beyond.bytes
    body = format_body(Checkpoint(left.checkpoint.origin, left.tree.size, left.tree.root(), size)).encode()
    signature = len(note) - len(old)
    if is_torn(found, note) or (is_torn(found[: len(body)], body) and len(found) <= len(body) + signature):
        yield f"{NEW_CHECKPOINT}: {_LEFT}"
    else:
        yield Finding(NEW_CHECKPOINT, "not the checkpoint of the entries that lie here")


def _is_torn_line(line: Line) -> bool:
    """A line that begins as every entry does, and has no end or lost sectors: zeros, which no entry has, up to where a
    sector of the file ends."""
    ends = range(SECTOR - line.at % SECTOR, len(line.data) + 1, SECTOR)
    lost = any(line.data[end - 1] == 0 for end in ends)
    return (lost or not line.whole) and is_torn(line.data[:2], b'{"')
