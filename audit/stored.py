"""The tile files of a log as they lie on the disk, held against the hashes that they should have."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from audit.errors import LogUntrusted
from audit.merkle import HASH, WIDTH, TileData, split_hashes
from audit.store import open_file
from audit.tiles import Tile

SECTOR = 512  # bytes: what a disk writes whole or not at all, and hence how a file system can lose a part of a file


@dataclass(frozen=True)
class TileFault:
    """The first hash in which a tile's file differs; `position` counts hashes from 0. `torn`: its bytes are what a
    write of the right ones leaves that did not come to its end."""

    tile: Tile
    position: int
    found: bytes
    expected: bytes
    torn: bool

    @property
    def entries(self) -> range:
        """All entries below that hash."""
        span = int(WIDTH**self.tile.level)
        return range(first := (self.tile.index * WIDTH + self.position) * span, first + span)

    def __str__(self) -> str:
        found, expected = self.found.hex() or "missing", self.expected.hex() or "the end of the file"
        return f"its hash {self.position} is {found}, expected {expected}"

    def of_leaf(self) -> str:
        return f"its hash is {self.expected.hex() or 'that of no entry'}, signed is {self.found.hex() or 'none'}"


class StoredTiles:
    def __init__(self, folder: Path, tiles: Iterable[Tile], at_hand: Mapping[Tile, bytes]) -> None:
        """`at_hand` has the bytes of tiles that a writer may remove meanwhile."""
        self._folder = folder
        self._at_hand = at_hand
        self._places: dict[tuple[int, int], list[Tile]] = defaultdict(list)
        for tile in tiles:
            self._places[tile.level, tile.index].append(tile)

    def all(self) -> set[Tile]:
        return {tile for place in self._places.values() for tile in place}

    def read(self, tile: Tile) -> bytes:
        """The file's bytes, at most one more than a tile can have; empty if it is gone or no regular file."""
        if tile in self._at_hand:
            return self._at_hand[tile]
        try:
            with open_file(self._folder, tile.path) as file:
                return file.read(WIDTH * HASH + 1)
        except LogUntrusted:
            return b""

    def compare(self, right: TileData, known: int | None = None) -> list[TileFault]:
        """The faults of all files for this place in the tree. Fewer hashes than a file has are known only where the
        walk stopped: then only the first `known` are compared."""
        faults = []
        for tile in self._places.get((right.level, right.index), []):
            width = tile.width if known is None else min(known, tile.width)
            found = self.read(tile)
            if known is not None:
                found = found[: width * HASH]
            if (fault := _first_difference(tile, found, right.data[: width * HASH])) is not None:
                faults.append(fault)
        return faults


def _first_difference(tile: Tile, found: bytes, expected: bytes) -> TileFault | None:
    if found == expected:
        return None
    left, right = split_hashes(found), split_hashes(expected)
    shorter = min(len(left), len(right))
    position = next((i for i in range(shorter) if left[i] != right[i]), shorter)
    here = slice(position, position + 1)
    return TileFault(tile, position, b"".join(left[here]), b"".join(right[here]), is_torn(found, expected))


def is_torn(found: bytes, expected: bytes) -> bool:
    """Whether `found` can be what a write of `expected` left at a power cut: each sector, or a part of it, or zeros."""
    sectors = range(0, len(found), SECTOR)
    return all(expected[at : at + SECTOR].startswith(found[at : at + SECTOR].rstrip(b"\0")) for at in sectors)
