"""The log and its one writer. A commit, in this order, each step durable before the next (audit/durable.py says how):

    1. the entries' lines are appended to the segments
    2. the new tiles are made: the ones now full, and the partial ones of the new right edge
    3. the checkpoint that covers them is signed and takes the place of the old one: now it has happened
    4. the partial tiles of the old right edge are removed

Killed before the rename of step 3, the log is what it was, and the next start cuts what lies beyond; killed after it,
the next start removes what step 4 left. Everything that a checkpoint covers was on the disk before the checkpoint
was.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from audit.checkpoint import Checkpoint, format_checkpoint
from audit.durable import (
    StrPath,
    append_durably,
    create_durably,
    make_folder_durably,
    rename_durably,
    sync_filesystem,
    write_file_atomically,
)
from audit.entry import format_entry
from audit.errors import AuditError, KeyRefused, LogUnwritable
from audit.lock import take_lock
from audit.merkle import TileData, Tree, leaf_hash
from audit.place import refuse_network
from audit.recover import Cut, Head, cut, read_head
from audit.rotation import ROTATED, format_rotation, key_history
from audit.sign import Signer, format_public_key, parse_public_key, read_signer
from audit.stamp import Stamp, stamp_now
from audit.store import CHECKPOINT, ENTRIES, LOCK, TILES, failure, segment_of
from audit.tiles import Tile, edge_of, to_tile


class Log:
    """The writer. Made by Log.open; holds the log's lock until close()."""

    def __init__(self, folder: Path, signer: Signer, stamp: Callable[[], Stamp], lock: int) -> None:
        self._folder = folder
        self._signer = signer
        self._stamp = stamp
        self._lock: int | None = lock
        head, self.cut = _recover(folder, signer)
        self._head: Head | None = head  # None once a commit failed: only the disk knows how far it got

    @staticmethod
    def create(folder: StrPath, *, key_path: StrPath, public_key: str) -> None:
        """A new log without entries, in a folder that is empty or not there yet. It is made beside it, as FOLDER.new,
        and renamed, so that a creation that was interrupted can be repeated. KeyRefused, LogUnwritable."""
        folder = Path(folder).absolute()
        signer = read_signer(key_path, parse_public_key(public_key))
        refuse_network(folder)
        try:
            if folder.is_dir() and any(folder.iterdir()):
                raise LogUnwritable(f"{folder}: not empty; a log is never made in place of another")
            _create(folder, format_checkpoint(Checkpoint(signer.public.origin, 0, Tree().root(), 0), signer))
        except OSError as error:
            raise LogUnwritable(f"{folder}: {error.strerror or error}") from error

    @classmethod
    def open(
        cls,
        folder: StrPath,
        *,
        key_path: StrPath,
        public_key: str,
        passphrase_path: StrPath | None = None,
        stamp: Callable[[], Stamp] = stamp_now,
    ) -> Self:
        """The writer of an existing log, once its head is checked and what an interrupted commit left is cut (`Log.cut`
        says what). LogHeld, LogUntrusted (also for bytes beyond the checkpoint that no interrupted commit leaves; then
        nothing is cut), LogUnwritable, KeyRefused."""
        folder = Path(folder).absolute()
        signer = read_signer(key_path, parse_public_key(public_key), passphrase_path)
        refuse_network(folder)
        lock = take_lock(folder)
        try:
            return cls(folder, signer, stamp, lock)
        except BaseException:
            os.close(lock)
            raise

    @property
    def origin(self) -> str:
        return self._signer.public.origin

    @property
    def next_index(self) -> int:
        """The number that the next entry will have: how many are committed."""
        return self._usable().checkpoint.size

    def commit(self, records: Sequence[Mapping[str, Any]]) -> int:
        """Append the records as entries, all or none of them, with one stamp; returns the number of the first.

        A record that cannot be an entry is a ValueError, and nothing was touched. LogUnwritable: the commit failed and
        what it had written is cut again, here or by the next start; this writer is at its end.
        """
        if not records:
            raise ValueError("a commit without records")
        if any(record.get("type") == ROTATED for record in records):
            raise ValueError(f"a record of type {ROTATED} is made by Log.rotate alone")
        return self._commit(records, self._signer)

    def rotate(
        self, record: Mapping[str, Any], *, key_path: StrPath, public_key: str, passphrase_path: StrPath | None = None
    ) -> int:
        """Hand over to another key in an entry of its own, which is the first that the other signs, as it does from
        then on; returns its number. `record` has the entry's other members, `run` among them. KeyRefused, and what
        `commit` raises; then the old key goes on."""
        signer = read_signer(key_path, parse_public_key(public_key), passphrase_path)
        if public_key in key_history(self._folder, format_public_key(self._signer.public)):
            raise KeyRefused(f"{key_path}: signed this log before; a key that handed over does not come back")
        handover = format_rotation(self._usable().checkpoint, self._signer, signer)
        n = self._commit([{**record, **handover}], signer)
        self._signer = signer
        return n

    def _commit(self, records: Sequence[Mapping[str, Any]], signer: Signer) -> int:
        head, stamp = self._usable(), self._stamp()
        first = head.checkpoint.size
        lines = [format_entry(record, n, stamp) for n, record in enumerate(records, first)]
        self._head = None
        try:
            self._head = self._append(head, lines, signer)
        except OSError as error:
            self._undo()
            raise LogUnwritable(f"{self._folder}: the commit failed: {error.strerror or error}") from error
        _remove_old_edge(self._folder, first, self._head.checkpoint.size)
        return first

    def close(self) -> None:
        """Let go of the lock. May be called again."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = self._head = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _usable(self) -> Head:
        if self._head is None:
            raise LogUnwritable(f"{self._folder}: this writer is closed, or a commit of it failed; open the log again")
        return self._head

    def _append(self, head: Head, lines: list[bytes], signer: Signer) -> Head:
        """Steps 1 to 3."""
        tree, old = head.tree.copy(), head.checkpoint
        tail = _append_lines(self._folder, old.size, head.tail, lines)
        full = [tile for line in lines for tile in tree.append(leaf_hash(line))]
        _make_tiles(self._folder, [*full, *tree.unfinished()], old.size)
        added = sum(len(line) + 1 for line in lines)
        checkpoint = Checkpoint(old.origin, old.size + len(lines), tree.root(), old.segment_bytes + added)
        note = format_checkpoint(checkpoint, signer)
        write_file_atomically(self._folder / CHECKPOINT, note)
        return Head(checkpoint, note, tree, tail)

    def _undo(self) -> None:
        """Cut what the failed commit wrote. Where even that fails, the next start does it: that is the same cut."""
        try:
            head, listing = read_head(self._folder, self._signer.public)
            cut(self._folder, head, listing)
        except (OSError, AuditError):
            return


def _create(folder: Path, checkpoint: bytes) -> None:
    new = folder.with_name(folder.name + ".new")
    for part in (ENTRIES, TILES):
        make_folder_durably(new / part)
    write_file_atomically(new / LOCK, b"")
    write_file_atomically(new / CHECKPOINT, checkpoint)
    rename_durably(new, folder)


def _recover(folder: Path, signer: Signer) -> tuple[Head, Cut | None]:
    """Make durable what a writer that was killed changed and did not sync, also while it cut, before it is judged:
    what lies beyond the checkpoint is then of one commit, and stays so at a power cut."""
    try:
        sync_filesystem(folder)
    except OSError as error:
        raise failure(error, str(folder)) from error
    head, listing = read_head(folder, signer.public)
    try:
        removed = cut(folder, head, listing)
        # The same checkpoint once more: proof, before any document is touched, that commits can end here.
        write_file_atomically(folder / CHECKPOINT, head.note)
    except OSError as error:
        raise failure(error, str(folder)) from error
    return head, removed


def _append_lines(folder: Path, n: int, tail: int, lines: list[bytes]) -> int:
    """Append the lines of entries n, n + 1, ... to their segments; returns the size of the last one."""
    while lines:
        path = segment_of(n)
        here = next((i for i in range(1, len(lines)) if segment_of(n + i) != path), len(lines))
        at = tail if n and segment_of(n - 1) == path else 0
        data = b"".join(line + b"\n" for line in lines[:here])
        append_durably(folder / path, data, at)
        n, tail, lines = n + here, at + len(data), lines[here:]
    return tail


def _make_tiles(folder: Path, tiles: Sequence[TileData], old_size: int) -> None:
    kept = set(edge_of(old_size))
    for data in tiles:
        if (tile := to_tile(data)) not in kept:
            path = folder / tile.path
            make_folder_durably(path.parent)
            create_durably(path, data.data)


def _remove_old_edge(folder: Path, old_size: int, size: int) -> None:
    """Step 4, not synced and not insisted upon: what stays is removed at the next start."""
    kept = set(edge_of(size))
    for tile in edge_of(old_size):
        if tile not in kept:
            _remove_tile(folder, tile)


def _remove_tile(folder: Path, tile: Tile) -> None:
    path = folder / tile.path
    try:
        path.unlink()
        path.parent.rmdir()
    except OSError:
        return
