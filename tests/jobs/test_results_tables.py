"""The parts of all jobs as one table: what other programs find current in it is what `cloister results` shows."""

import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.console.browsing import command
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place
from tests.pages import blocks

Row = tuple[str, ...]
EXTRACT = """\
job: {name}
input: {{settle_seconds: 0, duplicates: process}}
model: {{name: tiny}}
task: {{type: extract, fields: [{{name: total, type: money, description: total due}}]}}
"""
SUMMARIZE = """\
job: {name}
input: {{settle_seconds: 0}}
model: {{name: tiny}}
task: {{type: summarize, sentences: 1}}
"""


@pytest.fixture(scope="module")
def made_office(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Place:
    """Three jobs of three tasks over documents that came again, failed, were copies, and were answered anew."""
    place = Place(tmp_path_factory.mktemp("office") / "ws")
    command("init", place.root, "--origin", "test.example/log")
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    for name, text in (("sort", SORT), ("total", EXTRACT), ("short", SUMMARIZE)):
        place.job(name, text)
    for job in ("sort", "total", "short"):
        for names in (("a.txt", "b.txt"), ("a.txt",), ("c.txt", "a.txt")):
            for name in names:
                place.drop(job, name, LEASE)
            place.drop(job, "empty.txt", "")
            command("run", job, "--workspace", place.root, code=1)
    place.job("sort", SORT.replace("threshold: 0.0", "threshold: 0.01"))  # other settings: answered anew
    place.drop("sort", "c.txt", LEASE)
    place.drop("sort", "new.txt", INVOICE)
    command("run", "sort", "--workspace", place.root)
    return place


@pytest.fixture
def office(
    made_office: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Place:
    """A copy of that workspace, in which commands run."""
    capfd.readouterr()  # what was said while it was made
    root = shutil.copytree(made_office.root, tmp_path / "ws")
    monkeypatch.chdir(root)
    monkeypatch.delenv("CLOISTER_WORKSPACE", raising=False)
    return Place(root)


def block(language: str, word: str) -> str:
    """The one block of the page about results in this language that has this word."""
    (told,) = (each for each in blocks("pipeline/outbox/README.md", language) if word in each)
    return told


def by_duckdb() -> list[Row]:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    return [row[:3] for row in duckdb.sql(block("sql", "unnest")).fetchall()]


def by_polars() -> list[Row]:
    pytest.importorskip("polars", reason="polars is not installed")
    return list(made("import polars")["current"].select("job", "path", "state").rows())


def by_pyarrow() -> list[Row]:
    rows = made("import pyarrow")["current"].select(["job", "path", "state"]).to_pylist()
    return [tuple(row.values()) for row in rows]


def made(word: str) -> dict[str, Any]:
    """The names that a block leaves."""
    file = Path("query.py")
    file.write_text(block("python", word), encoding="utf-8")
    return runpy.run_path(str(file))


@pytest.fixture
def new(ready: Place, cloister: Cloister) -> Place:
    """A workspace in which no row took the place of another, of a private and another job."""
    ready.job("secret", SORT + "private: true\n")
    for job in ("sort", "secret"):
        for name in ("a.txt", "b.txt"):
            ready.drop(job, name, LEASE)
        assert cloister("run", job).code == 0
    return ready


@pytest.mark.parametrize("made_by", ["office", "new"])
@pytest.mark.parametrize("read", [by_pyarrow, by_polars, by_duckdb])
def test_the_queries_of_the_readme_give_what_results_shows(
    request: pytest.FixtureRequest,
    cloister: Cloister,
    read: Callable[[], list[Row]],
    made_by: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = request.getfixturevalue(made_by).root
    shown = [(row["job"], row["path"], row["state"]) for row in cloister("results", "--json").json]
    monkeypatch.chdir(root.parent)
    root.rename("office")
    assert len(shown) >= 4
    assert sorted(read()) == sorted(shown)


def test_each_answered_document_has_one_answer(office: Place, cloister: Cloister) -> None:
    rows = cloister("results", "sort", "--json").json
    assert [(row["path"], row["state"]) for row in rows] == [
        ("a.txt", "duplicate"), ("b.txt", "duplicate"), ("c.txt", "done"), ("empty.txt", "failed"), ("new.txt", "done"),
    ]  # fmt: skip


def test_rows_of_other_settings_are_marked_and_can_be_left_out(office: Place, cloister: Cloister) -> None:
    rows = cloister("results", "sort", "--json").json
    other = [row["path"] for row in rows if row.get("other_settings")]
    assert other == ["a.txt", "b.txt", "empty.txt"]
    settings = {row["job_digest"]: row["model_sha256"] for row in rows if row["path"] in other}
    ((digest, model),) = settings.items()
    told = cloister("results", "sort").out
    assert told.count(f"note: of other settings ({digest[:8]})") == len(other)
    line = "sort: 3 rows are of other settings than it has today: 3 of settings"
    assert f"{line} {digest[:8]}, model {model[:8]}. --settings current leaves them out" in told
    assert "sort: cloister retry sort takes up what failed" in told
    assert "sort: a copy has no answer of its own" in told
    assert "cloister rerun" not in told  # none of them has an answer that could be another one
    assert cloister("results", "sort", "--settings", "current", "--json").json == [
        row for row in rows if row["path"] not in other
    ]
    assert "other settings" not in cloister("results", "--settings", "current").out
    assert "other settings" not in cloister("results", "short").out
    assert cloister("results", "--settings", "none").code == 2
