"""Which rows are current: the rule held against its definition, over rows in parts, old and new, and over the log."""

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

import pipeline
from pipeline import RunPlan, Site
from pipeline.outbox import commit
from pipeline.outbox.schema import table_schema
from pipeline.records.current import RowKey, replaced
from pipeline.records.entries import read_entries
from pipeline.records.types import Document
from pipeline.tasks import SummarizeSettings
from tests.pipeline.conftest import Witness
from tests.pipeline.tables import old_schema, write_part
from tests.thorough import part

LEASE = "This lease is made between the landlord and the tenant. The rent for the flat is due monthly.\n"
ANSWERS = ("done", "abstained", "review")
Row = dict[str, Any]
Drop = Callable[[str, bytes | str], Path]


def key_of(row: Row) -> RowKey:
    return RowKey(row["document"], row["path"], row["state"])


def takes_place(later: Row, row: Row) -> bool:
    """The rule as README.md says it, of two rows."""
    if row["document"] is None:
        return bool(later["path"] == row["path"])
    answers = row["state"] in ANSWERS
    if (row["document"], row["path"]) == (later["document"], later["path"]):
        return not (answers and later["state"] == "duplicate")
    alone = row["copies"] or later["copies"]
    return answers and later["state"] in ANSWERS and row["document"] == later["document"] and not alone


def history(chance: random.Random, length: int) -> Iterator[Row]:
    """Rows of a job that answers copies now and then."""
    copies = False
    for number in range(length):
        copies = copies if chance.random() < 0.9 else not copies
        state = chance.choice(["done", "done", "abstained", "review", "failed", "duplicate"])
        document = chance.choice(["x", "y", "z"]) if state != "failed" or chance.random() < 0.5 else None
        row = {"document": document, "path": chance.choice("abc"), "state": state, "copies": copies}
        yield row | {"audit_index": number}


@pytest.mark.parametrize("seed", part(range(40), 3))
def test_rows_replace_what_the_rule_says(site: Site, seed: int) -> None:
    chance = random.Random(seed)
    rows, last = list(history(chance, 60)), {}
    for row in rows:
        row["replaces"] = replaced(last, key_of(row), row["audit_index"], row["copies"])
    gone = {i: next((j for j in range(i + 1, 60) if takes_place(rows[j], rows[i])), None) for i in range(60)}
    assert {i: row["audit_index"] for row in rows for i in row["replaces"]} == {i: j for i, j in gone.items() if j}
    assert max(len(row["replaces"]) for row in rows) <= 4
    since = chance.choice([0, 20, 40, 60])  # the first parts are of the version before
    for start in range(0, 60, 5):
        part, old = rows[start : start + 5], start < since
        for one in part:  # a part is of one run, which answers copies or does not
            schema = old_schema(copies=one["copies"]) if old else table_schema()
            path = site.root / f"outbox/sort/part-{chance.randrange(10**6)}-{one['audit_index']:05d}.parquet"
            write_part(path, [one], schema)
    told = [row["audit_index"] for row in pipeline.results(site, "sort")]
    assert sorted(told) == [i for i in range(60) if gone[i] is None]


def test_a_copy_takes_the_place_of_no_answer(plan: RunPlan, drop: Drop) -> None:
    for name in ("a.txt", "b.txt", "a.txt"):  # an answer, a copy of it, and itself again
        drop(name, LEASE)
        pipeline.run(plan, observer=Witness())
    rows = list(pipeline.results(plan.site))
    assert [(row["path"], row["state"], row["replaces"]) for row in rows] == [
        ("a.txt", "done", []),
        ("a.txt", "duplicate", []),
        ("b.txt", "duplicate", []),
    ]
    assert rows[1]["reason"] == "it came again, and was known"
    drop("a.txt", LEASE)
    pipeline.run(plan, observer=Witness())
    assert [row["replaces"] for row in pipeline.results(plan.site)] == [[], [rows[1]["audit_index"]], []]
    recalled = pipeline.recall(plan.site, rows[0]["model_sha256"]).results
    assert [number for number, each in recalled.items() if each.holds] == [
        row["audit_index"] for row in sorted(pipeline.results(plan.site), key=lambda row: row["audit_index"])
    ]


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """What is committed is as an earlier version had it, until the patch is undone."""
    monkeypatch.setattr(commit, "table_schema", old_schema)
    whole = Document.to_json
    old = lambda self: {name: value for name, value in whole(self).items() if name != "replaces"}  # noqa: E731
    monkeypatch.setattr(Document, "to_json", old)
    return monkeypatch


def test_parts_of_an_earlier_version_are_read_verified_and_replayed(
    plan: RunPlan, drop: Drop, before: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "b.txt"):
        drop(name, LEASE)
    drop("empty.txt", b"")
    pipeline.run(plan, observer=Witness())
    (old,) = plan.outbox.glob("part-*.parquet")
    assert "replaces" not in ds.dataset(old).schema.names
    assert not any("replaces" in entry.said for entry in read_entries(plan.site) if isinstance(entry, Document))
    before.undo()
    expected = [(row["path"], row["state"]) for row in pipeline.results(plan.site)]
    assert expected == [("a.txt", "done"), ("b.txt", "duplicate"), ("empty.txt", "failed")]
    drop("empty.txt", b"")
    drop("b.txt", LEASE)
    pipeline.run(plan, observer=Witness())
    assert [(row["path"], row["state"]) for row in pipeline.results(plan.site)] == expected
    assert pipeline.verify(plan.site).ok
    (plan.site.root / "models").mkdir()
    shutil.copy(plan.model.path, plan.site.root / "models" / "tiny.gguf")
    replayed = pipeline.replay(plan.site, pipeline.Choice())
    assert {row.verdict for row in replayed.rows} == {
        pipeline.proof.Verdict.IDENTICAL,
        pipeline.proof.Verdict.UNREPLAYABLE,
    }
    recalled = pipeline.recall(plan.site, next(iter(pipeline.results(plan.site)))["model_sha256"])
    assert sum(each.holds for each in recalled.results.values()) == len(expected)


def test_a_part_of_an_earlier_version_that_was_cut_off_is_put_in_place(
    plan: RunPlan, drop: Drop, before: pytest.MonkeyPatch
) -> None:
    before.setattr(commit, "place", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    drop("a.txt", LEASE)
    with pytest.raises(KeyboardInterrupt):
        pipeline.run(plan, observer=Witness())
    before.undo()
    assert not list(plan.outbox.glob("part-*.parquet"))
    pipeline.run(plan, observer=Witness())
    assert [row["path"] for row in pipeline.results(plan.site)] == ["a.txt"]
    assert pipeline.verify(plan.site).ok


def test_parts_of_all_jobs_are_one_table(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    pipeline.run(plan, observer=Witness())
    other = replace(plan, job="short", task=SummarizeSettings(sentences=1))
    drop("a.txt", LEASE)
    pipeline.run(other, observer=Witness())
    parts = sorted(plan.site.root.glob("outbox/*/*.parquet"))
    assert [ds.dataset(part).schema for part in parts] == [table_schema()] * 2
    table = ds.dataset(parts).to_table()
    assert table.column("job").to_pylist() == ["short", "sort"]
    assert table.column("task").to_pylist() == ["summarize", "classify"]
    assert pipeline.verify(plan.site).ok
