"""state/queue.sqlite, the index of rows for lists (pipeline/review/queue): where it lies, and how it forgets.

What is deleted by rule or on request must not live on in an index, so whoever deletes rows also has it forget them.
"""

import contextlib
import sqlite3
from collections.abc import Collection

from pipeline.plan import Site
from pipeline.records.indexes.file import path_of, remove

NAME = "queue.sqlite"


def remove_index(site: Site) -> None:
    """Remove the index; it is made again when somebody asks. OSError."""
    remove(site, NAME)


def forget_parts(site: Site, parts: Collection[str]) -> None:
    """Remove what the index has of the rows of these parts, also from its journal; all of it, where that cannot be
    done. OSError."""
    try:
        file = path_of(site, NAME)
    except PermissionError:  # in a folder of somebody else nothing is ours
        return
    if not parts or not file.is_file():
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
