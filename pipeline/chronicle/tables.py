"""state/chronicle.sqlite: its tables.

It holds what the log says in the clear and no name of a document, so nothing has to be forgotten when one is erased.
"""

from typing import Final

from pipeline.records.indexes import IndexFile

_SCHEMA: Final = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE happening (n INTEGER PRIMARY KEY, type TEXT, time TEXT, run TEXT, job TEXT, user TEXT)",
    "CREATE INDEX by_type ON happening (type, n)",
    "CREATE TABLE day (day TEXT PRIMARY KEY, first INTEGER, last INTEGER, documents INTEGER) WITHOUT ROWID",
    "CREATE TABLE run (run TEXT PRIMARY KEY, job TEXT, first INTEGER, told TEXT) WITHOUT ROWID",
    "CREATE INDEX by_first ON run (first)",
    "CREATE INDEX by_job ON run (job, first)",
    "CREATE TABLE tally (model TEXT, run TEXT, minute INTEGER, state TEXT, n INTEGER, "
    "PRIMARY KEY (model, run, minute, state)) WITHOUT ROWID",
    "CREATE INDEX by_minute ON tally (minute)",
    "CREATE INDEX by_run ON tally (run)",
    "CREATE TABLE settings (digest TEXT PRIMARY KEY, first INTEGER) WITHOUT ROWID",
)
FILE: Final = IndexFile("chronicle.sqlite", 2, _SCHEMA)
