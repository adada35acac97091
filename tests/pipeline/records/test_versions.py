"""Files at one path: which is the newest, as rows, the list of documents and people see it."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import pipeline
from pipeline import RunPlan, results
from pipeline.index.index import open_index
from pipeline.index.values import Filter
from pipeline.plan import Rerun
from pipeline.records.current import RowKey, Versions
from pipeline.records.entries import read_entries
from pipeline.records.types import RunStarted
from tests.pipeline.conftest import Witness

LEASE = "The landlord leases the flat to the tenant. The rent is due on the first.\n"
Drop = Callable[[str, bytes | str], Path]


@pytest.mark.parametrize(
    ("rows", "older"),
    [
        ([("x", "done"), ("y", "done")], {0: 1}),
        ([("x", "done"), ("y", "failed")], {0: 1}),
        ([("x", "failed"), ("y", "done")], {0: 1}),
        ([("x", "done"), ("y", "done"), ("x", "done")], {0: 1, 2: 1}),  # answered again
        ([("x", "done"), ("y", "done"), ("x", "duplicate")], {1: 0}),  # came again
        ([("x", "done"), ("y", "done"), ("z", "review"), ("y", "abstained")], {0: 2, 1: 2, 3: 2}),
        ([("x", "done"), (None, "failed")], {0: 1}),
        ([("x", "done"), (None, "failed"), ("x", "duplicate")], {1: 0}),
        ([("x", "duplicate"), ("y", "done"), ("x", "duplicate")], {1: 2}),
        ([("x", "done"), ("x", "duplicate"), ("x", "done")], {}),
    ],
)
def test_the_newest_file_is_the_one_that_came_last(rows: Sequence[tuple[str, str]], older: dict[int, int]) -> None:
    for order in (list(enumerate(rows)), [*enumerate(rows)][::-1]):
        versions, files = Versions(), dict[int, int]()
        versions.add(RowKey("x", "another path", "done"), 99)
        for number, (document, state) in order:
            files[number] = versions.add(RowKey(document, "a", state), number)
        newer = versions.newer()
        assert {number: newer[file] for number, file in files.items() if newer[file] is not None} == older


def go(plan: RunPlan) -> None:
    pipeline.run(plan, observer=Witness())


def seen(plan: RunPlan) -> dict[int, int | None]:
    """Of each row the newer file, as `results` and the index tell it, of which one that was made anew agrees."""
    told = {row["audit_index"]: row.get("newer_file") for row in results(plan.site)}
    for anew in (False, True):
        if anew:
            for file in (plan.site.root / "state").glob("index.sqlite*"):
                file.unlink()
        with open_index(plan.site) as queue:
            queue.refresh()
            page = queue.page(Filter(), "path", None, 1_000)
            assert {item.entry: item.newer_file for item in page.items} == told
            newest = queue.page(Filter(versions="newest"), "path", None, 1_000)
            kept = [entry for entry, newer in told.items() if newer is None]
            assert (newest.total, sorted(item.entry for item in newest.items)) == (len(kept), sorted(kept))
    return told


def test_a_corrected_file_of_the_same_name(plan: RunPlan, drop: Drop) -> None:
    drop("bill.txt", LEASE + "Total 5.")
    drop("other.txt", LEASE + "Total 1.")
    go(plan)
    assert set(seen(plan).values()) == {None}
    drop("bill.txt", LEASE + "Total 6.")
    go(plan)
    first, second = sorted(row["audit_index"] for row in results(plan.site) if row["path"] == "bill.txt")
    assert (seen(plan)[first], seen(plan)[second]) == (second, None)
    other = replace(plan, task=replace(plan.task, threshold=0.01))
    go(replace(other, rerun=Rerun(states=("done",), everything=True)))
    again = {row["document"]: row for row in results(plan.site) if row["path"] == "bill.txt"}
    told = {row["audit_index"]: row.get("newer_file") for row in again.values()}
    assert seen(plan) | told == seen(plan)
    assert sorted(newer is None for newer in told.values()) == [False, True], "the older one was answered again"
    drop("bill.txt", LEASE + "Total 5.")  # the first file is back
    go(other)
    (back,) = [row for row in results(plan.site) if row["path"] == "bill.txt" and row["state"] == "duplicate"]
    now = {row["document"]: row.get("newer_file") for row in results(plan.site) if row["path"] == "bill.txt"}
    assert now[back["document"]] is None
    assert sum(newer is not None for newer in now.values()) == 1
    seen(plan)
    pipeline.erase(plan.site, back["document"], "asked for", archive=True, rows=True)
    assert set(seen(plan).values()) == {None}, "what is erased is newer than nothing"


@pytest.mark.parametrize("seed", range(6))
def test_the_index_says_what_the_rows_say(plan: RunPlan, drop: Drop, seed: int) -> None:
    chance = random.Random(seed)
    for night in range(5):
        for path in chance.sample(("a.txt", "b.txt", "c.txt"), 2):
            drop(path, chance.choice([LEASE, f"{LEASE} 1", f"{LEASE} 2", ""]))
        task = replace(plan.task, threshold=chance.choice([0.0, 0.01]))
        go(replace(plan, task=task, versions=chance.choice(["all", "newest"])))
        if night % 2:
            seen(plan)
    seen(plan)


def test_the_rule_of_a_job_is_in_the_log(plan: RunPlan, drop: Drop) -> None:
    for number, versions in enumerate(("all", "newest")):
        drop("a.txt", f"{LEASE} {number}")
        go(replace(plan, versions=versions))
    started = [entry for entry in read_entries(plan.site) if isinstance(entry, RunStarted)]
    assert [entry.versions for entry in started] == ["all", "newest"]
    with open_index(plan.site) as queue:
        queue.refresh()
        assert [queue.count(Filter(versions=each)) for each in (None, "rule", "newest")] == [2, 1, 1]
    drop("b.txt", LEASE)
    go(plan)
    with open_index(plan.site) as queue:
        queue.refresh()
        assert [queue.count(Filter(versions=each)) for each in (None, "rule", "newest")] == [3, 3, 2]
