"""A file is whole when nobody writes to it any more: what comes later is never lost, nor another document."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

import pipeline
from pipeline import RunPlan
from pipeline.paths.beneath import HELD_OPEN
from tests.pipeline.conftest import Witness
from tests.pipeline.test_run import INVOICE, LEASE, Drop, entries, go

WRITER = """
import mmap, os, sys
file = None
for line in sys.stdin:
    word, _, rest = line.rstrip("\\n").partition(" ")
    if word == "open":
        mode, path = rest.split(" ", 1)
        file = open(path, mode, buffering=0)
    elif word == "write":
        file.write(rest.encode() + b"\\n")
    elif word == "map":
        mapped = mmap.mmap(file.fileno(), 0)
    elif word == "close":
        file.close()
    print("done", flush=True)
"""


@dataclass
class Writer:
    """Another process, which does as it is told, and has done it when `tell` returns."""

    process: "subprocess.Popen[str]"

    def tell(self, *words: object) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@pytest.fixture
def writer() -> Iterator[Writer]:
    command = [sys.executable, "-c", WRITER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Writer(process)
        assert process.stdin
        process.stdin.close()


def texts(plan: RunPlan) -> dict[str, str]:
    """The archived bytes of each row that is current."""
    rows = list(pipeline.results(plan.site, plan.job))
    folders = {row["document"]: plan.archive / row["document"][:2] / row["document"] / "bytes" for row in rows}
    return {row["path"]: next(folders[row["document"]].iterdir()).read_text() for row in rows}


def test_a_writer_that_pauses_loses_nothing(plan: RunPlan, writer: Writer) -> None:
    path = plan.input.folder / "scan.txt"
    writer.tell("open", "wb", path)
    writer.tell("write", "Page 1.", LEASE.strip())
    report, witness = go(plan)
    assert (report.pending, report.held_open) == ((("scan.txt", HELD_OPEN),), ("scan.txt",))
    assert ("files are held open by a writer", {"files": 1}) in witness.notes
    assert not witness.states
    writer.tell("write", "Page 2.", INVOICE.strip())
    writer.tell("close")
    go(plan)
    assert texts(plan) == {"scan.txt": f"Page 1. {LEASE}Page 2. {INVOICE}"}
    assert not path.exists()
    assert pipeline.verify(plan.site).ok


@pytest.mark.parametrize("way", ["a preserved time", "a rename", "a mapping", "to read and write"])
def test_the_writer_of_a_file_is_seen_however_it_came_there(plan: RunPlan, writer: Writer, way: str) -> None:
    path, other = plan.input.folder / "scan.txt", plan.input.folder.parent / "upload"
    writer.tell(
        "open", "w+b" if way in ("to read and write", "a mapping") else "wb", other if way == "a rename" else path
    )
    writer.tell("write", LEASE.strip())
    if way == "a preserved time":
        os.utime(path, (1e9, 1e9))
    elif way == "a rename":
        other.rename(path)
    elif way == "a mapping":
        writer.tell("map")
        writer.tell("close")
    assert pipeline.scan(plan.input).held_open == ("scan.txt",)
    writer.process.stdin.close()  # type: ignore[union-attr]
    writer.process.wait()
    found = pipeline.scan(plan.input)
    assert ([each.path for each in found.ready], found.settling) == (["scan.txt"], ())


def test_who_only_reads_is_no_writer(plan: RunPlan, writer: Writer, drop: Drop) -> None:
    writer.tell("open", "rb", drop("a.txt", LEASE))
    assert [each.path for each in pipeline.scan(plan.input).ready] == ["a.txt"]


def test_a_file_that_is_opened_when_its_turn_has_come_is_left(plan: RunPlan, writer: Writer, drop: Drop) -> None:
    path = drop("a.txt", LEASE)
    scanned: list[Callable[[], None]] = [lambda: writer.tell("open", "ab", path)]

    def stop() -> bool:
        if not pipeline.scan(plan.input).held_open and scanned:
            scanned.pop()()
        return False

    report, _ = go(plan, stop=stop)
    assert report.pending == (("a.txt", HELD_OPEN),)
    writer.tell("write", INVOICE.strip())
    writer.tell("close")
    go(plan)
    assert texts(plan) == {"a.txt": LEASE + INVOICE}


def test_a_file_that_is_opened_while_it_is_answered_stays(plan: RunPlan, writer: Writer, drop: Drop) -> None:
    """It is done as it was taken, and not removed under the writer's hands; when it has grown, it is a newer one."""
    path = drop("a.txt", LEASE)

    class Opening(Witness):
        def finished(self, path: str, state: str, reason: str | None) -> None:
            super().finished(path, state, reason)
            writer.tell("open", "ab", plan.input.folder / path)

    pipeline.run(plan, observer=(witness := Opening()))
    assert witness.states == {"a.txt": "done"}
    assert path.read_text() == LEASE
    writer.tell("write", INVOICE.strip())
    writer.tell("close")
    go(plan)
    assert texts(plan) == {"a.txt": LEASE + INVOICE}
    assert not path.exists()


def again(plan: RunPlan, row: dict[str, object]) -> str:
    """How a row compares with the same made again."""
    plan.site.models.mkdir(exist_ok=True)
    shutil.copy(plan.model.path, plan.site.models / f"{plan.model.name}.gguf")
    (told,) = pipeline.replay(plan.site, pipeline.Choice(run=str(row["run"]))).rows
    return told.verdict.value


def test_a_file_that_grew_after_it_was_taken_is_its_newer_version(plan: RunPlan, drop: Drop) -> None:
    drop("scan.txt", LEASE)
    drop("other.txt", INVOICE)
    go(plan)
    first = next(row for row in pipeline.results(plan.site, plan.job) if row["path"] == "scan.txt")
    drop("scan.txt", LEASE + INVOICE)
    go(plan)
    (row,) = [row for row in pipeline.results(plan.site, plan.job) if row["path"] == "scan.txt"]
    assert (row["supersedes"], row["replaces"]) == (first["audit_index"], [first["audit_index"]])
    note = (
        f"a newer version of row {first['audit_index']}: the file has grown since {len(LEASE)} bytes of it were taken"
    )
    assert row["notes"] == [note]
    assert len(texts(plan)) == 2
    assert pipeline.verify(plan.site).ok
    drop("scan.txt", LEASE + INVOICE + LEASE)
    go(plan)
    (newest,) = [row for row in pipeline.results(plan.site, plan.job) if row["path"] == "scan.txt"]
    assert newest["replaces"] == [row["audit_index"]]
    assert again(plan, newest) == "identical"
    drop("copy.txt", LEASE)  # of the first version, which has no answer that holds
    _, witness = go(plan)
    assert witness.states == {"copy.txt": "done"}


def test_a_file_that_stays_and_grows_is_its_newer_version(plan: RunPlan, drop: Drop) -> None:
    plan = replace(plan, input=replace(plan.input, afterwards="keep"))
    drop("log.txt", LEASE)
    go(plan)
    drop("log.txt", LEASE + INVOICE)
    go(plan)
    rows = list(pipeline.results(plan.site, plan.job))
    assert [(row["path"], row["size"]) for row in rows] == [("log.txt", len(LEASE + INVOICE))]


def test_a_failure_of_half_a_file_ends_when_the_file_has_grown(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", b"")
    go(plan)
    assert (plan.failed / "a.txt").exists()
    drop("a.txt", LEASE)
    go(plan)
    assert [row["state"] for row in pipeline.results(plan.site, plan.job)] == ["done"]
    assert not any(path.is_file() for path in plan.failed.rglob("*"))
    report, _ = go(replace(plan, retry=frozenset(pipeline.Failure)))
    assert report.seen == 0
    assert pipeline.verify(plan.site).ok


def test_another_file_at_a_path_says_that_one_was_taken_before(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    go(plan)
    drop("a.txt", INVOICE)
    go(plan)
    first, second = sorted(pipeline.results(plan.site, plan.job), key=lambda row: row["audit_index"])
    note = f"a file of other bytes was taken from this path before: row {first['audit_index']}"
    assert (second["notes"], second["replaces"]) == ([note], [])
    earlier = [entry.get("earlier") for entry in entries(plan, "document")]
    assert earlier == [
        None,
        {"row": first["audit_index"], "document": first["document"], "size": len(LEASE), "grown": False},
    ]
    assert again(plan, second) == "identical"
