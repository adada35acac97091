"""`cloister results --newest`: of each path the newest file, where it is asked for or the job says so."""

import json
import sqlite3
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tests.console.browsing import Browser, open_house
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place, entries
from tests.pages import blocks

Told = list[tuple[str, int | None]]


@pytest.fixture
def corrected(ready: Place, cloister: Cloister) -> Place:
    """A letter came twice under one name, the second time with other words; a third one came once, and another back."""
    for words in ("five", "six"):
        ready.drop("sort", "bill.txt", f"{INVOICE}In all {words}.")
        ready.drop("sort", "back.txt", f"{LEASE}Version {words}.")
        assert cloister("run", "sort").code == 0
    ready.drop("sort", "back.txt", f"{LEASE}Version five.")
    ready.drop("sort", "once.txt", LEASE)
    ready.drop("sort", "broken.pdf", "%PDF-1.4 nothing")
    assert cloister("run", "sort").code == 1
    return ready


def rows(cloister: Cloister, *more: str) -> Told:
    return [(row["path"], row.get("newer_file")) for row in cloister("results", "sort", "--json", *more).json]


def test_newest_is_asked_for_or_is_the_rule_of_the_job(corrected: Place, cloister: Cloister, tmp_path: Path) -> None:
    every = rows(cloister)
    newest = [row for row in every if row[1] is None]
    assert sorted(path for path, newer in every if newer) == ["back.txt", "bill.txt"]
    assert rows(cloister, "--newest") == newest
    assert sorted(rows(cloister, "--newest", "--sort", "path")) == sorted(newest)
    assert rows(cloister, "--newest", "--limit", "2") == newest[:2]
    assert "note: a newer file has this path: entry" in cloister("results", "sort").out
    out = tmp_path / "t.jsonl"
    for more, expected in ((("--newest",), newest), ((), every)):
        assert cloister("results", "sort", "-o", out, "--state", "done", "--state", "duplicate", *more).code == 0
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        wanted = [row for row in expected if row[0] != "broken.pdf"]
        assert [(line["document"], line["newer_file"]) for line in lines] == wanted
    corrected.job("sort", SORT + "versions: newest\n")
    assert rows(cloister) == rows(cloister, "--newest") == newest
    assert (rows(cloister, "--all-versions"), sorted(rows(cloister, "--sort", "age"))) == (every, sorted(newest))
    assert len(cloister("results", "--json").json) == len(newest)
    corrected.drop("sort", "once.txt", f"{LEASE}Again.")
    assert cloister("run", "sort").code == 0
    assert entries(corrected, "run.started")[-1]["versions"] == "newest"
    assert entries(corrected, "run.started")[0]["versions"] == "all"
    assert cloister("audit", "verify").code == 0
    bad = corrected.job("sort", SORT + "versions: latest\n")
    assert "expected: one of all, newest" in cloister("check", "sort").out
    bad.unlink()
    assert rows(cloister, "--newest") == [row for row in rows(cloister) if row[1] is None], "without the job's file"


def test_people_are_told_and_the_rule_is_followed(corrected: Place, cloister: Cloister) -> None:
    def listed(*more: str) -> list[str]:
        return [row["path"] for row in cloister("review", "list", "sort", "--json", *more).json["rows"]]

    (older, newer) = [each["n"] for each in entries(corrected, "document") if each["path"] == "bill.txt"]
    assert f"a newer file has this path: entry {newer}" in cloister("review", "list", "sort").out
    assert f"a newer file has this path: entry {newer}" in cloister("review", "show", str(older)).out
    assert (listed().count("bill.txt"), listed("--newest").count("bill.txt")) == (2, 1)
    corrected.job("sort", SORT + "versions: newest\n")
    corrected.drop("sort", "new.txt", f"{LEASE}Another.")
    assert cloister("run", "sort").code == 0
    assert (listed().count("bill.txt"), listed("--all-versions").count("bill.txt")) == (1, 2)
    assert "a newer file" not in cloister("review", "list", "sort").out
    for command in (("results",), ("review", "list")):
        done = cloister(*command, "--newest", "--all-versions")
        assert (done.code, "--newest: given together with --all-versions" in done.err) == (2, True)


def test_the_console_shows_it(corrected: Place) -> None:
    ann = Browser(open_house(corrected.root), "ann")
    listed = ann.get("/queue?sort=path").words
    assert (listed.count("bill.txt"), listed.count("a newer file has this path")) == (2, 2)
    assert ann.get("/queue?versions=newest").words.count("bill.txt") == 1
    assert ann.get("/queue?versions=oldest").status == 404
    (older, newer) = [n["n"] for n in entries(corrected, "document") if n["path"] == "bill.txt"]
    assert f"A newer file has this path: entry {newer}." in ann.get(f"/documents/{older}").words
    assert "A newer file" not in ann.get(f"/documents/{newer}").words


def test_the_console_follows_the_rule(corrected: Place, cloister: Cloister) -> None:
    corrected.job("sort", SORT + "versions: newest\n")
    corrected.drop("sort", "new.txt", f"{LEASE}Another.")
    assert cloister("run", "sort").code == 0
    ann = Browser(open_house(corrected.root), "ann")
    assert ann.get("/queue").words.count("bill.txt") == 1
    assert ann.get("/queue?versions=all").words.count("bill.txt") == 2


def test_the_view_of_the_page_gives_what_newest_shows(corrected: Place, cloister: Cloister) -> None:
    """Its SQL is standard but for two expressions of DuckDB's, so SQLite reads it."""
    (made,) = (
        block for block in blocks("pipeline/outbox/README.md", "sql") if "newest_by_path" in block and "VIEW" in block
    )
    table = ds.dataset(corrected.root / "outbox" / "sort").to_table()
    columns = ["job", "path", "document", "state", "audit_index"]
    with sqlite3.connect(":memory:") as db:
        db.execute(f"CREATE TABLE parts ({', '.join(columns)})")
        found = [tuple(row[name] for name in columns) for row in table.to_pylist()]
        db.executemany("INSERT INTO parts VALUES (?, ?, ?, ?, ?)", found)
        db.execute("CREATE TABLE gone (entry)")
        gone = [(entry,) for row in table["replaces"].to_pylist() for entry in row]
        db.executemany("INSERT INTO gone VALUES (?)", gone)
        assert "SELECT unnest(replaces) FROM parts" in made
        view = made[made.index("CREATE VIEW newest_by_path") :]
        db.executescript(view.replace("SELECT unnest(replaces) FROM parts", "SELECT entry FROM gone"))
        said = db.execute("SELECT path, state FROM newest_by_path ORDER BY path").fetchall()
    assert said == [(row["path"], row["state"]) for row in cloister("results", "sort", "--newest", "--json").json]
