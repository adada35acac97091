"""A log at the moment of one checkpoint, though a writer may be at work: what the checkpoint covers never changes
again and is read later; the names and sizes of all files, and the tiles that the next commit removes, are taken
here."""

from dataclasses import dataclass
from pathlib import Path

from audit.checkpoint import MAX_BYTES, Checkpoint
from audit.errors import LogUnwritable
from audit.sign import PublicKey
from audit.store import CHECKPOINT, Listing, list_folder, read_checkpoint, read_file, read_new_checkpoint
from audit.stored import StoredTiles
from audit.tiles import edge_of, parse_tile_path

_ATTEMPTS = 100


@dataclass(frozen=True)
class Snapshot:
    folder: Path
    checkpoint: Checkpoint
    note: bytes
    new_checkpoint: bytes | None
    listing: Listing
    stored: StoredTiles


def take_snapshot(folder: Path, key: PublicKey) -> Snapshot:
    """LogUntrusted if the checkpoint is missing or not signed by `key`; LogUnwritable if the folder cannot be read."""
    for _ in range(_ATTEMPTS):
        checkpoint, note = read_checkpoint(folder, key)
        listing = list_folder(folder)
        tiles = {tile for path in listing.files if (tile := parse_tile_path(path))}
        on_disk = StoredTiles(folder, tiles, {})
        at_hand = {tile: on_disk.read(tile) for tile in edge_of(checkpoint.size) if tile in tiles}
        new = read_new_checkpoint(folder, listing)  # now, for later it is that of another commit
        if read_file(folder, CHECKPOINT, MAX_BYTES) == note:
            return Snapshot(folder, checkpoint, note, new, listing, StoredTiles(folder, tiles, at_hand))
    raise LogUnwritable(f"{folder}: commits follow each other faster than its files can be listed")
