"""A part that was written encrypted and lies there in the clear is refused wherever rows are read."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline import RunPlan, Site
from pipeline.atrest.errors import NoKeyError
from pipeline.errors import BadPartError
from pipeline.index.values import Filter
from pipeline.outbox.parts import key_name, open_part
from pipeline.review.seen import row_of
from pipeline.tasks.correcting import ReviewRefusedError
from tests.pipeline.atrest.conftest import at_rest_of
from tests.pipeline.atrest.test_at_rest import LEASE, OTHER, Drop, documents, go

CLEAR = "lies in the clear, and was written encrypted"


def part_of(plan: RunPlan) -> Path:
    (part,) = plan.outbox.glob("*.parquet")
    return part


def forged(table: pa.Table) -> pa.Table:
    """The rows with another answer."""
    return table.set_column(table.schema.get_field_index("label"), "label", pa.array(["forged"] * len(table)))


@pytest.fixture
def swapped(plan: RunPlan, drop: Drop) -> RunPlan:
    """A workspace whose part somebody wrote anew in the clear, with other answers."""
    drop("lease.txt", LEASE)
    drop("invoice.txt", OTHER)
    go(plan)
    part = part_of(plan)
    pq.write_table(forged(open_part(plan.site.at_rest, part).read()), part)
    return plan


def test_it_is_shown_by_no_reader(swapped: RunPlan) -> None:
    entry = documents(swapped.site)["lease.txt"]
    reads: tuple[Callable[[], object], ...] = (
        lambda: list(pipeline.results(swapped.site)),
        lambda: list(pipeline.results(swapped.site, swapped.job, only_current_settings=True)),
        lambda: row_of(swapped.site, entry.n),
    )
    for read in reads:
        with pytest.raises(BadPartError, match=CLEAR):
            read()
    with pytest.raises(ReviewRefusedError, match=CLEAR):
        pipeline.decide(swapped.site, pipeline.Review(swapped.job, entry.n, "accepted", "Anna"))


def test_lists_say_nothing_of_its_answers(swapped: RunPlan) -> None:
    with pipeline.index.open_index(swapped.site) as queue:
        queue.refresh()
        items = queue.page(Filter()).items
    assert len(items) == 2
    assert {item.label for item in items} == {None}
    assert not any("forged" in item.answer for item in items)


def test_it_is_altered_for_who_verifies(swapped: RunPlan) -> None:
    report = pipeline.verify(swapped.site)
    where = str(part_of(swapped).relative_to(swapped.site.root))
    assert {finding.where for finding in report.altered} == {where}


def test_no_erasure_writes_it_anew(swapped: RunPlan) -> None:
    before = part_of(swapped).read_bytes()
    with pytest.raises(pipeline.keep.ErasureRefusedError, match="not the part that the log proves"):
        pipeline.erase(swapped.site, str(documents(swapped.site)["lease.txt"].document), "asked for", rows=True)
    assert part_of(swapped).read_bytes() == before


@pytest.mark.parametrize("body", [b"", b"P", b"PAR1", b"PAREx", b"PAR1" + bytes(100), b"garbage"])
def test_other_bytes_in_its_place_are_refused_too(swapped: RunPlan, body: bytes) -> None:
    part_of(swapped).write_bytes(body)
    with pytest.raises(BadPartError):
        list(pipeline.results(swapped.site))


def test_a_key_that_is_broken_or_a_link_is_a_key(swapped: RunPlan) -> None:
    at_rest = swapped.site.at_rest
    key = at_rest.store.folder / key_name(part_of(swapped))
    key.write_bytes(b"")
    with pytest.raises(BadPartError, match=CLEAR):
        list(pipeline.results(swapped.site))
    key.unlink()
    key.symlink_to("/nowhere")
    with pytest.raises(BadPartError, match=CLEAR):
        list(pipeline.results(swapped.site))


def test_clear_parts_from_before_are_read(plan: RunPlan, drop: Drop) -> None:
    clear = replace(plan, site=replace(plan.site, at_rest=pipeline.atrest.AtRest()))
    drop("lease.txt", LEASE)
    go(clear)
    drop("invoice.txt", OTHER)
    go(plan)
    assert {row["path"] for row in pipeline.results(plan.site)} == {"lease.txt", "invoice.txt"}


def ending(site: Site) -> Site:
    """The site once encryption was ended: what is there stays readable, and new files are clear."""
    return replace(site, at_rest=at_rest_of(site.root, encrypts=False))


def test_a_part_that_is_written_anew_after_encryption_ended_is_clear_and_has_no_key(plan: RunPlan, drop: Drop) -> None:
    drop("lease.txt", LEASE)
    drop("invoice.txt", OTHER)
    go(plan)
    site = ending(plan.site)
    pipeline.erase(site, str(documents(site)["lease.txt"].document), "asked for", rows=True)
    assert not site.at_rest.store.has(key_name(part_of(plan)))
    assert [row["path"] for row in pipeline.results(site)] == ["invoice.txt"]
    assert pipeline.verify(site).altered == ()


def test_a_copy_of_another_encrypted_part_is_refused_as_before(plan: RunPlan, drop: Drop) -> None:
    drop("lease.txt", LEASE)
    go(plan)
    first = part_of(plan)
    drop("invoice.txt", OTHER)
    go(plan)
    (other,) = set(plan.outbox.glob("*.parquet")) - {first}
    shutil.copy(first, other)
    with pytest.raises((BadPartError, NoKeyError)):
        list(pipeline.results(plan.site))
