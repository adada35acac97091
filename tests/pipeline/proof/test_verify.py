"""Results and archive held against the log: altered is tampering, absent is reported."""

import contextlib
import hashlib
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import audit
import pipeline
from pipeline import RunPlan
from pipeline.proof.finding import Found
from pipeline.proof.holding import FilesTask, PartTask, check_files, check_part
from tests.pipeline.conftest import Witness, copied, make_plan, make_site
from tests.pipeline.outbox.test_recover import fill

Drop = Callable[[str, bytes | str], Path]


DOCUMENTS = {
    "lease.txt": b"The landlord leases the flat to the tenant.",
    "invoice.txt": b"Invoice 7, total due 12.00.",
    "broken/letter.pdf": b"%PDF-1.7 and nothing else",
    "again/letter.pdf": b"%PDF-1.7 and nothing else",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> RunPlan:
    plan = fill(make_plan(make_site(tmp_path_factory.mktemp("verify") / "ws"), tiny_model), DOCUMENTS)
    pipeline.run(plan, observer=Witness())
    assert pipeline.verify(plan.site).ok
    return plan


@pytest.fixture
def ran(made: RunPlan, plan: RunPlan) -> RunPlan:
    """The same run, in the workspace of `plan`."""
    return copied(made, plan.site.root)


def flip(path: Path) -> None:
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(body)


@pytest.mark.parametrize(
    "pattern",
    ["outbox/*/*.parquet", "outbox/*/_markdown/*.md", "archive/*/*/*/bytes/*", "archive/*/*/*/text/*",
     "failed/*/*/*.pdf", "failed/*/*/*.reason.json"],
)  # fmt: skip
def test_a_changed_byte_is_found_and_named(ran: RunPlan, pattern: str) -> None:
    path = next(iter(ran.site.root.glob(pattern)))
    flip(path)
    report = pipeline.verify(ran.site)
    assert not report.ok
    assert report.altered[0].where == str(path.relative_to(ran.site.root))
    assert (report.added, report.absent) == ((), ())


@pytest.mark.parametrize(
    "pattern",
    ["outbox/*/*.parquet", "outbox/*/_markdown/*.md", "archive/*/*/*/bytes/*", "archive/*/*/*/text/*",
     "failed/*/*/*.pdf", "failed/*/*/*.reason.json"],
)  # fmt: skip
def test_what_was_taken_away_is_absent_not_tampering(ran: RunPlan, pattern: str) -> None:
    path = next(iter(ran.site.root.glob(pattern)))
    path.unlink()
    report = pipeline.verify(ran.site)
    assert report.ok
    assert not report.complete
    assert [finding.where for finding in report.absent] == [str(path.relative_to(ran.site.root))]


@pytest.mark.parametrize(
    "name",
    ["outbox/notes.txt", "outbox/sort/x", "outbox/sort/_markdown/lease.txt.md.bak", "archive/sort/aa/x",
     "archive/other/x", "failed/sort/x.pdf", "failed/sort/broken/letter.pdf.reason.json.reason.json", "failed/x"],
)  # fmt: skip
def test_a_file_that_nobody_made_is_named(ran: RunPlan, name: str) -> None:
    (ran.site.root / name).parent.mkdir(parents=True, exist_ok=True)
    (ran.site.root / name).write_bytes(b"x")
    report = pipeline.verify(ran.site)
    assert ([finding.where for finding in report.added], report.altered, report.absent) == ([name], (), ())
    assert not report.ok


def test_a_name_beside_the_archived_one_is_nobodys(ran: RunPlan) -> None:
    """The right bytes under another name, or another document's."""
    path = next(iter(ran.site.root.glob("archive/*/*/*/bytes/lease.txt")))
    other = shutil.copy(path, path.with_name("invoice.txt"))
    report = pipeline.verify(ran.site)
    assert [finding.where for finding in report.added] == [str(other.relative_to(ran.site.root))]


def test_links_and_pipes_are_named(ran: RunPlan) -> None:
    path = next(iter(ran.outbox.glob("_markdown/*.md")))
    path.rename(ran.site.root / "state-md")
    path.symlink_to(ran.site.root / "state-md")
    os.mkfifo(ran.archive / "pipe")
    names = {finding.where for finding in pipeline.verify(ran.site).added}
    assert names == {str(path.relative_to(ran.site.root)), "archive/sort/pipe"}


def rewrite(part: Path, change: Callable[[list[dict[str, object]]], list[dict[str, object]]]) -> None:
    table = pq.read_table(part)
    rows = change(table.to_pylist())
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), part)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("label", "invoice"),
        ("state", "abstained"),
        ("audit_index", 1),
        ("run", "x"),
        ("supersedes", 0),
        ("tokens", 1),
        ("job", "x"),
        ("task", "extract"),
        ("replaces", [0]),
        ("answer", "x"),
    ],
)
def test_an_edited_row_in_a_rewritten_part_is_named(ran: RunPlan, column: str, value: object) -> None:
    part = next(iter(ran.outbox.glob("*.parquet")))
    name = f"outbox/sort/{part.name}"
    at = next(i for i, row in enumerate(pq.read_table(part).to_pylist()) if row[column] != value)
    rewrite(part, lambda rows: [row | {column: value} if i == at else row for i, row in enumerate(rows)])
    found = pipeline.verify(ran.site).altered
    assert [finding.where for finding in found] == [name, f"{name} row {at}"]
    assert found[1].entry == pq.read_table(part).to_pylist()[at]["audit_index"] or column == "audit_index"


def test_rows_taken_out_doubled_and_swapped(ran: RunPlan) -> None:
    part = next(iter(ran.outbox.glob("*.parquet")))
    body, name = part.read_bytes(), f"outbox/sort/{part.name}"
    changes: list[Callable[[list[dict[str, object]]], list[dict[str, object]]]] = [
        lambda rows: rows[:-1], lambda rows: [*rows, rows[-1]], lambda rows: rows[::-1], lambda rows: [],
    ]  # fmt: skip
    for change in changes:
        rewrite(part, change)
        found = pipeline.verify(ran.site).altered
        assert found[0].where == name
        assert len(found) > 1
        part.write_bytes(body)


def test_a_part_that_is_no_table(ran: RunPlan) -> None:
    part = next(iter(ran.outbox.glob("*.parquet")))
    body, chance = part.read_bytes(), random.Random(5)
    for number in range(60):
        damaged = bytearray(body)
        for _ in range(1 + number % 9):
            damaged[chance.randrange(len(body))] = chance.randrange(256)
        part.write_bytes(bytes(damaged[: chance.randrange(len(body))]) if number % 5 == 0 else bytes(damaged))
        assert pipeline.verify(ran.site).altered[0].where == f"outbox/sort/{part.name}"


def test_several_processes_find_the_same(ran: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    for pattern in ("outbox/*/*.parquet", "outbox/*/_markdown/*.md", "archive/*/*/*/bytes/*", "failed/*/*/*.pdf"):
        flip(next(iter(ran.site.root.glob(pattern))))
    one = pipeline.verify(ran.site, processes=1)
    assert len(one.altered) >= 4
    monkeypatch.setattr(sys.modules["pipeline.proof.verify"], "_MANY", 0)
    told: list[tuple[int, int]] = []
    assert pipeline.verify(ran.site, lambda done, total: told.append((done, total)), processes=2) == one
    assert {total for _, total in told} == {2 * one.size}


def test_what_waits_in_staging_is_a_note(ran: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run killed behind its commit: all is there, and nothing is missing or anybody's."""
    drop("later.txt", "The landlord leases another flat to the tenant.")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.outbox.commit.place", die)
        with pytest.raises(KeyboardInterrupt):
            pipeline.run(ran, observer=Witness())
    report = pipeline.verify(ran.site)
    assert report.complete
    assert any("may not be in place yet" in note for note in report.notes)
    pipeline.run(ran, observer=Witness())
    report = pipeline.verify(ran.site)
    assert (report.complete, report.notes) == (True, ())


def test_a_failure_that_is_over_leaves_nothing(ran: RunPlan, drop: Drop) -> None:
    assert pipeline.verify(ran.site).checked["failed"] == 2
    drop("broken/letter.pdf", "Now the landlord leases the flat.")
    pipeline.run(ran, observer=Witness())
    drop("broken/letter.pdf", b"%PDF-1.7 and nothing else")
    drop("again/letter.pdf", b"%PDF-1.7 and nothing better")
    pipeline.run(ran, observer=Witness())
    report = pipeline.verify(ran.site)
    assert report.complete
    assert report.checked["failed"] == 3


def test_an_older_version_tells_failures_in_its_words(ran: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.proof.failures.software", lambda: {"version": "later"})
    assert pipeline.verify(ran.site).complete
    path = next(iter(ran.failed.rglob("*.reason.json")))
    path.write_text(path.read_text().replace('"failure": "', '"failure": "un'))
    assert [finding.where for finding in pipeline.verify(ran.site).altered] == [str(path.relative_to(ran.site.root))]


def test_a_run_that_commits_meanwhile_accuses_nobody(ran: RunPlan, drop: Drop) -> None:
    """A part, a Markdown file in the place of another one and a failure, between the log's end and the last look."""
    drop("lease.txt", "Invoice 8, total due 13.00.")
    drop("broken/other.pdf", b"%PDF-1.7")
    halves = []

    def meanwhile(now: int, total: int) -> None:
        if 2 * now == total:
            halves.append(now)  # the log is read to its end; then the entries again, from their first
        if 2 * now == total and len(halves) == 2:
            pipeline.run(ran, observer=Witness())

    report = pipeline.verify(ran.site, meanwhile)
    assert len(halves) >= 2
    assert report.complete, report
    assert audit.read_checkpoint(ran.site.audit, ran.site.public_key).size > report.size


@pytest.mark.parametrize("rows", [False, True])
def test_what_is_erased_meanwhile_accuses_nobody(ran: RunPlan, rows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the entry was read that says what lies there, and before the file is looked at."""
    asked = []

    def erase_and_check(task: PartTask) -> Found:
        if not asked:
            asked.append(pipeline.erase(ran.site, "lease.txt", "asked for", archive=True, rows=rows))
        return check_part(task)

    monkeypatch.setattr(sys.modules["pipeline.proof.verify"], "check_part", erase_and_check)
    report = pipeline.verify(ran.site, processes=1)
    assert asked[0].rows == rows
    assert report.complete, report


def test_a_part_that_nobody_committed_is_found(ran: RunPlan) -> None:
    part = next(iter(ran.outbox.glob("*.parquet")))
    part.with_name("part-forged.parquet").write_bytes(part.read_bytes())
    assert [finding.where for finding in pipeline.verify(ran.site).added] == ["outbox/sort/part-forged.parquet"]


def test_a_changed_log_is_found_first(ran: RunPlan) -> None:
    flip(next(path for path in sorted((ran.site.audit).rglob("*.jsonl"))))
    report = pipeline.verify(ran.site)
    assert report.integrity
    assert report.checked["parts"] == 0


def test_of_two_markdown_files_of_one_name_the_later_is_checked(plan: RunPlan, drop: Drop) -> None:
    for text in ("The landlord leases the flat.", "Invoice 7, total due 12.00."):
        drop("a.txt", text)
        pipeline.run(plan, observer=Witness())
    report = pipeline.verify(plan.site)
    assert report.ok
    assert not report.absent
    assert report.checked["markdown"] == len(list(plan.outbox.glob("_markdown/*.md")))


@contextlib.contextmanager
def somebody_else() -> Iterator[None]:
    """Root reads everything."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_compared() -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        root.chmod(0o755)
        files = [(name, hashlib.sha256(name.encode()).hexdigest(), n) for n, name in enumerate(("a", "b", "c"))]
        for name, _, _ in files:
            (root / name).write_text(name)
            (root / name).chmod(0o644)
        (root / "b").chmod(0)
        (root / "c").write_text("other")
        with somebody_else():
            found = check_files(FilesTask(root, "markdown", files))
    assert [(one.where, one.message) for one in found.unreadable] == [
        ("b", "entry 1: it cannot be read: Permission denied")
    ]
    assert [one.where for one in found.altered] == ["c"]
    assert not found.absent
