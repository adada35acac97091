"""The chronicle: days, runs, models and what happened, from an index in state/.

The index may be deleted at any time. It is made from the log alone, and brought up to date by what came since. What is
shown of one entry comes from the log itself.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from pipeline.chronicle.filling import Filling, run_from_text
from pipeline.chronicle.tables import FILE
from pipeline.chronicle.told import Day, Happening, ModelUse, RunTold, Throughput
from pipeline.plan import Site
from pipeline.records.entries import recorded_entries
from pipeline.records.indexes import AT_ONCE, LogIndex


def open_chronicle(site: Site) -> "Chronicle":
    """The chronicle of a workspace, as it was brought up to date last: call `refresh` for what came since. It is a
    context manager. sqlite3.Error."""
    return Chronicle(site)


class Chronicle(LogIndex):
    """The index, opened. Its methods raise sqlite3.Error where the file cannot be read."""

    def __init__(self, site: Site) -> None:
        super().__init__(site, FILE)

    def days(self) -> list[Day]:
        """The days that have entries, the latest first."""
        return [Day(*row) for row in self._db.execute("SELECT * FROM day ORDER BY day DESC")]

    def day(self, day: str) -> Day:
        """A day with entries. LookupError."""
        for row in self._db.execute("SELECT * FROM day WHERE day = ?", (day,)):
            return Day(*row)
        raise LookupError(f"the log has no entry of {day}")

    def happenings(self, first: int, last: int, limit: int = 1000) -> list[Happening]:
        """Return what happened beside rows between two entries, in order."""
        rows = self._db.execute(
            "SELECT * FROM happening WHERE n BETWEEN ? AND ? ORDER BY n LIMIT ?", (first, last, limit)
        )
        return [Happening(*row) for row in rows]

    def last_of(self, *types: str) -> Happening | None:
        """The last entry of one of these types; None if there is none."""
        marks = ", ".join("?" * len(types))
        rows = self._db.execute(f"SELECT * FROM happening WHERE type IN ({marks}) ORDER BY n DESC LIMIT 1", types)
        return next((Happening(*row) for row in rows), None)

    def numbers_of(self, *types: str) -> list[int]:
        """The numbers of all entries of these types, in order."""
        marks = ", ".join("?" * len(types))
        return [n for (n,) in self._db.execute(f"SELECT n FROM happening WHERE type IN ({marks}) ORDER BY n", types)]

    def runs(self, job: str | None = None, before: int | None = None, limit: int = 50) -> list[RunTold]:
        """Runs, the latest first; `before`: those that began before this entry."""
        rows = self._db.execute(
            "SELECT told FROM run WHERE (? IS NULL OR job = ?) AND first < ? ORDER BY first DESC LIMIT ?",
            (job, job, 1 << 62 if before is None else before, limit),
        )
        return [run_from_text(text) for (text,) in rows]

    def run(self, run: str) -> RunTold:
        """A run by its name. LookupError."""
        for (text,) in self._db.execute("SELECT told FROM run WHERE run = ?", (run,)):
            return run_from_text(text)
        raise LookupError(f"the log knows no run {run!r}")

    def settings_at(self, digest: str) -> int | None:
        """The first entry that keeps the settings of this digest; None if the log does not have them."""
        row = self._db.execute("SELECT first FROM settings WHERE digest = ?", (digest,)).fetchone()
        return int(row[0]) if row else None

    def throughput(self, since: int, until: int, span: int) -> list[Throughput]:
        """How many rows were made in each span of so many minutes from `since` to before `until` (minutes since 1970),
        those of no row left out."""
        rows = self._db.execute(
            "SELECT (minute - ?) / ?, state, sum(n) FROM tally WHERE minute >= ? AND minute < ? GROUP BY 1, 2",
            (since, span, since, until),
        )
        spans = defaultdict[int, dict[str, int]](dict)
        for number, state, count in rows:
            spans[number][state] = count
        return [Throughput((since + number * span) * 60, counts) for number, counts in sorted(spans.items())]

    def models(self, sha256: str | None = None) -> list[ModelUse]:
        """The models that made rows, or the one of this sha256, the last used first."""
        rows = self._db.execute(
            "SELECT model, run.job, run.told ->> '$.model', state, sum(n), min(minute), max(minute) "
            "FROM tally JOIN run USING (run) WHERE ? IS NULL OR model = ? GROUP BY 1, 2, 3, 4",
            (sha256, sha256),
        ).fetchall()
        models = [_use(model, [row for row in rows if row[0] == model]) for model in {row[0] for row in rows}]
        return sorted(models, key=lambda each: (-each.last, each.sha256))

    def runs_of(self, sha256: str, limit: int = 50) -> list[RunTold]:
        """The last runs in which this model made rows, the latest first."""
        rows = self._db.execute(
            "SELECT told FROM run WHERE run IN (SELECT DISTINCT run FROM tally WHERE model = ?) "
            "ORDER BY first DESC LIMIT ?",
            (sha256, limit),
        )
        return [run_from_text(text) for (text,) in rows]

    def _take_in(self, size: int) -> tuple[int, Mapping[str, Any]]:
        filling = Filling(self._db)
        for n, entry in islice(recorded_entries(self._site, size), AT_ONCE):
            filling.take(n, entry)
            size = n + 1
        filling.save()
        return size, {}


def _use(model: str, rows: Sequence[tuple[Any, ...]]) -> ModelUse:
    """A model's use, of the rows about it."""
    states = defaultdict[str, dict[str, int]](dict)
    for _, job, _, state, number, _, _ in rows:
        states[job][state] = states[job].get(state, 0) + number
    names = tuple(sorted({row[2] for row in rows if row[2]}))
    return ModelUse(model, names, min(row[5] for row in rows) * 60, max(row[6] for row in rows) * 60, dict(states))
