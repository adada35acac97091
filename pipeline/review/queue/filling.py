"""The index is brought up to date: entries of the log become items, with the answers of their parts."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import audit
from pipeline.errors import BadPartError
from pipeline.plan import Site
from pipeline.records.current import Identity, RowKey, answers_copies, replaced
from pipeline.records.entries import read_entries
from pipeline.records.index import Remembered
from pipeline.records.types import DeletedByRule, Document, Erased, Part, Record, RunStarted
from pipeline.review.queue.answers import Answered, answers, shortened
from pipeline.review.queue.asking import OTHER, RANKS
from pipeline.review.queue.runs import BEGINS, Run, night_of
from pipeline.review.queue.tables import NO_SCORE, SAY, UNSAY, mark_older
from pipeline.states import ANSWERED

_COLUMNS = (
    "entry", "current", "job", "state", "failure", "label", "folder", "night", "review", "settings", "task", "run",
    "language", "reviewer", "part", "row", "rank", "score", "certainty", "uncertain", "size", "older", "pages",
    "document", "path",
)  # fmt: skip
_INSERT = f"INSERT INTO item ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_NOTHING = Answered()


@dataclass
class Words:
    """The numbers of names; 0 is that of none."""

    db: sqlite3.Connection
    known: dict[str, int] = field(default_factory=dict)

    def __call__(self, text: str | None) -> int:
        """The number of a name, which gets one if it is new. sqlite3.Error."""
        if not text:
            return 0
        if (number := self.known.get(text)) is None:
            if len(self.known) > 50_000:
                self.known.clear()
            self.db.execute("INSERT OR IGNORE INTO word (text) VALUES (?)", (text,))
            (number,) = self.db.execute("SELECT id FROM word WHERE text = ?", (text,)).fetchone()
            self.known[text] = number
        return int(number)


class Filling:
    """One bringing up to date, within the caller's transaction. sqlite3.Error, audit.AuditError."""

    def __init__(self, site: Site, db: sqlite3.Connection, copies: dict[str, bool]) -> None:
        self._site, self._db, self._words, self.copies = site, db, Words(db), copies
        self._has_words = bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone())
        self._has_indexes = bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'by_path'").fetchone())
        self._waiting: list[Document] = []  # of which no part has come yet
        self._runs: dict[str, Run] = {}
        self._last: Remembered[Identity, int] = Remembered(db, "last", _to_key, bytes, int, int)

    def take(self, entry: Record) -> None:
        """Take in the next entry."""
        if isinstance(entry, BEGINS) and entry.run:
            self._run_of(entry).take(entry)
        match entry:
            case Document():
                self._waiting.append(entry)
            case Part():
                documents, self._waiting = self._waiting, []
                self._add(entry.file, documents)
            case RunStarted():
                self.copies[entry.job] = answers_copies(entry.duplicates)
                change = "INSERT OR IGNORE INTO rule VALUES (?)"
                change = change if entry.versions == "newest" else "DELETE FROM rule WHERE job = ?"
                self._db.execute(change, (self._words(entry.job),))
            case DeletedByRule() | Erased():
                self._delete(entry)

    @property
    def is_between_parts(self) -> bool:
        """Whether all that was taken can be saved."""
        return not self._waiting

    def save(self) -> None:
        """Write what is in memory yet."""
        self._last.save()
        rows = [(each.run, each.job, night_of(each.run, each.started_at), each.first, each.to_text())
                for each in self._runs.values()]  # fmt: skip
        self._db.executemany("INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?, ?)", rows)
        self._runs.clear()

    def read_late_parts(self) -> None:
        """Read the parts that were not in place when their entries were taken in."""
        for part, file in self._db.execute("SELECT id, file FROM part WHERE read = 0").fetchall():
            if (self._site.root / file).is_file():
                self._set_answers(part, file)

    def _run_of(self, entry: Record) -> Run:
        if entry.run not in self._runs:
            row = self._db.execute("SELECT told FROM run WHERE run = ?", (entry.run,)).fetchone()
            self._runs[entry.run] = Run.from_text(row[0]) if row else Run(entry.run, entry.job, entry.n, entry.time)
        return self._runs[entry.run]

    def _add(self, file: str, documents: Sequence[Document]) -> None:
        """Add the rows of a part."""
        found = self._answers(file)
        self._db.execute("INSERT OR IGNORE INTO part (file, read) VALUES (?, 0)", (file,))
        (part,) = self._db.execute("SELECT id FROM part WHERE file = ?", (file,)).fetchone()
        self._db.execute("UPDATE part SET read = ? WHERE id = ?", (found is not None, part))
        places = [self._place(entry) for entry in documents]
        items = [
            self._item(entry, part, (found or {}).get(entry.n, _NOTHING), *place)
            for entry, place in zip(documents, places, strict=True)
        ]
        self._db.executemany(_INSERT, items)
        told = [self._told(entry, (found or {}).get(entry.n, _NOTHING)) for entry in documents]
        self._db.executemany("INSERT INTO told VALUES (?, ?, ?, ?, ?)", told)
        self._search(SAY, [entry.n for entry in documents])
        gone = [(entry.n, number) for entry in documents for number in self._replaced(entry)]
        self._db.executemany("UPDATE item SET current = 0, replaced_by = ? WHERE entry = ?", gone)
        if self._has_indexes:
            mark_older(self._db, {(self._words(entry.job), entry.path) for entry in documents})
        newest = {entry.job: entry.job_digest for entry in documents if not entry.said.get("review")}
        rows = [(self._words(job), self._words(digest)) for job, digest in newest.items()]
        self._db.executemany("INSERT OR REPLACE INTO newest VALUES (?, ?)", rows)
        private = {entry.job for entry in documents if entry.private is not None}
        self._db.executemany("INSERT OR IGNORE INTO private VALUES (?)", [(self._words(job),) for job in private])

    def _search(self, statement: str, entries: Iterable[int]) -> None:
        """Keep the index of texts, if it is made yet."""
        if self._has_words:
            self._db.executemany(statement, ((entry,) for entry in entries))

    def _answers(self, file: str) -> dict[int, Answered] | None:
        """The answers in a part; None if it is not there, or no part."""
        try:
            return dict(answers(self._site.at_rest, self._site.root / file))
        except (BadPartError, OSError):
            return None

    def _set_answers(self, part: int, file: str) -> None:
        """Read a part whose rows are items already."""
        if (found := self._answers(file)) is None:
            return
        self._db.execute("UPDATE part SET read = 1 WHERE id = ?", (part,))
        rows = self._db.execute(
            "SELECT entry, word.text, review FROM item JOIN word ON word.id = state WHERE part = ?", (part,)
        ).fetchall()
        for entry, state, review in rows:
            said = found.get(entry, _NOTHING)
            facts = (self._words(said.label), self._words(said.task), *_scores(said, state, bool(review)), entry)
            self._db.execute(
                "UPDATE item SET label = ?, task = ?, score = ?, certainty = ?, uncertain = ? WHERE entry = ?", facts
            )
            if said.answer:
                self._search(UNSAY, [entry])
                new = (said.answer, f"\n{said.answer.casefold()}", entry)
                self._db.execute("UPDATE told SET answer = ?, text = text || ? WHERE entry = ?", new)
                self._search(SAY, [entry])

    def _place(self, entry: Document) -> tuple[int, int]:
        """The run and the night of a row: of a person's decision those of the row that he saw."""
        if of := (entry.said.get("review") or {}).get("of"):
            row = self._db.execute("SELECT run, night FROM item WHERE entry = ?", (of,)).fetchone()
            if row:
                return int(row[0]), int(row[1])
        return self._words(entry.run), self._words(night_of(entry.run, entry.time))

    def _item(self, entry: Document, part: int, said: Answered, run: int, night: int) -> tuple[Any, ...]:
        words, review = self._words, entry.said.get("review") or {}
        rank = RANKS.get(entry.state, (OTHER,))[-1 if review else 0]
        folder = entry.path.rpartition("/")[0]
        facts = map(words, (entry.job, entry.state, entry.failure, said.label, folder))
        decided, by = words(review.get("action")), words(review.get("by"))
        made = (words(entry.job_digest), words(said.task), run, words(entry.language), by, part, entry.row, rank)
        document = bytes.fromhex(entry.document) if entry.document else None
        last = (*_scores(said, entry.state, bool(review)), entry.size or 0, 0, entry.pages, document, entry.path)
        return (entry.n, 1, *facts, night, decided, *made, *last)

    def _told(self, entry: Document, said: Answered) -> tuple[Any, ...]:
        reason = shortened(entry.reason) if entry.reason else None
        text = "\n".join(each for each in (entry.path, reason, said.answer) if each)
        return entry.n, entry.finished_at or entry.time, reason, said.answer, text.casefold()

    def _replaced(self, entry: Document) -> Iterable[int]:
        """The entries whose rows this one takes the place of. Where it does not say them, as it was before entries did,
        the rule of current.py does, for the rows of that time."""
        if entry.replaces is not None:
            return entry.replaces
        if entry.closed:
            return () if entry.supersedes is None else (entry.supersedes,)
        document = entry.document and f"{entry.job}\0{entry.document}"
        key = RowKey(document, f"{entry.job}\0{entry.path}", entry.state)
        return replaced(self._last, key, entry.n, self.copies.get(entry.job, False))

    def _delete(self, entry: DeletedByRule | Erased) -> None:
        """Forget rows that are deleted."""
        gone = set(entry.entries).union(*(part.entries for part in entry.rows)) if isinstance(entry, Erased) else set()
        for file in entry.parts:
            named = "SELECT entry FROM item WHERE part = (SELECT id FROM part WHERE file = ?)"
            gone.update(number for (number,) in self._db.execute(named, (file,)))
            self._db.execute("DELETE FROM part WHERE file = ?", (file,))
        self._search(UNSAY, gone)
        named = "SELECT job, path FROM item WHERE entry = ?"
        files = {found for number in gone for found in self._db.execute(named, (number,))}
        for table in ("item", "told"):
            self._db.executemany(f"DELETE FROM {table} WHERE entry = ?", ((number,) for number in gone))
        if self._has_indexes:
            mark_older(self._db, files)


def _scores(said: Answered, state: str, reviewed: bool) -> tuple[float, float, float]:
    """The columns `score`, `certainty` and `uncertain`, of which the last orders answers that nobody has seen."""
    score, certainty = (NO_SCORE if each is None else each for each in (said.score, said.certainty))
    return score, certainty, certainty if state in ANSWERED and not reviewed else NO_SCORE


def _to_key(identity: Identity) -> bytes:
    return identity.encode() if isinstance(identity, str) else identity


def entries_from(site: Site, start: int) -> Iterator[Record]:
    """The entries that the index lacks. audit.AuditError."""
    return read_entries(site, start) if start < audit.read_checkpoint(site.audit, site.public_key).size else iter(())
