"""The index of a workspace: lists and counts of all documents, beside what it has of days, runs and models (log.py).

It may be deleted at any time. It is made from the log and the parts, and brought up to date by what came since. It
serves lists and counts alone: whatever is shown of one document, or decided, comes from the log and from its part
(`row_of`).
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

import audit
from pipeline.document import Row
from pipeline.index.asking import (
    behind,
    fact,
    only_current,
    order_of,
    ordered,
    place_of,
    ranks,
    score_of,
    trigrams,
    where,
)
from pipeline.index.filling import Filling
from pipeline.index.log import AT_ONCE, LogIndex
from pipeline.index.tables import make_indexes
from pipeline.index.values import Filter, Item, Night, Page, RunTold, run_from_text
from pipeline.outbox.results import marked, rows_of
from pipeline.plan import Site
from pipeline.records.entries import read_entries

MOST_COUNTED = 10_000
"""Rows that have a text, of which no more are counted."""
_LOOKED_THROUGH = 4_000  # rows in which a text is sought before its trigrams are
_WORDS = ("job", "state", "failure", "label", "night", "review", "task", "run", "language", "reviewer")
_SELECT = (
    "SELECT " + ", ".join(f"(SELECT text FROM word WHERE id = item.{name})" for name in _WORDS)
    + ", item.entry, path, document, reason, item.score, certainty, answer, size, pages, time, part.file, item.row, "
    "(item.job, item.settings) NOT IN (SELECT job, settings FROM newest), replaced_by, "
    "newer "
    "FROM item JOIN told USING (entry) JOIN part ON part.id = item.part"
)  # fmt: skip


def open_index(site: Site) -> "Index":
    """The index of a workspace, as it was brought up to date last: call `refresh` for what came since. It is a context
    manager. sqlite3.Error."""
    return Index(site)


class Index(LogIndex):
    """The index, opened. Its methods raise sqlite3.Error where the file cannot be read."""

    def refresh(self, seconds: float | None = None) -> bool:
        """Take in what came since, for so many seconds, or all of it; whether all is taken in. AuditError."""
        done = super().refresh(seconds)
        if done and self._db.execute("SELECT 1 FROM part WHERE read = 0 LIMIT 1").fetchone():
            with self._transaction():
                Filling(self._site, self._db, {}).read_late_parts()
        return done

    def page(self, asked: Filter, sort: str = "score", after: str | None = None, limit: int = 50) -> Page:
        """Some documents in an order, from behind the place `after` on. ValueError for an order or place that is
        none."""
        items, place = self.items(asked, sort, after, limit)
        return Page(items, self.count(asked), place)

    def items(self, asked: Filter, sort: str, after: str | None, limit: int) -> tuple[tuple[Item, ...], str | None]:
        """The items of a page, and the place behind them. ValueError."""
        columns, _ = order_of(sort)
        test, values = where(asked)
        place, place_values = behind(sort, after)
        whole = f"{only_current(asked)} AND {ranks(asked)} AND {test} AND {place}"
        query = f"SELECT {columns} FROM item WHERE {whole}", [*values, *place_values]
        found = self._found(query, columns, f"ORDER BY {ordered(sort)} LIMIT", asked.text, limit + 1)
        items = tuple(self._items([row[-1] for row in found[:limit]]))
        return items, place_of(found[limit - 1]) if len(found) > limit else None

    def _found(
        self, query: tuple[str, list[Any]], columns: str, order: str, text: str | None, limit: int
    ) -> list[tuple[Any, ...]]:
        """The first rows of a query. Where they have to have a text, it is sought in the first of them; only if too few
        have it, by its trigrams."""
        select, values = query
        if not text:
            return self._db.execute(f"{select} {order} ?", [*values, limit]).fetchall()
        text = text.casefold()
        first = f"SELECT * FROM ({select} {order} {_LOOKED_THROUGH}) JOIN told USING (entry) WHERE instr(text, ?)"
        found = self._db.execute(f"SELECT {columns} FROM ({first}) {order} ?", [*values, text, limit]).fetchall()
        if len(found) == limit:
            return found
        among, more = self._having(text)
        return self._db.execute(f"{select} AND entry IN ({among}) {order} ?", [*values, *more, limit]).fetchall()

    def _having(self, text: str) -> tuple[str, list[str]]:
        pieces = trigrams(text)
        if pieces is None or not self._has("words"):
            return "SELECT entry FROM told WHERE instr(text, ?)", [text]
        joined = "SELECT entry FROM words CROSS JOIN told ON told.entry = words.rowid"
        return f"{joined} WHERE words MATCH ? AND instr(told.text, ?)", [pieces, text]

    def count(self, asked: Filter) -> int:
        """How many documents a filter lets through; of those that have a text at most MOST_COUNTED are counted."""
        return self._counts(asked, None).get(None, 0)

    def counts(self, asked: Filter, by: str) -> dict[str, int]:
        """How many documents of each state, label, failure, night, job, folder or review a filter lets through; those
        of none stand under "". With a text, the first MOST_COUNTED that have it are counted. ValueError."""
        name = fact(by)
        numbers = self._counts(asked, name)
        words = dict(self._db.execute("SELECT id, text FROM word")) if len(numbers) > 500 else {}
        told = {words.get(number) or self._word(number): count for number, count in numbers.items() if count}
        return dict(sorted(told.items(), key=lambda each: (-each[1], each[0])))

    def item(self, entry: int) -> Item:
        """The row of an entry, current or not. LookupError."""
        for found in self._items([entry]):
            return found
        raise LookupError(f"entry {entry} is no row of the results")

    def entries(self, asked: Filter, size: int | None = None) -> list[int]:
        """The entries of all rows that a filter lets through, ascending; with `size`, of those that held when the log
        had so many entries."""
        test, values = where(asked)
        held = only_current(asked)
        if size is not None:
            held, values = "entry < ? AND (replaced_by IS NULL OR replaced_by >= ?)", [size, size, *values]
        if asked.text:
            among, more = self._having(asked.text.casefold())
            test, values = f"{test} AND entry IN ({among})", [*values, *more]
        rows = self._db.execute(f"SELECT entry FROM item WHERE {held} AND {test} ORDER BY entry", values)
        return [row[0] for row in rows]

    def same_document(self, entry: int) -> list[Item]:
        """All rows, current or not, of the document of an entry, in every job, oldest first. LookupError."""
        item = self.item(entry)
        if item.document is None:
            return [item]
        document = bytes.fromhex(item.document)
        rows = self._db.execute("SELECT entry FROM item WHERE document = ? ORDER BY entry", (document,)).fetchall()
        return list(self._items([row[0] for row in rows]))

    def beside(self, asked: Filter, sort: str, entry: int) -> tuple[int | None, int | None]:
        """The entries that stand before and behind an entry in an order, among those that a filter lets through; it
        need not be one of these itself. LookupError; ValueError for an order that is none."""
        columns, _ = order_of(sort)
        place = self._db.execute(f"SELECT {columns} FROM item WHERE entry = ?", (entry,)).fetchone()
        if place is None:
            raise LookupError(f"entry {entry} is no row of the results")
        test, values = where(asked)
        tests = [only_current(asked), test]
        if asked.text:
            tests.append("entry IN (SELECT entry FROM told WHERE instr(text, ?))")
            values = [*values, asked.text.casefold()]
        found = []
        for turned in (True, False):
            beyond, its = behind(sort, place_of(place), turned=turned)
            told = f"SELECT entry FROM item WHERE {' AND '.join(tests)} AND {beyond} ORDER BY "
            row = self._db.execute(f"{told}{ordered(sort, turned=turned)} LIMIT 1", [*values, *its]).fetchone()
            found.append(None if row is None else int(row[0]))
        return found[0], found[1]

    def nights(self, job: str | None = None) -> list[Night]:
        """The nights of each job, or of one, the latest first. A job's runs of one night are one of them."""
        rows = self._db.execute(
            "SELECT night, told FROM run WHERE ? IS NULL OR job = ? ORDER BY night DESC, job, first", (job, job)
        )
        nights = dict[tuple[str, str], list[RunTold]]()
        for night, told in rows:
            run = run_from_text(told)
            nights.setdefault((night, run.job), []).append(run)
        return [_night(night, runs) for (night, _), runs in nights.items()]

    def private_jobs(self) -> set[str]:
        """The jobs of which any row was ever private."""
        return {job for (job,) in self._db.execute("SELECT text FROM private JOIN word ON word.id = private.job")}

    def _counts(self, asked: Filter, by: str | None) -> dict[Any, int]:
        """Counted where nothing but facts is asked for from the tally, else from the items."""
        test, values = where(asked)
        column = by or "NULL"
        if asked.text:
            among, more = self._having(asked.text.casefold())
            joined = f"({among}) AS hits CROSS JOIN item USING (entry)"
            some = f"SELECT {column} AS fact FROM {joined} WHERE {only_current(asked)} AND {test} LIMIT {MOST_COUNTED}"
            rows = self._db.execute(f"SELECT fact, count(*) FROM ({some}) GROUP BY fact", [*more, *values])
        elif asked.current and self._has("by_score"):
            rows = self._db.execute(f"SELECT {column}, sum(n) FROM tally WHERE {test} GROUP BY {column}", values)
        else:
            whole = f"{only_current(asked)} AND {test}"
            rows = self._db.execute(f"SELECT {column}, count(*) FROM item WHERE {whole} GROUP BY {column}", values)
        return dict(rows.fetchall())

    def _items(self, entries: list[int]) -> Iterator[Item]:
        if not entries:
            return
        rows = self._db.execute(f"{_SELECT} WHERE item.entry IN ({', '.join('?' * len(entries))})", entries)
        found = {row[len(_WORDS)]: _item(row) for row in rows}
        yield from (found[entry] for entry in entries if entry in found)

    def _word(self, number: int) -> str:
        return str(self._db.execute("SELECT text FROM word WHERE id = ?", (number,)).fetchone()[0])

    def _has(self, name: str) -> bool:
        return bool(self._db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone())

    def _take_in(self, size: int) -> tuple[int, Mapping[str, Any]]:
        filling = Filling(self._site, self._db, json.loads(self._about("copies", "{}")))
        whole = audit.read_checkpoint(self._site.audit, self._site.public_key).size
        entries = read_entries(self._site, size) if size < whole else ()
        for count, entry in enumerate(entries, 1):
            filling.take(entry)
            size = entry.n + 1
            if count >= AT_ONCE and filling.is_between_parts:
                break
        filling.save()
        if size == audit.read_checkpoint(self._site.audit, self._site.public_key).size:
            make_indexes(self._db)
        return size, {"copies": json.dumps(filling.copies)}


def _item(row: tuple[Any, ...]) -> Item:
    job, state, failure, label, night, review, task, run, language, by, *rest = row
    entry, path, document, reason, score, certainty, answer, size, pages, time_, part, number, other, gone, newer = rest
    return Item(
        entry=entry, job=job, task=task or None, path=path, document=document.hex() if document else None, state=state,
        failure=failure or None, reason=reason, label=label or None, score=score_of(score),
        certainty=score_of(certainty), answer=answer or _why(failure, reason), size=size, pages=pages,
        language=language or None, time=time_, run=run, night=night, part=part, row=number,
        review_action=review or None, review_by=by or None, other_settings=bool(other), replaced_by=gone,
        newer_file=newer,
    )  # fmt: skip


def _why(failure: str, reason: str | None) -> str:
    return ": ".join(each for each in (failure, reason) if each)


def _night(night: str, runs: list[RunTold]) -> Night:
    counts = Counter[str]()
    for run in runs:
        counts += Counter(run.counts)
    names, seconds = tuple(run.run for run in runs), sum(run.seconds for run in runs)
    return Night(night, runs[-1].job, runs[-1].state, names, seconds, counts)


_PAGE = 500
_AT_ONCE = 5_000  # rows in memory: those of one part are read together


def items_in_order(index: Index, asked: Filter, sort: str, limit: int | None = None) -> Iterator[Item]:
    """All items that a filter lets through, or the first of them. ValueError for an order that is none."""
    left, after = limit, cast(str | None, None)
    while left is None or left > 0:
        items, after = index.items(asked, sort, after, _PAGE if left is None else min(_PAGE, left))
        yield from items
        left = None if left is None else left - len(items)
        if after is None:
            return


def rows_in_order(site: Site, index: Index, asked: Filter, sort: str, limit: int | None = None) -> Iterator[Row]:
    """The rows of these items, as `results` gives them; not of parts that are gone. BadPartError, ValueError."""
    some = list[Item]()
    for item in items_in_order(index, asked, sort, limit):
        some.append(item)
        if len(some) == _AT_ONCE:
            yield from _rows(site, some)
            some = []
    yield from _rows(site, some)


def _rows(site: Site, items: list[Item]) -> Iterator[Row]:
    wanted: dict[str, set[int]] = {}
    for item in items:
        wanted.setdefault(item.part, set()).add(item.entry)
    found: dict[int, Row] = {}
    for part, entries in wanted.items():
        if (site.root / part).is_file():
            found |= rows_of(site.at_rest, site.root / part, entries)
    for item in items:
        if item.entry in found:
            yield marked(found[item.entry].having(job=item.job), item.other_settings, item.newer_file)
