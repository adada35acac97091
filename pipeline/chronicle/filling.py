"""The chronicle is brought up to date: what a span of entries says is gathered, and then written in one go."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Final

from pipeline.chronicle.told import RunTold
from pipeline.records.entries import without_authority
from pipeline.states import State

_NOT_TOLD: Final = frozenset({"part", "placed", "settings"})
_BEGINS: Final = frozenset({"run.started", "run.empty", "run.refused"})
Said = Mapping[str, Any]


class Filling:
    """The entries of one span, as the tables will have them. sqlite3.Error."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._happenings: list[tuple[Any, ...]] = []
        self._tally: Counter[tuple[str, str, int, str]] = Counter()
        self._days: dict[str, tuple[int, int, int]] = {}
        self._runs: dict[str, RunTold] = {}
        self._settings: dict[str, int] = {}

    def take(self, n: int, entry: Said) -> None:
        """Take in the next entry, as the log has it."""
        said = without_authority(entry) if "handed" in entry else entry
        kind, time, run = said["type"], said["time"], said["run"]
        is_row = kind == "document" and not said.get("review")
        day = time[:10]
        first, _, documents = self._days.get(day, (n, n, 0))
        self._days[day] = first, n, documents + is_row
        if is_row:
            minute = int(datetime.fromisoformat(said["finished_at"] or time).timestamp()) // 60
            self._tally[said["model_sha256"], run, minute, said["state"]] += 1
        elif kind not in _NOT_TOLD:
            self._happenings.append((n, kind, time, run, said.get("job") or "", said["user"]))
        if kind == "settings":
            self._settings.setdefault(said["job_digest"], n)
        if run and (kind in _BEGINS or kind.startswith("run.") or is_row):
            self._runs[run] = _told(self._run(run, n, said), n, said)

    def save(self) -> None:
        """Write what was gathered."""
        self._db.executemany("INSERT OR REPLACE INTO happening VALUES (?, ?, ?, ?, ?, ?)", self._happenings)
        self._db.executemany(
            "INSERT INTO tally VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
            [(*key, number) for key, number in self._tally.items()],
        )
        self._db.executemany(
            "INSERT INTO day VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET last = excluded.last, documents = documents + excluded.documents",
            [(day, *numbers) for day, numbers in self._days.items()],
        )
        runs = [(each.run, each.job, each.first, json.dumps(asdict(each))) for each in self._runs.values()]
        self._db.executemany("INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?)", runs)
        self._db.executemany("INSERT OR IGNORE INTO settings VALUES (?, ?)", self._settings.items())

    def _run(self, run: str, n: int, said: Said) -> RunTold:
        """The run as it was told so far."""
        if run in self._runs:
            return self._runs[run]
        row = self._db.execute("SELECT told FROM run WHERE run = ?", (run,)).fetchone()
        return run_from_text(row[0]) if row else RunTold(run, said.get("job") or "", n, n, said["time"])


def run_from_text(text: str) -> RunTold:
    """A run as the table has it."""
    told = json.loads(text)
    return RunTold(**{**told, "retry": tuple(told["retry"]) if told["retry"] is not None else None})


def _told(run: RunTold, n: int, said: Said) -> RunTold:
    """The run after one more of its entries."""
    run = replace(run, last=n)
    match said["type"]:
        case "document":
            counts = {**run.counts, said["state"]: run.counts.get(said["state"], 0) + 1}
            return replace(run, counts=counts)
        case "run.started":
            retry = said.get("retry")
            taken = {"ready": said.get("ready", 0), "rerun": said.get("rerun") is not None}
            return replace(run, retry=tuple(retry) if retry else None, **taken, **_made_by(said))
        case "run.empty":
            return replace(run, state="empty", ended_at=said["time"], counts=_counts(said), **_made_by(said))
        case "run.refused":
            return replace(
                run, state="refused", ended_at=said["time"], reason=said.get("reason"), model=said.get("model")
            )
        case "run.stopped":
            return replace(run, state="stopped", ended_at=said["time"], reason=said.get("reason"))
        case "run.finished":
            early = next((name for name in ("window_closed", "interrupted") if said.get(name)), None)
            ended = {"ended_at": said["time"], "seconds": said.get("seconds", 0.0), "tokens": said.get("tokens")}
            return replace(run, state=early or "finished", counts=_counts(said), **ended)
    return run


def _made_by(said: Said) -> dict[str, Any]:
    return {name: said.get(name) for name in ("job_digest", "job_file_sha256", "model", "model_sha256")}


def _counts(said: Said) -> dict[str, int]:
    return {state.value: said.get(state.value, 0) for state in State}
