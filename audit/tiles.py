"""Where tiles lie: the paths of C2SP tlog-tiles, and which tiles belong to a log of a given size."""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from audit.merkle import WIDTH, TileData

_PATH = re.compile(r"tile/(0|[1-9]\d?)/((?:x\d{3}/)*\d{3})(?:\.p/([1-9]\d{0,2}))?", re.ASCII)
FOLDER = re.compile(r"tile/(0|[1-9]\d?)(/x\d{3})*(/\d{3}\.p)?", re.ASCII)


@dataclass(frozen=True, order=True)
class Tile:
    level: int
    index: int
    width: int

    @property
    def path(self) -> str:
        """Relative to the log's folder: tile/<level>/<index>[.p/<width>], the index as x001/x234/067."""
        digits = f"{self.index:03d}"
        digits = digits.zfill(-(-len(digits) // 3) * 3)
        groups = [digits[i : i + 3] for i in range(0, len(digits), 3)]
        index = "/".join([*(f"x{group}" for group in groups[:-1]), groups[-1]])
        return f"tile/{self.level}/{index}" + (f".p/{self.width}" if self.width < WIDTH else "")


def parse_tile_path(path: str) -> Tile | None:
    """The strict inverse of Tile.path; None for every other path."""
    if not (match := _PATH.fullmatch(path)):
        return None
    level, index, width = match.groups()
    tile = Tile(int(level), int(index.replace("x", "").replace("/", "")), int(width or WIDTH))
    return tile if tile.path == path else None


def to_tile(data: TileData) -> Tile:
    return Tile(data.level, data.index, data.width)


def tiles_of(size: int) -> Iterator[Tile]:
    """Every tile of a log with `size` entries: the full ones, and one partial tile per level at its right edge."""
    level, hashes = 0, size
    while hashes:
        yield from (Tile(level, index, WIDTH) for index in range(hashes // WIDTH))
        if hashes % WIDTH:
            yield Tile(level, hashes // WIDTH, hashes % WIDTH)
        level, hashes = level + 1, hashes // WIDTH


@functools.lru_cache(maxsize=1)
def paths_of(size: int) -> Mapping[str, Tile]:
    """The tiles by their paths: a log of ten million entries has 40,000, and opening it looks at all several times."""
    return MappingProxyType({tile.path: tile for tile in tiles_of(size)})


def folders_of(size: int) -> set[str]:
    """Every folder above them, as relative paths."""
    parts = [parent.split("/") for parent in {path.rpartition("/")[0] for path in paths_of(size)}]
    return {"tile"} | {"/".join(names[:n]) for names in parts for n in range(1, len(names) + 1)}


def edge_of(size: int) -> list[Tile]:
    """The partial tiles of tiles_of(size), lowest level first; levels whose tile is exactly full have none."""
    levels = range((size.bit_length() + 7) // 8)
    widths = [(level, size // WIDTH**level) for level in levels]
    return [Tile(level, hashes // WIDTH, hashes % WIDTH) for level, hashes in widths if hashes % WIDTH]
