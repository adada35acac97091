"""The chronicle says what the log says, however it was brought up to date, and can be deleted at any time."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import RunPlan, open_chronicle, run
from pipeline.chronicle import index as chronicle_index
from pipeline.chronicle.index import Chronicle
from tests.pipeline.conftest import Witness, copied, make_plan, make_site
from tests.pipeline.outbox.test_recover import fill, run_and_die

Drop = Callable[[str, bytes | str], Path]
LEASE = "The landlord leases the flat to the tenant. The rent is due on the first of the month.\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> RunPlan:
    """Two jobs, three runs, and some commands."""
    plan = make_plan(make_site(tmp_path_factory.mktemp("chronicle") / "ws"), tiny_model)
    fill(plan, {f"{number}.txt": f"{LEASE} {number}".encode() for number in range(5)})
    fill(plan, {"broken.pdf": b"%PDF-1.7\nbroken"})
    run(plan, observer=Witness())
    other = make_plan(plan.site, tiny_model, "other", private=True)
    (other.input.folder / "secret.txt").write_text(LEASE)
    run(other, observer=Witness())
    pipeline.record(plan.site, pipeline.SignedIn(person="Anna", roles="reader"))
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


def everything(chronicle: Chronicle) -> tuple[object, ...]:
    """All that a chronicle gives."""
    days = chronicle.days()
    return (
        days,
        chronicle.happenings(0, 10**9, 10**6),
        chronicle.runs(limit=10**6),
        chronicle.models(),
        chronicle.throughput(0, 10**9, 7),
        [chronicle.settings_at(run.job_digest or "") for run in chronicle.runs()],
    )


@pytest.fixture
def told(ran: RunPlan) -> Iterator[Chronicle]:
    """The chronicle of all of it."""
    with open_chronicle(ran.site) as chronicle:
        chronicle.refresh()
        yield chronicle


def test_days_and_rows_are_those_of_the_log(ran: RunPlan, told: Chronicle) -> None:
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


def test_throughput_is_by_the_time_when_rows_were_finished(ran: RunPlan, told: Chronicle) -> None:
    minutes = {
        int(datetime.fromisoformat(entry["finished_at"]).timestamp()) // 60
        for entry in said(ran)
        if entry["type"] == "document"
    }
    since = min(minutes)
    assert {each.start // 60 for each in told.throughput(since, max(minutes) + 1, 1)} == minutes
    assert told.throughput(max(minutes) + 1, max(minutes) + 100, 1) == []


def test_runs_are_told_as_they_ended(ran: RunPlan, told: Chronicle) -> None:
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


def test_what_a_model_touched(ran: RunPlan, told: Chronicle) -> None:
    (model,) = told.models()
    assert (model.sha256, model.names, model.total) == (ran.model.sha256, (ran.model.name,), 8)
    assert model.rows == {ran.job: {"done": 6, "failed": 1}, "other": {"done": 1}}
    assert told.models("0" * 64) == []
    assert [run.job for run in told.runs_of(model.sha256)] == [ran.job, "other", ran.job]


def test_settings_are_read_from_the_log(ran: RunPlan, told: Chronicle) -> None:
    run = told.runs()[1]
    assert run.job_digest
    first = told.settings_at(run.job_digest)
    assert first is not None
    settings = pipeline.read_settings(ran.site, first, run.job_digest)
    assert (settings["job"], settings["model_sha256"]) == (ran.job, ran.model.sha256)
    assert told.settings_at("0" * 64) is None
    with pytest.raises(LookupError):
        pipeline.read_settings(ran.site, first, "0" * 64)


def test_no_name_of_a_document_is_in_the_file(ran: RunPlan, told: Chronicle) -> None:
    told.close()
    data = b"".join(path.read_bytes() for path in ran.site.state.glob("chronicle.sqlite*"))
    assert data
    for name in (b"broken.pdf", b"late.txt", b"secret.txt"):
        assert name not in data


def test_taken_in_bit_by_bit_it_is_the_same(ran: RunPlan, told: Chronicle, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = everything(told)
    told.close()
    for at_once in (1, 2, 7):
        for path in ran.site.state.glob("chronicle.sqlite*"):
            path.unlink()
        monkeypatch.setattr(chronicle_index, "AT_ONCE", at_once)
        with open_chronicle(ran.site) as chronicle:
            assert chronicle.behind == len(said(ran))
            assert chronicle.refresh(seconds=0) is (at_once > len(said(ran)))
            assert chronicle.size == at_once
            assert chronicle.refresh()
            assert everything(chronicle) == expected


def test_another_log_makes_it_anew(ran: RunPlan, told: Chronicle, tmp_path: Path, tiny_model: Path) -> None:
    told.close()
    other = make_site(tmp_path / "other")
    plan = make_plan(other, tiny_model)
    (plan.input.folder / "a.txt").write_text(LEASE)
    run(plan, observer=Witness())
    (other.state / "chronicle.sqlite").write_bytes((ran.site.state / "chronicle.sqlite").read_bytes())
    with open_chronicle(other) as chronicle:
        assert chronicle.behind is None
        chronicle.refresh()
        assert [run.rows for run in chronicle.runs()] == [1]


def test_a_run_that_was_cut_off_counts_its_rows(plan: RunPlan, drop: Drop) -> None:
    for number in range(6):
        drop(f"{number}.txt", f"{LEASE} {number}")
    run_and_die(replace(plan, part_documents=2), 60)
    with open_chronicle(plan.site) as chronicle:
        chronicle.refresh()
        (cut,) = chronicle.runs()
        assert cut.state == "unfinished"
        rows = [entry for entry in said(plan) if entry["type"] == "document"]
        assert cut.rows == len(rows)


def test_what_was_handed_over_without_authority_is_not_told_as_what_it_says(ran: RunPlan) -> None:
    from pipeline.chronicle.filling import Filling

    class Db:
        """Takes what is written."""

        def __init__(self) -> None:
            self.rows = list[tuple[Any, ...]]()

        def executemany(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
            self.rows += rows if "INTO happening" in sql else []

        def execute(self, *_: object) -> None:
            raise AssertionError

    filling = Filling(db := Db())  # type: ignore[arg-type]
    forged = {
        "type": "exported",
        "run": "",
        "time": "2026-01-01T00:00:00.000000Z",
        "user": "eve",
        "handed": {"id": "x"},
    }
    filling.take(3, forged)
    filling.save()
    assert [row[1] for row in db.rows] == ["handed.exported"]
