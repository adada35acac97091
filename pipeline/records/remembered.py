"""The parts of a History that grow with its documents, in the tables of an SQLite file; the rest as JSON.

What is changed stays in memory until it is saved. Keys are made short: a digest as bytes, what is only asked for by the
whole of it as a digest.
"""

import errno
import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import asdict, astuple
from typing import Any, TypeVar

from pipeline.records.admissions import Admissions, Decision
from pipeline.records.costs.jobs import JobCosts
from pipeline.records.current import Identity
from pipeline.records.dispositions import Dispositions, Unread
from pipeline.records.history import FailedBefore, Held, History
from pipeline.records.register import Register
from pipeline.records.settings import KeptSettings
from pipeline.records.types import (
    DeletedByRule,
    Deletion,
    Document,
    Erased,
    JobFile,
    Json,
    Part,
    Qualified,
    Reported,
    RunEmpty,
    RunStarted,
)

K = TypeVar("K")
V = TypeVar("V")


class Remembered(MutableMapping[K, V]):
    """One table, `key` and `value`, below what changed since it was saved. OSError where the file cannot be read."""

    def __init__(
        self, db: sqlite3.Connection, table: str, to_key: Callable[[K], bytes], from_key: Callable[[bytes], K],
        to_value: Callable[[V], Any], from_value: Callable[[Any], V],
    ) -> None:  # fmt: skip
        self._db, self._table, self._to_key, self._from_key = db, table, to_key, from_key
        self._to_value, self._from_value = to_value, from_value
        self._new: dict[K, V] = {}
        self._gone: set[K] = set()

    def __getitem__(self, key: K) -> V:
        if key in self._new:
            return self._new[key]
        rows = [] if key in self._gone else self._rows("WHERE key = ?", self._to_key(key))
        if rows:
            return self._from_value(rows[0][1])
        raise KeyError(key)

    def __setitem__(self, key: K, value: V) -> None:
        self._new[key] = value
        self._gone.discard(key)

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        self._new.pop(key, None)
        self._gone.add(key)

    def __iter__(self) -> Iterator[K]:
        for row in self._rows(""):
            key = self._from_key(row[0])
            if key not in self._gone and key not in self._new:
                yield key
        yield from self._new

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def save(self) -> None:
        """Within the caller's transaction. sqlite3.Error."""
        gone = ((self._to_key(key),) for key in self._gone)
        new = ((self._to_key(key), self._to_value(value)) for key, value in self._new.items())
        self._db.executemany(f"DELETE FROM {self._table} WHERE key = ?", gone)
        self._db.executemany(f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?)", new)
        self._new.clear()
        self._gone.clear()

    def _rows(self, where: str, *values: bytes) -> list[tuple[bytes, Any]]:
        try:
            return self._db.execute(f"SELECT key, value FROM {self._table} {where}", values).fetchall()
        except sqlite3.Error as error:
            raise OSError(errno.EIO, f"{error}; delete the folder, it is made again", "state/history") from error


class MetPaths:
    """The set of (path, document), which is only asked for members. History.paths."""

    def __init__(self, met: MutableMapping[bytes, int]) -> None:
        self._met = met

    def add(self, met: tuple[str, str]) -> None:
        self._met[_digest(met)] = 1

    def __contains__(self, met: tuple[str, str | None]) -> bool:
        path, document = met
        return document is not None and _digest((path, document)) in self._met


class Tables:
    """The tables of a file, which is empty or was saved before."""

    def __init__(self, db: sqlite3.Connection) -> None:
        for name in ("done", "met", "last", "failed", "answered", "unread", "decided", "corrected"):
            db.execute(f"CREATE TABLE IF NOT EXISTS {name} (key BLOB PRIMARY KEY, value) WITHOUT ROWID")
        self.done: Remembered[str, str] = Remembered(db, "done", bytes.fromhex, bytes.hex, str, str)
        self.met: Remembered[bytes, int] = Remembered(db, "met", bytes, bytes, int, int)
        self.last: Remembered[Identity, int] = Remembered(db, "last", _identity, bytes, int, int)
        self.failed = Remembered(db, "failed", _to_pair, _from_pair, _to_failed, _from_failed)
        self.answered: Remembered[str, list[str]] = Remembered(
            db, "answered", str.encode, bytes.decode, to_text, from_text
        )
        self.unread: Remembered[str, Unread] = Remembered(
            db, "unread", str.encode, bytes.decode, to_text, lambda text: tuple(from_text(text))
        )
        self.decided: Remembered[str, int] = Remembered(db, "decided", bytes.fromhex, bytes.hex, int, int)
        self.corrected: Remembered[str, str] = Remembered(db, "corrected", bytes.fromhex, bytes.hex, str, str)

    @property
    def _all(self) -> tuple["Remembered[Any, Any]", ...]:
        first = (self.done, self.met, self.last, self.failed)
        return (*first, self.answered, self.unread, self.decided, self.corrected)

    def history(self, rest: dict[str, Any] | None) -> History:
        """A history over the tables; `rest` is what `save` gave with them."""
        history = History(
            self.done, MetPaths(self.met), {}, self.last, self.failed, self.unread, answered=self.answered,
            decided=self.decided, corrected=self.corrected,
        )  # fmt: skip
        if rest is not None:
            _restore(history, rest)
        return history

    def save(self, history: History) -> dict[str, Any]:
        """Save what changed in the tables; gives the rest as JSON has it. sqlite3.Error."""
        for table in self._all:
            table.save()
        held = {
            parent: [[*key, *astuple(each)] for key, each in found.items()] for parent, found in history.inner.items()
        }
        return {
            "inner": held,
            "unplaced": [[part.said, [row.said for row in rows]] for part, rows in history.unplaced.values()],
            "has_settings": history.has_settings,
            "copies": history.copies,
            "deletions": [[number, entry.said] for number, entry in history.deletions.items()],
            "cut_off": history.cut_off,
            "register": asdict(history.register),
            "dispositions": history.dispositions.to_plain(),
            "empty": history.empty.said if history.empty else None,
            "qualified": [entry.said for entry in history.qualified.values()],
            "settings": history.settings.to_plain(),
            "review_key": history.review_key,
            "reports": [entry.said for entry in history.reports.values()],
            "unreported": [[night, [part.said for part in parts]] for night, parts in history.unreported.items()],
            "unmoved": [entry.said for entry in history.unmoved],
            "took": history.took,
            "ours": history.ours,
            "rerun": history.rerun.said if history.rerun else None,
            "costs": history.costs.to_plain(),
        }


def to_text(value: Any) -> str:
    """JSON in ASCII, for names that are no UTF-8."""
    return json.dumps(value, separators=(",", ":"))


def from_text(text: str) -> Any:
    """Read what `to_text` gives. ValueError for other texts."""
    return json.loads(text)


def _digest(met: tuple[str, str]) -> bytes:
    return hashlib.blake2b("\0".join(met).encode(), digest_size=20).digest()


def _identity(identity: Identity) -> bytes:
    return bytes.fromhex(identity) if isinstance(identity, str) else identity


def _to_pair(pair: tuple[str, str]) -> bytes:
    return to_text(pair).encode()


def _from_pair(key: bytes) -> tuple[str, str]:
    document, path = from_text(key.decode())
    return document, path


def _to_failed(failed: FailedBefore) -> str:
    return to_text(astuple(failed))


def _from_failed(text: str) -> FailedBefore:
    return FailedBefore(*from_text(text))


def _restore(history: History, rest: dict[str, Any]) -> None:
    history.inner = {
        parent: {(path, document): Held(*held) for path, document, *held in found}
        for parent, found in rest["inner"].items()
    }
    for said, rows in rest["unplaced"]:
        part = Part.from_json(said)
        history.unplaced[part.file] = part, [Document.from_json(row) for row in rows]
    history.has_settings = rest["has_settings"]
    history.copies = rest["copies"]
    history.deletions = {number: _deletion(said) for number, said in rest["deletions"]}
    history.cut_off = None if rest["cut_off"] is None else Counter(rest["cut_off"])
    register = rest["register"]
    jobs = {job: JobFile(**file) for job, file in register["jobs"].items()}
    decided = {sha256: Decision(**each) for sha256, each in register["admissions"]["last"].items()}
    history.register = Register(register["key"], jobs, register["models"], Admissions(decided))
    history.dispositions = Dispositions.from_plain(rest["dispositions"])
    qualified = map(Qualified.from_json, rest["qualified"])
    history.qualified = {entry.eval_sha256: entry for entry in qualified}
    history.settings = KeptSettings.from_plain(rest["settings"])
    history.review_key = rest["review_key"]
    history.reports = {entry.night: entry for entry in map(Reported.from_json, rest["reports"])}
    history.unreported = {night: [Part.from_json(said) for said in parts] for night, parts in rest["unreported"]}
    history.unmoved = [Reported.from_json(said) for said in rest["unmoved"]]
    history.took = [(tokens, seconds) for tokens, seconds in rest["took"]]
    history.ours = rest["ours"]
    history.rerun = None if rest["rerun"] is None else RunStarted.from_json(rest["rerun"])
    history.costs = JobCosts.from_plain(rest["costs"])
    history.empty = None if rest["empty"] is None else RunEmpty.from_json(rest["empty"])


def _deletion(said: Json) -> Deletion:
    return Erased.from_json(said) if said["type"] == Erased.TYPE else DeletedByRule.from_json(said)
