"""The log as foreign tools read it: a folder in the layout of C2SP tlog-tiles, with entry bundles.

    checkpoint                          the signed note, as it is in the log
    tile/<level>/<index>[.p/<w>]        the hashes of the whole tree, so that its root can be computed
    tile/entries/<index>[.p/<w>]        entries 256 * index on, each after its length in 2 bytes, the higher one first

https://c2sp.org/tlog-tiles. Of the entries only those asked for are there, in whole bundles, since there are no others.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from audit import store
from audit.checkpoint import Checkpoint
from audit.durable import StrPath
from audit.errors import LogUntrusted
from audit.merkle import WIDTH, TileData, Tree, leaf_hash, split_hashes
from audit.sign import parse_public_key
from audit.snapshot import Snapshot, take_snapshot
from audit.tiles import Tile, tiles_of, to_tile

VERIFIER = Path(__file__).with_name("standalone.py")
"""One file that checks such a folder, and what lies beside it in an export, with Python's standard library alone."""

_LENGTH = 2  # bytes before each entry


def format_bundle(entries: Sequence[bytes]) -> bytes:
    """Join at most 256 entries of at most 65,535 bytes to a bundle; OverflowError for a longer entry."""
    return b"".join(len(entry).to_bytes(_LENGTH, "big") + entry for entry in entries)


def bundle_path(tile: Tile) -> str:
    """Where the bundle of the entries lies whose hashes are in this tile of level 0."""
    return f"{store.TILES}/entries" + tile.path.removeprefix(f"{store.TILES}/0")


def write_tlog_tiles(folder: StrPath, public_key: str, target: StrPath, entries: range) -> Checkpoint:
    """Write the log in `folder` to the new folder `target`; of the entries, the bundles in which `entries` lie.

    What is written has the signed root: LogUntrusted if the stored hashes have not, or an entry not its hash. Not
    synced. A writer may be at work; the checkpoint is the one that was there at the call. Raises FileExistsError.
    """
    snapshot = take_snapshot(Path(folder), parse_public_key(public_key))
    target = Path(target)
    target.mkdir(parents=True)
    _write_tiles(snapshot, target)
    _write_bundles(snapshot, target, entries)
    (target / store.CHECKPOINT).write_bytes(snapshot.note)
    return snapshot.checkpoint


def _write_tiles(snapshot: Snapshot, target: Path) -> None:
    tree = Tree()
    for tile in _leaves(snapshot.checkpoint.size):
        for leaf in split_hashes(snapshot.stored.read(tile)):
            for full in tree.append(leaf):
                _write(target, to_tile(full).path, full.data)
    for part in tree.unfinished():
        _write(target, to_tile(part).path, part.data)
    if tree.size != snapshot.checkpoint.size or tree.root() != snapshot.checkpoint.root:
        raise LogUntrusted(f"{store.TILES}/0", "its hashes do not give the signed root")


def _write_bundles(snapshot: Snapshot, target: Path, entries: range) -> None:
    first, size = entries.start - entries.start % WIDTH, snapshot.checkpoint.size
    lines = store.read_lines(snapshot.folder, dict.fromkeys(store.segments_of(size), 1 << 62), first)
    for tile in _leaves(size):
        if entries.start < (tile.index + 1) * WIDTH and tile.index * WIDTH < entries.stop:
            hashes = TileData(0, tile.index, snapshot.stored.read(tile))
            _write(target, bundle_path(tile), format_bundle(list(_checked(lines, hashes))))


def _checked(lines: Iterator[store.Line], tile: TileData) -> Iterator[bytes]:
    for i, expected in enumerate(split_hashes(tile.data)):
        n = tile.index * WIDTH + i
        line = next(lines, None)
        if line is None or not line.whole or line.n != n or leaf_hash(line.data) != expected:
            raise LogUntrusted(store.locate(n), "not the entry that was signed")
        yield line.data


def _leaves(size: int) -> Iterator[Tile]:
    for tile in tiles_of(size):
        if tile.level > 0:
            return
        yield tile


def _write(target: Path, path: str, data: bytes) -> None:
    file = target / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
