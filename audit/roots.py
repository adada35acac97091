"""Roots over any range of a log's entries, from the tiles on the disk: what proofs are made of. A tile has the roots of
aligned subtrees of 256**level entries; the rest are a few hashes more. Nothing of it is trusted: who makes a proof
checks it against what was signed."""

from pathlib import Path

from audit.checkpoint import MAX_BYTES, Checkpoint
from audit.errors import LogUntrusted, LogUnwritable
from audit.merkle import HASH, WIDTH, node_hash, root_hash, split_hashes
from audit.proof import split
from audit.sign import PublicKey
from audit.store import CHECKPOINT, read_checkpoint, read_file
from audit.stored import StoredTiles
from audit.tiles import Tile, edge_of

_ATTEMPTS = 100
_KEPT = 4096  # roots


class StoredTree:
    """The tree of a log with `size` entries. Keeps the last tile of each level that it read, and the roots that proofs
    of neighbouring entries share."""

    def __init__(self, size: int, stored: StoredTiles) -> None:
        self.size = size
        self._stored = stored
        self._last: dict[int, tuple[Tile, list[bytes]]] = {}
        self._roots: dict[tuple[int, int], bytes] = {}

    def root(self, start: int, end: int) -> bytes:
        """MTH(D[start:end]) of RFC 6962, for 0 <= start <= end <= size. LogUntrusted if a tile is missing or short."""
        count = end - start
        if count == 0:
            return root_hash([])
        if count & (count - 1) == 0 and start % count == 0:
            return self._subtree(start, count.bit_length() - 1)
        middle = start + split(count)
        return node_hash(self.root(start, middle), self.root(middle, end))

    def _subtree(self, start: int, height: int) -> bytes:
        """The root over the 2**height entries from `start` on; they are never in two tiles."""
        if (known := self._roots.get((start, height))) is not None:
            return known
        level = height // 8
        first = start >> 8 * level
        hashes = self._hashes(level, first // WIDTH)
        root = root_hash(hashes[first % WIDTH : first % WIDTH + (1 << height % 8)])
        if len(self._roots) == _KEPT:
            self._roots.clear()
        self._roots[start, height] = root
        return root

    def _hashes(self, level: int, index: int) -> list[bytes]:
        tile = Tile(level, index, min(WIDTH, (self.size >> 8 * level) - index * WIDTH))
        known, hashes = self._last.get(level, (None, []))
        if known != tile:
            data = self._stored.read(tile)
            if len(data) != tile.width * HASH:
                raise LogUntrusted(tile.path, f"{len(data)} bytes, expected {tile.width * HASH}")
            hashes = split_hashes(data)
            self._last[level] = tile, hashes
        return hashes


def open_tree(folder: Path, key: PublicKey) -> tuple[Checkpoint, bytes, StoredTree]:
    """The checkpoint, its bytes, and the tree below it, though a writer may be at work: the tiles that its next commit
    removes are read here. LogUntrusted if the checkpoint is missing or not signed by `key`."""
    for _ in range(_ATTEMPTS):
        checkpoint, note = read_checkpoint(folder, key)
        on_disk = StoredTiles(folder, (), {})
        edge = {tile: on_disk.read(tile) for tile in edge_of(checkpoint.size)}
        if read_file(folder, CHECKPOINT, MAX_BYTES) == note:
            return checkpoint, note, StoredTree(checkpoint.size, StoredTiles(folder, (), edge))
    raise LogUnwritable(f"{folder}: commits follow each other faster than its tiles can be read")
