"""The Merkle tree of RFC 6962, section 2.1, kept in the tiles of C2SP tlog-tiles. Pure functions of bytes.

    leaf = SHA-256(0x00 || entry)      node = SHA-256(0x01 || left || right)      empty tree = SHA-256("")

A tile holds up to 256 hashes of one level; level l has the hashes of subtrees of 256**l entries. The tiles that are not
yet full, one per level, are the tree's right edge: they determine the root, and appending needs nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

HASH = 32
WIDTH = 256  # hashes in a full tile


def leaf_hash(data: bytes) -> bytes:
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def root_hash(hashes: Sequence[bytes]) -> bytes:
    """MTH over subtrees of equal size, of which only the last may be incomplete; over leaf hashes it is RFC 6962's.

    Pairing neighbours and passing an odd last one upward splits at the largest power of two below the count, as RFC
    6962 does.
    """
    if not hashes:
        return sha256(b"").digest()
    while len(hashes) > 1:
        pairs = [node_hash(hashes[i], hashes[i + 1]) for i in range(0, len(hashes) - 1, 2)]
        hashes = pairs + list(hashes[len(hashes) & ~1 :])
    return hashes[0]


@dataclass(frozen=True)
class TileData:
    """The hashes, concatenated, of the tile at (level, index)."""

    level: int
    index: int
    data: bytes

    @property
    def width(self) -> int:
        return len(self.data) // HASH


@dataclass
class Tree:
    """The right edge of a tree: edge[l] are the hashes (at most 255) in the unfinished tile of level l."""

    edge: list[list[bytes]] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(len(hashes) * WIDTH**level for level, hashes in enumerate(self.edge))

    def append(self, leaf: bytes, level: int = 0) -> list[TileData]:
        """Append a leaf hash; returns the tiles which that made full, lowest level first."""
        if level == len(self.edge):
            self.edge.append([])
        self.edge[level].append(leaf)
        if len(self.edge[level]) < WIDTH:
            return []
        full, self.edge[level] = self.edge[level], []
        above = self.append(root_hash(full), level + 1)
        return [TileData(level, self.size // WIDTH ** (level + 1) - 1, b"".join(full)), *above]

    def unfinished(self) -> list[TileData]:
        """The tiles of the right edge, without empty ones."""
        size = self.size
        return [TileData(level, size // WIDTH ** (level + 1), b"".join(hashes))
                for level, hashes in enumerate(self.edge) if hashes]  # fmt: skip

    def root(self) -> bytes:
        """The root over all that was appended: each level's hashes, followed by the root of what is below them."""
        below: list[bytes] = []
        for hashes in self.edge:
            if hashes or below:
                below = [root_hash([*hashes, *below])]
        return root_hash(below)

    def copy(self) -> "Tree":
        return Tree([list(hashes) for hashes in self.edge])


def split_hashes(data: bytes) -> list[bytes]:
    return [data[i : i + HASH] for i in range(0, len(data), HASH)]
