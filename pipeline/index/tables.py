"""state/index.sqlite: its tables.

Names (of jobs, labels, folders, nights, runs...) stand once in `word`, and `item` has their numbers; 0 stands for
none. `tally` counts the current items of each combination of facts, kept by triggers, so that counting a million
documents takes no longer than counting a thousand. `older` is 1 of rows of files whose path has a newer one, of which
`newer` is a row. `rule` has the jobs that show only the newest. The indexes hold all that filters ask for, so that a
list in any order is read from one of them alone.

`happening`, `day`, `made` (how many rows a model made in a run, by minute and state) and `settings` are what the log
says in the clear, without names of documents; `run` has the runs of both.
"""

import sqlite3
from collections.abc import Iterable

from pipeline.records.current import RowKey, Versions

NO_SCORE = 9.0
"""A score behind every score, for rows that have none."""

FACTS = ("job", "state", "failure", "label", "folder", "night", "review", "settings", "older")
_NUMBERS = ("current", *FACTS, "task", "run", "language", "reviewer", "part", "row", "rank", "size")
_SCORES = ("score", "certainty", "uncertain")
_ITEM = ", ".join(
    [
        "entry INTEGER PRIMARY KEY",
        *(f"{name} INTEGER NOT NULL" for name in _NUMBERS),
        *(f"{name} REAL NOT NULL" for name in _SCORES),
        *("pages INTEGER", "replaced_by INTEGER", "newer INTEGER", "document BLOB", "path TEXT NOT NULL"),
    ]
)
VERSION = 1
PRAGMAS = ("trusted_schema = OFF", "secure_delete = ON", "cache_size = -32768")
SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    "INSERT INTO word VALUES (0, '')",
    f"CREATE TABLE item ({_ITEM})",
    "CREATE TABLE told (entry INTEGER PRIMARY KEY, time TEXT, reason TEXT, answer TEXT, text TEXT NOT NULL)",
    "CREATE TABLE part (id INTEGER PRIMARY KEY, file TEXT NOT NULL UNIQUE, read INTEGER NOT NULL)",
    "CREATE TABLE newest (job INTEGER PRIMARY KEY, settings INTEGER NOT NULL)",
    "CREATE TABLE rule (job INTEGER PRIMARY KEY)",
    "CREATE TABLE private (job INTEGER PRIMARY KEY)",
    "CREATE TABLE run (run TEXT PRIMARY KEY, job TEXT, night TEXT, first INTEGER, told TEXT) WITHOUT ROWID",
    "CREATE INDEX run_by_first ON run (first)",
    "CREATE INDEX run_by_job ON run (job, first)",
    "CREATE TABLE happening (n INTEGER PRIMARY KEY, type TEXT, time TEXT, run TEXT, job TEXT, user TEXT)",
    "CREATE INDEX by_type ON happening (type, n)",
    "CREATE TABLE day (day TEXT PRIMARY KEY, first INTEGER, last INTEGER, documents INTEGER) WITHOUT ROWID",
    "CREATE TABLE made (model TEXT, run TEXT, minute INTEGER, state TEXT, n INTEGER, "
    "PRIMARY KEY (model, run, minute, state)) WITHOUT ROWID",
    "CREATE INDEX by_minute ON made (minute)",
    "CREATE INDEX by_run ON made (run)",
    "CREATE TABLE settings (digest TEXT PRIMARY KEY, first INTEGER) WITHOUT ROWID",
    f"CREATE TABLE tally ({', '.join(FACTS)}, n INTEGER NOT NULL, PRIMARY KEY ({', '.join(FACTS)})) WITHOUT ROWID",
)
_KEYS = {"score": "rank, score, entry", "uncertain": "uncertain, entry", "age": "entry", "size": "size, entry",
         "path": "path, entry"}  # fmt: skip
INDEXES = (
    *(f"CREATE INDEX by_{name} ON item (current, {key}, {', '.join(FACTS)})" for name, key in _KEYS.items()),
    "CREATE INDEX by_part ON item (part)",
    "CREATE INDEX by_document ON item (document)",
)


def _counting(prefix: str, sign: str) -> str:
    values = ", ".join(f"{prefix}.{name}" for name in FACTS)
    return (
        f"INSERT INTO tally SELECT {values}, {sign}1 WHERE {prefix}.current = 1 "
        f"ON CONFLICT DO UPDATE SET n = n {sign} 1"
    )


TRIGGERS = (
    f"CREATE TRIGGER added AFTER INSERT ON item BEGIN {_counting('new', '+')}; END",
    f"CREATE TRIGGER gone AFTER DELETE ON item BEGIN {_counting('old', '-')}; END",
    f"CREATE TRIGGER changed AFTER UPDATE ON item BEGIN {_counting('old', '-')}; {_counting('new', '+')}; END",
)
SEARCH = (
    "CREATE VIRTUAL TABLE words USING fts5 (text, content='told', content_rowid='entry', tokenize='trigram', "
    "detail='none')",
    "INSERT INTO words (words) VALUES ('rebuild')",
)
UNSAY = "INSERT INTO words (words, rowid, text) SELECT 'delete', entry, text FROM told WHERE entry = ?"
SAY = "INSERT INTO words (rowid, text) SELECT entry, text FROM told WHERE entry = ?"
"""Texts are found by their trigrams; where SQLite was built without FTS5, they are all looked through. UNSAY comes
before a text is changed or goes, SAY after it came. No triggers: SQLite lets none write to such a table in a file that
it does not trust."""


def make_indexes(db: sqlite3.Connection) -> None:
    """Add what makes lists quick, and the counts, once the first items are there: in one go that is quicker than item
    by item. Within the caller's transaction. sqlite3.Error."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'by_score'").fetchone():
        return
    facts = ", ".join(FACTS)
    several = "SELECT job, path FROM item GROUP BY job, path HAVING count(DISTINCT ifnull(document, x'')) > 1"
    mark_older(db, db.execute(several).fetchall())
    db.execute(f"INSERT INTO tally SELECT {facts}, count(*) FROM item WHERE current = 1 GROUP BY {facts}")
    for statement in (*INDEXES, *TRIGGERS, *(SEARCH if _has_trigrams(db) else ())):
        db.execute(statement)


def mark_older(db: sqlite3.Connection, files: Iterable[tuple[int, str]]) -> None:
    """Mark the rows of a job's path, by which of its files is the newest (records/current.py). sqlite3.Error."""
    for job, path in files:
        versions, rows = Versions(), list[tuple[int, int]]()
        found = (
            "SELECT entry, hex(document), text FROM item JOIN word ON id = state WHERE current IN (0, 1) AND path = ?"
        )
        for entry, document, state in db.execute(f"{found} AND job = ?", (path, job)).fetchall():
            rows.append((entry, versions.add(RowKey(document, path, state), entry)))
        newer = versions.newer()
        said = [(newer[file] is not None, newer[file], entry, newer[file]) for entry, file in rows]
        db.executemany("UPDATE item SET older = ?, newer = ? WHERE entry = ? AND newer IS NOT ?", said)


def _has_trigrams(db: sqlite3.Connection) -> bool:
    """Whether this SQLite can make an index of trigrams."""
    try:
        db.execute("CREATE VIRTUAL TABLE temp.tried USING fts5 (text, tokenize='trigram')")
        db.execute("DROP TABLE temp.tried")
    except sqlite3.OperationalError:
        return False
    return True
