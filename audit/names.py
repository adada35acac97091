"""The names of all files in a log's folder: everything that belongs to the checkpoint is there, and nothing is whose
name says nothing. What a commit makes and the checkpoint does not cover is judged by leftover.py."""

from collections.abc import Iterator

from audit.report import Finding
from audit.store import CHECKPOINT, ENTRIES, LOCK, NEW_CHECKPOINT, Listing, is_segment, segments_of
from audit.tiles import FOLDER, folders_of, parse_tile_path, paths_of

_AWAY = "nobody signed it; move it out of the folder"


def judge_names(size: int, listing: Listing) -> Iterator[Finding]:
    """Yield a finding for each file whose name a log with a checkpoint of `size` entries does not have."""
    own = {LOCK, CHECKPOINT, *segments_of(size), *paths_of(size)}
    folders = {ENTRIES} | folders_of(size)
    for path in sorted(own - listing.files.keys()) + sorted(folders - listing.folders):
        yield Finding(path, "missing")
    if listing.files.get(LOCK):
        yield Finding(LOCK, f"{listing.files[LOCK]} bytes long, expected an empty file: empty it", beside=True)
    for path in sorted(listing.files.keys() - own):
        if path != NEW_CHECKPOINT and not is_segment(path) and not parse_tile_path(path):
            yield Finding(path, f"no file of this log: {_AWAY}", beside=True)
    for path in sorted(path for path in listing.folders - folders if not FOLDER.fullmatch(path)):
        yield Finding(path, f"no folder of this log: {_AWAY}", beside=True)
    for path, kind in sorted(listing.others.items()):
        yield Finding(path, f"{kind}; expected are files and folders that the log makes: {_AWAY}", beside=True)
