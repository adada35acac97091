"""The index says what the log says, however it was brought up to date, and can be deleted at any time."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import RunPlan, run
from pipeline.index import index as of_index
from pipeline.index.index import Index, open_index
from pipeline.records import indexes
from pipeline.records.entries import from_json
from tests.pipeline.conftest import Witness, copied, make_plan, make_site
from tests.pipeline.outbox.test_recover import fill, run_and_die

Drop = Callable[[str, bytes | str], Path]
LEASE = "The landlord leases the flat to the tenant. The rent is due on the first of the month.\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> RunPlan:
    """Two jobs, three runs, and some commands."""
    plan = make_plan(make_site(tmp_path_factory.mktemp("index") / "ws"), tiny_model)
    fill(plan, {f"{number}.txt": f"{LEASE} {number}".encode() for number in range(5)})
    fill(plan, {"broken.pdf": b"%PDF-1.7\nbroken"})
    run(plan, observer=Witness())
    other = make_plan(plan.site, tiny_model, "other", private=True)
    (other.input.folder / "secret.txt").write_text(LEASE)
    run(other, observer=Witness())
    pipeline.records.record(plan.site, pipeline.records.SignedIn(person="Anna", roles="reader"))
    fill(plan, {"late.txt": f"{LEASE} late".encode()})
    run(replace(plan, job_file_sha256="1" * 64), observer=Witness())
    with pytest.raises(pipeline.ModelRefusedError):
        run(replace(plan, model=replace(plan.model, sha256="0" * 64)), observer=Witness())
    return plan


@pytest.fixture
def ran(made: RunPlan, plan: RunPlan) -> RunPlan:
    """The same, in the workspace of `plan`."""
    return copied(made, plan.site.root)


def said(plan: RunPlan) -> list[dict[str, Any]]:
    """The entries, as the log has them."""
    return [dict(entry) for _, entry in audit.read_entries(plan.site.audit, plan.site.public_key)]


def everything(index: Index) -> tuple[object, ...]:
    """All that a index gives."""
    days = index.days()
    return (
        days,
        index.happenings(0, 10**9, 10**6),
        index.runs(limit=10**6),
        index.models(),
        index.throughput(0, 10**9, 7),
        [index.settings_at(run.job_digest or "") for run in index.runs()],
    )


@pytest.fixture
def told(ran: RunPlan) -> Iterator[Index]:
    """The index of all of it."""
    with open_index(ran.site) as index:
        index.refresh()
        yield index


def test_days_and_rows_are_those_of_the_log(ran: RunPlan, told: Index) -> None:
    entries = said(ran)
    rows = Counter(entry["time"][:10] for entry in entries if entry["type"] == "document")
    assert {day.day: day.documents for day in told.days()} == dict(rows)
    assert sum(day.entries for day in told.days()) == len(entries)
    whole = sum(sum(each.counts.values()) for each in told.throughput(0, 10**9, 60))
    assert whole == sum(rows.values())
    states = Counter(entry["state"] for entry in entries if entry["type"] == "document")
    found = Counter[str]()
    for each in told.throughput(0, 10**9, 60):
        found.update(each.counts)
    assert found == states


def test_throughput_is_by_the_time_when_rows_were_finished(ran: RunPlan, told: Index) -> None:
    minutes = {
        int(datetime.fromisoformat(entry["finished_at"]).timestamp()) // 60
        for entry in said(ran)
        if entry["type"] == "document"
    }
    since = min(minutes)
    assert {each.start // 60 for each in told.throughput(since, max(minutes) + 1, 1)} == minutes
    assert told.throughput(max(minutes) + 1, max(minutes) + 100, 1) == []


def test_runs_are_told_as_they_ended(ran: RunPlan, told: Index) -> None:
    refused, last, other, first = told.runs()
    assert [run.job for run in (first, other, last, refused)] == [ran.job, "other", ran.job, ran.job]
    assert [run.state for run in (first, other, last, refused)] == ["finished"] * 3 + ["refused"]
    assert {state: number for state, number in first.counts.items() if number} == {"done": 5, "failed": 1}
    assert (first.rows, last.rows, refused.rows) == (6, 1, 0)
    assert first.model_sha256 == last.model_sha256 == ran.model.sha256
    assert (first.job_file_sha256, last.job_file_sha256) == ("0" * 64, "1" * 64)
    assert "0" * 12 in (refused.reason or "")
    assert told.run(last.run) == last
    assert told.runs(ran.job, before=last.first) == [first]
    assert told.runs("other") == [other]
    entries = said(ran)
    for each in (first, other, last):
        mine = [entry["n"] for entry in entries if entry["run"] == each.run and entry["type"].startswith("run.")]
        assert each.first <= mine[0]
        assert each.last == mine[-1]
    with pytest.raises(LookupError, match="knows no run 'x'"):
        told.run("x")


def test_what_a_model_touched(ran: RunPlan, told: Index) -> None:
    (model,) = told.models()
    assert (model.sha256, model.names, model.total) == (ran.model.sha256, (ran.model.name,), 8)
    assert model.rows == {ran.job: {"done": 6, "failed": 1}, "other": {"done": 1}}
    assert told.models("0" * 64) == []
    assert [run.job for run in told.runs_of(model.sha256)] == [ran.job, "other", ran.job]


def test_settings_are_read_from_the_log(ran: RunPlan, told: Index) -> None:
    run = told.runs()[1]
    assert run.job_digest
    first = told.settings_at(run.job_digest)
    assert first is not None
    settings = pipeline.records.read_settings(ran.site, first, run.job_digest)
    assert (settings["job"], settings["model_sha256"]) == (ran.job, ran.model.sha256)
    assert told.settings_at("0" * 64) is None
    with pytest.raises(LookupError):
        pipeline.records.read_settings(ran.site, first, "0" * 64)


def test_indexes_of_earlier_versions_are_removed(ran: RunPlan, told: Index) -> None:
    told.close()
    former = [ran.site.state / name for name in ("queue.sqlite", "queue.sqlite-wal", "chronicle.sqlite")]
    for path in [ran.site.state / "index.sqlite", *former]:
        path.unlink(missing_ok=True)
    for path in former:
        path.write_text("of an earlier version")
    with open_index(ran.site) as index:
        assert index.behind == len(said(ran))
    assert not any(path.exists() for path in former)
    former[0].write_text("with words of a row")
    indexes.forget_parts(ran.site, ["outbox/sort/part-1.parquet"])
    assert not former[0].exists()


def test_what_is_not_read_yet_is_not_said_to_be_unknown(ran: RunPlan, told: Index) -> None:
    last = told.runs()[0].run
    told.close()
    (ran.site.state / "index.sqlite").unlink()
    with open_index(ran.site) as index, pytest.raises(LookupError, match="not read to its end yet"):
        index.run(last)


def test_taken_in_bit_by_bit_it_is_the_same(ran: RunPlan, told: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = everything(told)
    told.close()
    for at_once in (1, 2, 7):
        for path in ran.site.state.glob("index.sqlite*"):
            path.unlink()
        monkeypatch.setattr(of_index, "AT_ONCE", at_once)
        with open_index(ran.site) as index:
            assert index.behind == len(said(ran))
            assert index.refresh(seconds=0) is (at_once > len(said(ran)))
            assert at_once <= index.size < at_once + 10  # to the end of a part
            assert index.refresh()
            assert everything(index) == expected


def test_another_log_makes_it_anew(ran: RunPlan, told: Index, tmp_path: Path, tiny_model: Path) -> None:
    told.close()
    other = make_site(tmp_path / "other")
    plan = make_plan(other, tiny_model)
    (plan.input.folder / "a.txt").write_text(LEASE)
    run(plan, observer=Witness())
    (other.state / "index.sqlite").write_bytes((ran.site.state / "index.sqlite").read_bytes())
    with open_index(other) as index:
        assert index.behind is None
        index.refresh()
        assert [run.rows for run in index.runs()] == [1]


def test_a_run_that_was_cut_off_counts_its_rows(plan: RunPlan, drop: Drop) -> None:
    for number in range(6):
        drop(f"{number}.txt", f"{LEASE} {number}")
    run_and_die(replace(plan, part_documents=2), 60)
    with open_index(plan.site) as index:
        index.refresh()
        (cut,) = index.runs()
        assert cut.state == "unfinished"
        rows = [entry for entry in said(plan) if entry["type"] == "document"]
        assert cut.rows == len(rows)


def test_what_was_handed_over_without_authority_is_not_told_as_what_it_says(ran: RunPlan) -> None:
    from pipeline.index.filling import Happened

    class Db:
        """Takes what is written."""

        def __init__(self) -> None:
            self.rows = list[tuple[Any, ...]]()

        def executemany(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
            self.rows += rows if "INTO happening" in sql else []

        def execute(self, *_: object) -> None:
            raise AssertionError

    happened = Happened(db := Db())  # type: ignore[arg-type]
    forged = {
        "type": "exported",
        "n": 3,
        "run": "",
        "time": "2026-01-01T00:00:00.000000Z",
        "user": "eve",
        "handed": {"id": "x"},
    }
    happened.take(from_json(forged))
    happened.save()
    assert [row[1] for row in db.rows] == ["handed.exported"]
