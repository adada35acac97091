"""A worker whose credential was stolen, or that cannot be reached, costs a run no document, and nothing of the head."""

import asyncio
import gc
import itertools
import logging
import pickle
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline import RunPlan, run
from pipeline.cluster import crew
from pipeline.cluster.calls import _checked
from pipeline.cluster.errors import BadWorkerError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.identity import own_identity, parse_readiness
from pipeline.cluster.quiet import ROOM
from pipeline.cluster.roster import JOINING, WORKING, Member, Roster
from pipeline.cluster.wire import NAMELESS, format_rows, parse_document, parse_rows
from pipeline.document import Parsed
from pipeline.inbox.order import Work
from pipeline.outbox.schema import table_schema
from pipeline.parse import Limits
from tests.cluster.processes import Machines, machines
from tests.cluster.strangers import RIGHT, Answer, always, stranger
from tests.cluster.test_night import fill, makers
from tests.pipeline.conftest import Witness

WORK = Work(NAMELESS, Parsed("An invoice.", "text/plain", "plain"), 0.0)
ROW: dict[str, Any] = {"state": "done", "text_sha256": WORK.parsed.text_sha256, "tokens": 3, "seconds": 0.5}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A scheduler without workers."""
    with machines(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def hasty(plan: RunPlan, bare: Machines, monkeypatch: pytest.MonkeyPatch) -> RunPlan:
    """A job on that cluster, whose head is patient for a second only."""
    monkeypatch.setattr(crew, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(crew, "ALONE_SECONDS", 1.0)
    monkeypatch.setattr(crew, "_REACHED_SECONDS", 0.1)
    monkeypatch.setattr("pipeline.cluster.calls.CONNECT_SECONDS", 0.5)
    fill(plan.input.folder, 6)
    return replace(plan, cluster=bare.cluster)


def ended(plan: RunPlan) -> list[tuple[str, dict[str, Any]]]:
    """The notes of a run that answers everything on the head."""
    witness = Witness()
    assert run(plan, observer=witness).counts["pending"] == 0
    assert {name for name, _ in makers(plan.site)} == {None}
    return [(event, dict(facts)) for event, facts in witness.notes]


def test_one_that_is_listed_and_cannot_be_reached_is_not_waited_for(
    bare: Machines, hasty: RunPlan, tmp_path: Path
) -> None:
    with stranger(bare, tmp_path / "s", contact="tls://127.0.0.1:1"):
        notes = ended(hasty)
    assert [facts["address"] for event, facts in notes if event == "worker not reached"] == ["tls://127.0.0.1:1"]


class Pickled:
    """Runs code where it is unpickled: it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize(
    "does",
    [
        {"accept": always({"engine": {"isa": "x" * 5000}, "isolation": {}})},
        {"accept": always({"missing": 7})},
        {"accept": always({})},
        {"accept": always("yes")},
        {"read": always({"failure": "corrupt", "reason": "so", "written": -1})},
        {"read": always({"parsed": b"[" * 100_000, "unpacked": b""})},
        {"read": always({"parsed": b'{"no_room": 28}', "unpacked": b""})},
        {"read": always({"parsed": bytes(400 << 20)})},
        {"read_many": always({"answers": []})},
        {"read_many": always({"answers": "yes"})},
        {"read_many": always({"answers": [7] * 32})},
    ],
    ids=lambda does: next(iter(does)),
)
def test_nonsense_costs_no_document(bare: Machines, hasty: RunPlan, tmp_path: Path, does: dict[str, Answer]) -> None:
    with stranger(bare, tmp_path / "s", {**RIGHT, **does}):
        notes = ended(hasty)
    assert {event for event, _ in notes} & {"worker refused", "worker lost"}


def test_what_is_pickled_runs_nowhere(bare: Machines, hasty: RunPlan, tmp_path: Path) -> None:
    made = tmp_path / "made"
    told = {"status": "uncaught-error", "exception": pickle.dumps(Pickled(made)), "traceback": b"", "text": ""}
    assert pickle.loads(pickle.dumps(Pickled(tmp_path / "shown"))) is None
    assert (tmp_path / "shown").exists()
    with stranger(bare, tmp_path / "s", {**RIGHT, "read": always(told)}):
        ended(hasty)
    assert not made.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "ignored"}, {"state": "pending"}, {"state": "any"}, {"state": "failed"}, {"failure": "corrupt"},
        {"seconds": -1.0}, {"seconds": float("nan")}, {"seconds": None}, {"tokens": None}, {"tokens": -1},
        {"duplicate_of": "a" * 64}, {"text_sha256": "b" * 64},
    ],
)  # fmt: skip
def test_a_row_that_is_no_answer(wrong: dict[str, Any]) -> None:
    assert parse_rows(format_rows([ROW]), [WORK])[0]["state"] == "done"
    with pytest.raises(BadWorkerError, match="a row"):
        parse_rows(format_rows([ROW | wrong]), [WORK])


def stream(table: pa.Table, **how: Any) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**how)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def test_rows_that_would_become_all_of_the_memory() -> None:
    table = pa.Table.from_pylist([ROW | {"reason": "x" * 1_000_000}], schema=table_schema())
    for how in ("lz4", "zstd"):
        with pytest.raises(BadWorkerError, match="compressed"):
            parse_rows(stream(table, compression=how), [WORK])
    endless = pa.table({"a": pa.Array.from_buffers(pa.null(), (1 << 31) - 1, [None])})
    with pytest.raises(BadWorkerError, match="other columns"):
        parse_rows(stream(endless), [WORK])
    with pytest.raises(BadWorkerError):
        parse_rows(stream(table)[:-100], [WORK])


def test_a_moment_of_no_calendar_is_no_row() -> None:
    table = pa.Table.from_pylist([ROW], schema=table_schema())
    place = table.schema.get_field_index("finished_at")
    column = pa.array([2**62], pa.int64()).view(table.schema.field(place).type)
    with pytest.raises(BadWorkerError):
        parse_rows(stream(table.set_column(place, table.schema.field(place), column)), [WORK])


def test_a_document_without_a_bottom() -> None:
    with pytest.raises(BadWorkerError, match="not JSON"):
        parse_document(b"[" * 1_000_000, Limits())


@pytest.mark.parametrize(
    "wrong",
    [
        {"engine": None}, {"engine": {"a": []}}, {"engine": {"a": "two\nlines"}}, {"isolation": {"a": 1}},
        {"engine": {str(n): n for n in range(1000)}}, {"isolation": []},
    ],
)  # fmt: skip
def test_facts_that_do_not_belong_into_the_log(wrong: dict[str, Any]) -> None:
    right = {"engine": {"isa": "avx2", "threads": 2}, "isolation": {"seccomp": True}}
    assert parse_readiness(right) == (right["engine"], right["isolation"])
    with pytest.raises(BadWorkerError):
        parse_readiness({**right, **wrong})


def test_who_goes_through_the_members_does_not_mind_that_one_comes() -> None:
    roster = Roster()
    roster.add(Member("tls://a:1", "a", WORKING, 0.0))
    going = iter(roster.members.values())
    for number in range(100):
        roster.add(Member(f"tls://b:{number}", "b", JOINING, 0.0))
    assert [member.name for member in itertools.islice(going, 5)] == ["a"]
    assert len(roster.working()) == 1
    assert ROOM.get() is None, "what is bounded is the answers of others, and nothing in this process"


def test_what_a_machine_cannot_read_is_read_on_the_head(bare: Machines, hasty: RunPlan, tmp_path: Path) -> None:
    """A row does not depend on which machine was too slow, or had too little memory."""
    slow = always({"failure": "timeout", "reason": "not parsed within 60 s", "written": 0})
    with stranger(bare, tmp_path / "s", {**RIGHT, "read": slow, "answer": always({"failed": "so"})}):
        witness = Witness()
        report = run(hasty, observer=witness)
    assert "worker ready" in {event for event, _ in witness.notes}
    assert report.counts["failed"] == 1, "the broken PDF"


def test_a_worker_may_come_hours_after_a_run_began(
    bare: Machines, hasty: RunPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = own_identity("head")
    monkeypatch.setattr(crew, "own_identity", lambda name: replace(began, clock=began.clock - 7200))
    with stranger(bare, tmp_path / "s", {**RIGHT, "read": always({"failed": "so"})}):
        assert "worker ready" in {event for event, _ in ended(hasty)}


def test_what_a_worker_says_without_an_end_is_told_by_its_type() -> None:
    deep: Any = "so"
    for _ in range(2_000):
        deep = [deep]
    for said in ("failed", "refused", "forgotten"):
        with pytest.raises((BadWorkerError, WorkerRefusedError, WorkerLostError), match="list"):
            _checked({said: deep})


def test_a_run_that_is_stopped_while_workers_read_ends_quietly(
    bare: Machines, hasty: RunPlan, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked = threading.Event()

    async def never(comm: object, **document: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    with caplog.at_level(logging.ERROR, "asyncio"), stranger(bare, tmp_path / "s", {**RIGHT, "read": never}):
        report = run(hasty, observer=Witness(), stop=asked.is_set)
        gc.collect()  # what nobody asked for is told at its end
    assert report.counts["pending"] == 9
    assert [record.getMessage() for record in caplog.records if "never retrieved" in record.getMessage()] == []


def test_who_lives_and_never_reads_is_not_taken_back_at_once(
    bare: Machines, hasty: RunPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.cluster.night._OTHERS", 0.01)

    async def never(comm: object, **document: object) -> None:
        await asyncio.Event().wait()

    with stranger(bare, tmp_path / "s", {**RIGHT, "read": never}):
        notes = ended(hasty)
    assert [event for event, _ in notes].count("worker ready") == 1
    assert [facts["reason"] for event, facts in notes if event == "worker lost"] == [
        "it had documents to read for far too long"
    ]
