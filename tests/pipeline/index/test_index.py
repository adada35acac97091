"""The index shows what `results` shows, in any order and under any filter, and can be deleted at any time."""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import pipeline
from pipeline import RunPlan, results, run
from pipeline.index.index import open_index
from pipeline.index.values import Filter
from pipeline.review.seen import row_of
from tests.pipeline.conftest import Witness, copied, make_plan, make_site
from tests.pipeline.outbox.test_recover import fill

LEASE = "The landlord leases the flat to the tenant. The rent is due on the first of the month.\n"
INVOICE = "Invoice 2026-17. Total due: EUR 120.00. Please pay to the account below.\n"
Drop = Callable[[str, bytes | str], Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> RunPlan:
    """Two jobs over documents that came again, failed, were copies, and were answered anew."""
    plan = make_plan(make_site(tmp_path_factory.mktemp("index") / "ws"), tiny_model)
    other = make_plan(plan.site, tiny_model, "other", part_documents=2)
    documents = {f"post/{number}.txt": f"{LEASE} {number}".encode() for number in range(5)}
    documents |= {f"mail/2026/{number}.txt": f"{INVOICE} {number}".encode() for number in range(5)}
    for job in (plan, other):
        fill(plan, documents)
        if job is other:
            shutil.copytree(plan.input.folder, other.input.folder, dirs_exist_ok=True)
        (job.input.folder / "empty.txt").write_text("")
        run(job, observer=Witness())
    fill(plan, {"copy.txt": f"{LEASE} 1".encode(), "post/new.txt": LEASE.encode()})
    run(replace(plan, input=replace(plan.input, duplicates="process")), observer=Witness())
    return plan


@pytest.fixture
def filled(made: RunPlan, plan: RunPlan) -> RunPlan:
    """The same runs, in the workspace of `plan`."""
    return copied(made, plan.site.root)


def facts(row: pipeline.document.Row | pipeline.index.Item) -> tuple[object, ...]:
    said = row if isinstance(row, pipeline.document.Row) else vars_of(row)
    return tuple(said[name] for name in ("job", "path", "state", "failure", "label", "document", "size", "task"))


def vars_of(item: pipeline.index.Item) -> dict[str, object]:
    return {name: getattr(item, name) for name in item.__dataclass_fields__}


ALL = Filter()


def every(plan: RunPlan, asked: Filter = ALL, sort: str = "path", limit: int = 3) -> list[pipeline.index.Item]:
    """All items, page by page."""
    items, after = list[pipeline.index.Item](), None
    with open_index(plan.site) as index:
        index.refresh()
        while True:
            page = index.page(asked, sort, after, limit)
            items += page.items
            assert page.total == index.count(asked)
            if page.next is None:
                assert len(items) == page.total
                return items
            after = page.next


def test_the_index_shows_what_results_shows(filled: RunPlan) -> None:
    rows = list(results(filled.site))
    assert len(rows) > 20
    assert {row["state"] for row in rows} >= {"done", "failed"}
    assert sorted(map(facts, every(filled)), key=str) == sorted(map(facts, rows), key=str)


def test_every_order_gives_every_item_once(filled: RunPlan) -> None:
    for sort in pipeline.index.SORTS:
        items = every(filled, sort=sort)
        assert len({item.entry for item in items}) == len(items) == len(list(results(filled.site)))
    assert [item.path for item in every(filled, sort="path")] == sorted(item.path for item in every(filled))
    sizes = [item.size for item in every(filled, sort="size")]
    assert sizes == sorted(sizes, reverse=True)
    ages = [item.entry for item in every(filled, sort="age")]
    assert ages == sorted(ages) == [item.entry for item in every(filled, sort="newest")][::-1]
    scored = [item for item in every(filled, sort="score") if item.state == "done"]
    assert [item.score for item in scored] == sorted(item.score or 0 for item in scored)


def test_filters_and_counts_agree(filled: RunPlan) -> None:
    items = every(filled)
    with open_index(filled.site) as index:
        index.refresh()
        for by, of in (("state", "state"), ("label", "label"), ("failure", "failure"), ("job", "job")):
            told = Counter(getattr(item, of) or "" for item in items)
            assert index.counts(Filter(), by) == dict(told)
            assert index.counts(Filter(text="t"), by) == dict(told)  # counted without the tally
        with pytest.raises(ValueError, match="not counted by 'path'"):
            index.counts(Filter(), "path")
    for asked, test in (
        (Filter(jobs=("sort",)), lambda item: item.job == "sort"),
        (Filter(states=("failed", "review")), lambda item: item.state == "failed"),
        (Filter(failures=("empty",)), lambda item: item.failure == "empty"),
        (Filter(folder="mail"), lambda item: item.path.startswith("mail/")),
        (Filter(folder="mail/2026/"), lambda item: item.path.startswith("mail/2026/")),
        (Filter(folder=""), lambda _: True),
        (Filter(folder="mai"), lambda _: False),
        (Filter(text="MAIL/2026/1"), lambda item: item.path == "mail/2026/1.txt"),
        (Filter(text="%"), lambda _: False),
        (Filter(labels=("lease",), folder="post"), lambda i: i.label == "lease" and i.path.startswith("post/")),
        (Filter(night=items[0].night), lambda _: True),
        (Filter(night="2001-01-01"), lambda _: False),
        (Filter(review="none"), lambda _: True),
        (Filter(review="any"), lambda _: False),
    ):
        assert {i.entry for i in every(filled, asked)} == {i.entry for i in items if test(i)}, asked


def test_rows_that_others_replaced_are_found_when_they_are_asked_for(filled: RunPlan, drop: Drop) -> None:
    before = every(filled, Filter(current=False))
    drop("post/new.txt", LEASE)
    settings = replace(filled, task=replace(filled.task, threshold=0.02))
    run(settings, observer=Witness())
    (old,) = (i for i in every(filled, Filter(current=False, text="post/new", jobs=("sort",))) if i.replaced_by)
    (new,) = (item for item in every(filled) if item.path == "post/new.txt")
    assert (old.replaced_by, old.path, old.entry in {item.entry for item in before}) == (new.entry, new.path, True)
    assert [item.other_settings for item in every(filled, Filter(jobs=("sort",), text="post/new"))] == [False]
    assert {item.path for item in every(filled, Filter(jobs=("sort",), settings="current"))} == {"post/new.txt"}
    with open_index(filled.site) as index:
        assert [item.entry for item in index.same_document(new.entry)] == [old.entry, new.entry]


def test_an_index_that_grew_is_as_one_made_anew(filled: RunPlan, drop: Drop) -> None:
    every(filled)
    drop("post/1.txt", INVOICE + "again")
    run(filled, observer=Witness())
    grown = every(filled)
    shutil.rmtree(filled.site.state)
    assert every(filled) == grown


@pytest.mark.parametrize("body", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_broken_index_is_made_anew(filled: RunPlan, body: bytes) -> None:
    items = every(filled)
    for file in filled.site.state.glob("index.sqlite*"):
        file.unlink()
    (filled.site.state / "index.sqlite").write_bytes(body)
    assert every(filled) == items


def test_an_index_of_another_log_is_made_anew(filled: RunPlan, tmp_path: Path, tiny_model: Path) -> None:
    items = every(filled)
    kept = (filled.site.state / "index.sqlite").read_bytes()
    shutil.rmtree(filled.site.root)
    site = make_site(filled.site.root)
    plan = make_plan(site, tiny_model)
    site.state.mkdir()
    (site.state / "index.sqlite").write_bytes(kept)
    assert every(plan) == []
    assert items


def test_nothing_is_written_through_a_link(filled: RunPlan, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"kept")
    (filled.site.state / "index.sqlite").symlink_to(target)
    assert every(filled)
    assert target.read_bytes() == b"kept"


def test_a_part_that_is_gone_leaves_its_rows_without_an_answer(filled: RunPlan, tmp_path: Path) -> None:
    items = every(filled)
    part = items[0].part
    (filled.site.root / part).rename(tmp_path / "part")
    shutil.rmtree(filled.site.state)
    found = {item.entry: item for item in every(filled)}
    assert found.keys() == {item.entry for item in items}
    assert {item.label for item in found.values() if item.part == part} == {None}
    with pytest.raises(LookupError, match="is no longer there"):
        row_of(filled.site, next(item.entry for item in items if item.part == part))
    (tmp_path / "part").rename(filled.site.root / part)
    assert every(filled) == items


def test_a_row_is_held_against_its_entry(filled: RunPlan) -> None:
    rows = {row["audit_index"]: row for row in results(filled.site)}
    for item in every(filled):
        row = {name: value for name, value in rows[item.entry].items() if name != "other_settings"}
        assert row_of(filled.site, item.entry) == row
    with pytest.raises(LookupError, match=r"of type 'key\.admitted', and no row"):
        row_of(filled.site, 0)
    with pytest.raises(LookupError):
        row_of(filled.site, 100_000)


def test_the_nights_tell_of_every_run(filled: RunPlan) -> None:
    with open_index(filled.site) as index:
        index.refresh()
        nights = index.nights()
        assert {(night.job, night.state, len(night.runs)) for night in nights} == {
            ("sort", "finished", 2),
            ("other", "finished", 1),
        }
        assert [night.job for night in index.nights("other")] == ["other"]
        (other,) = index.nights("other")
    assert other.counts == {"done": 10, "failed": 1}
    assert other.seconds > 0


def test_a_place_in_another_order_is_refused(filled: RunPlan) -> None:
    every(filled)
    with open_index(filled.site) as index:
        for after in ("[1]", "x", "[1,2,3,4]", '{"a":1}', "[[],1,2]"):
            with pytest.raises(ValueError, match="is no place in the order"):
                index.page(Filter(), "score", after)
        with pytest.raises(ValueError, match="no order 'colour'"):
            index.page(Filter(), "colour")
