"""The index is brought up to date: entries of the log become items, with the answers of their parts."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from pipeline.errors import BadPartError
from pipeline.index.answers import Answered, answers, shortened
from pipeline.index.asking import OTHER, RANKS
from pipeline.index.tables import NO_SCORE, SAY, UNSAY, mark_older
from pipeline.index.values import RunTold, run_from_text
from pipeline.plan import Site
from pipeline.records.current import Identity, RowKey, answers_copies, replaced
from pipeline.records.index import Remembered
from pipeline.records.nights import night_of, night_of_run
from pipeline.records.types import (
    DeletedByRule,
    Document,
    Erased,
    Part,
    Placed,
    Record,
    RunEmpty,
    RunFinished,
    RunRefused,
    RunStarted,
    RunStopped,
    SettingsPiece,
)
from pipeline.states import ANSWERED, State

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
        self._happened = Happened(db)
        self._last: Remembered[Identity, int] = Remembered(db, "last", _to_key, bytes, int)

    def take(self, entry: Record) -> None:
        """Take in the next entry."""
        self._happened.take(entry)
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
        self._happened.save()

    def read_late_parts(self) -> None:
        """Read the parts that were not in place when their entries were taken in."""
        for part, file in self._db.execute("SELECT id, file FROM part WHERE read = 0").fetchall():
            if (self._site.root / file).is_file():
                self._set_answers(part, file)

    def _add(self, file: str, documents: Sequence[Document]) -> None:
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
        try:
            return dict(answers(self._site.at_rest, self._site.root / file))
        except (BadPartError, OSError):
            return None

    def _set_answers(self, part: int, file: str) -> None:
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
        return self._words(entry.run), self._words(evening_of(entry.run, entry.time))

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


_NO_HAPPENING: Final = (Part, Placed, SettingsPiece)


class Happened:
    """The entries of one span, as the tables will have them. sqlite3.Error."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._happenings: list[tuple[Any, ...]] = []
        self._made: Counter[tuple[str, str, int, str]] = Counter()
        self._days: dict[str, tuple[int, int, int]] = {}
        self._runs: dict[str, RunTold] = {}
        self._settings: dict[str, int] = {}

    def take(self, entry: Record) -> None:
        """Take in the next entry."""
        n, time, run = entry.n, entry.time, entry.run
        is_row = isinstance(entry, Document) and not entry.is_decided
        first, _, documents = self._days.get(time[:10], (n, n, 0))
        self._days[time[:10]] = first, n, documents + is_row
        if isinstance(entry, Document) and is_row:
            minute = int(datetime.fromisoformat(entry.finished_at or time).timestamp()) // 60
            self._made[entry.model_sha256, run, minute, entry.state] += 1
        elif not isinstance(entry, _NO_HAPPENING):
            self._happenings.append((n, entry.type, time, run, entry.said.get("job") or "", entry.user))
        if isinstance(entry, SettingsPiece):
            self._settings.setdefault(entry.job_digest, n)
        if run and (is_row or entry.type.startswith("run.")):
            self._runs[run] = _told(self._run(entry), entry)

    def save(self) -> None:
        """Write what was gathered."""
        self._db.executemany("INSERT OR REPLACE INTO happening VALUES (?, ?, ?, ?, ?, ?)", self._happenings)
        self._db.executemany(
            "INSERT INTO made VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
            [(*key, number) for key, number in self._made.items()],
        )
        self._db.executemany(
            "INSERT INTO day VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET last = excluded.last, documents = documents + excluded.documents",
            [(day, *numbers) for day, numbers in self._days.items()],
        )
        runs = [
            (each.run, each.job, evening_of(each.run, each.started_at), each.first, json.dumps(asdict(each)))
            for each in self._runs.values()
        ]
        self._db.executemany("INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?, ?)", runs)
        self._db.executemany("INSERT OR IGNORE INTO settings VALUES (?, ?)", self._settings.items())

    def _run(self, entry: Record) -> RunTold:
        if entry.run in self._runs:
            return self._runs[entry.run]
        row = self._db.execute("SELECT told FROM run WHERE run = ?", (entry.run,)).fetchone()
        return run_from_text(row[0]) if row else RunTold(entry.run, entry.job, entry.n, entry.n, entry.time)


def _told(run: RunTold, entry: Record) -> RunTold:
    run = replace(run, last=entry.n)
    match entry:
        case Document():
            return replace(run, counts={**run.counts, entry.state: run.counts.get(entry.state, 0) + 1})
        case RunStarted():
            run = replace(run, retry=entry.retry, ready=entry.ready, rerun=entry.rerun is not None)
            run = replace(run, job_digest=entry.job_digest, job_file_sha256=entry.job_file_sha256)
            return replace(run, model=entry.model, model_sha256=entry.model_sha256)
        case RunEmpty():
            run = replace(run, job_digest=entry.job_digest, model_sha256=entry.model_sha256)
            return replace(run, state="empty", ended_at=entry.time, counts=_NONE | entry.counts)
        case RunRefused():
            return replace(run, state="refused", ended_at=entry.time, reason=entry.reason, model=entry.model)
        case RunStopped():
            return replace(run, state="stopped", ended_at=entry.time, reason=entry.reason)
        case RunFinished():
            run = replace(run, seconds=entry.seconds, tokens=entry.tokens, counts=_NONE | entry.counts)
            return replace(run, state=entry.how, ended_at=entry.time)
    return run


_NONE: Final = {state.value: 0 for state in State}


@lru_cache(maxsize=1024)
def evening_of(run: str, time: str) -> str:
    """The date of the evening to which a run belongs; `time`, of an entry, serves where the run's name does not say
    when it began."""
    return (night_of_run(run) or night_of(datetime.fromisoformat(time))).isoformat()
