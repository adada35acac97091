"""Files in state/ that are made anew when they are not there: the index of the log, and vectors of examples.

What is deleted by rule or on request must not live on in them. So deleting rows makes the index forget them, and
erasing a document deletes the vectors, for a vector tells much of its text.
"""

import contextlib
import shutil
import sqlite3
from collections.abc import Collection
from pathlib import Path

from pipeline.plan import Site

_NAME = "index.sqlite"
_FORMER = ("queue.sqlite", "chronicle.sqlite")  # of earlier versions


def index_file(site: Site) -> Path:
    """Where the index of the log lies: in memory where what it has of answers may be encrypted. PermissionError where
    somebody else has the folder for it there."""
    return site.at_rest.cache(site.state) / _NAME


def remove_index(site: Site) -> None:
    """Remove the index with its journals, and earlier versions' indexes; it is made again when needed. OSError."""
    _remove(site, (_NAME, *_FORMER))


def remove_former(site: Site) -> None:
    """Remove the indexes of earlier versions. OSError."""
    _remove(site, _FORMER)


def _remove(site: Site, names: Collection[str]) -> None:
    folders = {site.state}
    with contextlib.suppress(PermissionError):  # in a folder of somebody else nothing is ours
        folders.add(index_file(site).parent)
    for name in names:
        for folder in folders:
            for ending in ("", "-wal", "-shm", "-journal"):
                (folder / (name + ending)).unlink(missing_ok=True)


def forget_parts(site: Site, parts: Collection[str]) -> None:
    """Remove what the index has of the rows of these parts, also from its journal; all of it, where that cannot be
    done. OSError."""
    if not parts:
        return
    remove_former(site)
    try:
        file = index_file(site)
    except PermissionError:  # in a folder of somebody else nothing is ours
        return
    if not file.is_file():
        return
    try:
        with contextlib.closing(sqlite3.connect(file, isolation_level=None, timeout=30)) as db:
            db.execute("PRAGMA secure_delete = ON")
            db.execute("BEGIN IMMEDIATE")
            words = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone()
            for part in parts:
                mine = "SELECT entry FROM item WHERE part = (SELECT id FROM part WHERE file = ?)"
                if words:
                    gone = f"SELECT 'delete', entry, text FROM told WHERE entry IN ({mine})"
                    db.execute(f"INSERT INTO words (words, rowid, text) {gone}", (part,))
                for table in ("told", "item"):
                    db.execute(f"DELETE FROM {table} WHERE entry IN ({mine})", (part,))
            if words:
                db.execute("INSERT INTO words (words) VALUES ('optimize')")  # what is gone is left out of it
            db.execute("COMMIT")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error:
        remove_index(site)


def vectors_of(site: Site) -> Path:
    """The folder of the kept vectors."""
    return site.state / "vectors"


def forget_vectors(site: Site) -> None:
    """Delete all kept vectors: those of a document that is erased are among them, perhaps."""
    shutil.rmtree(vectors_of(site), ignore_errors=True)
