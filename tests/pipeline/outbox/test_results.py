"""Which rows hold, that reading them takes little memory, and parts that are none of ours."""

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jobs.errors
import pipeline
from jobs.cli.options import check_job
from jobs.config.site import SiteConfig
from jobs.config.workspace import Workspace
from pipeline import BadPartError, RunPlan, Site
from tests.pipeline.conftest import Witness
from tests.pipeline.tables import old_schema, write_part


@dataclass
class Table:
    """Writes parts of a job by hand; rows are numbered as the log would."""

    site: Site
    folder: Path = field(init=False)
    count: int = 0
    parts: int = 0

    def __post_init__(self) -> None:
        self.folder = self.site.root / "outbox" / "sort"
        self.folder.mkdir(parents=True)

    def part(self, *rows: tuple[str | None, str, str], **more: object) -> Path:
        """One part of (document, path, state)."""
        self.parts += 1
        first, self.count = self.count, self.count + len(rows)
        told = [
            {"document": d, "path": p, "state": s, "audit_index": n, **more} for n, (d, p, s) in enumerate(rows, first)
        ]
        path = self.folder / f"part-{self.parts:05d}.parquet"
        write_part(path, told, old_schema())
        return path

    def holding(self) -> list[tuple[str, int]]:
        return [(row["path"], row["audit_index"]) for row in pipeline.results(self.site)]


@pytest.fixture
def table(site: Site) -> Table:
    return Table(site)


def test_copies_of_a_failed_document_are_all_listed(plan: RunPlan) -> None:
    for name in ("a.txt", "b.txt"):
        (plan.input.folder / name).write_bytes(b"")
    pipeline.run(plan, observer=Witness())
    assert [(row["path"], row["state"]) for row in pipeline.results(plan.site)] == [
        ("a.txt", "failed"),
        ("b.txt", "failed"),
    ]


@pytest.mark.parametrize(
    ("rows", "holding"),
    [
        ([("x", "a", "failed"), ("x", "b", "failed"), ("x", "a", "failed")], [("a", 2), ("b", 1)]),
        ([("x", "a", "failed"), ("x", "b", "failed"), ("x", "c", "done")], [("a", 0), ("b", 1), ("c", 2)]),
        ([("x", "a", "failed"), ("x", "a", "done")], [("a", 1)]),
        ([("x", "a", "failed"), ("x", "a", "duplicate")], [("a", 1)]),
        ([("x", "a", "done"), ("x", "b", "failed")], [("a", 0), ("b", 1)]),
        ([("x", "a", "done"), ("x", "a", "failed")], [("a", 1)]),
        ([("x", "a", "done"), ("x", "b", "duplicate"), ("x", "b", "duplicate")], [("a", 0), ("b", 2)]),
        ([("x", "a", "done"), ("y", "a", "done")], [("a", 0), ("a", 1)]),
        ([(None, "a", "failed"), ("x", "a", "failed")], [("a", 1)]),
        ([(None, "a", "failed"), ("x", "a", "duplicate")], [("a", 1)]),
        ([(None, "a", "failed"), (None, "a", "failed"), ("x", "b", "done")], [("a", 1), ("b", 2)]),
        ([("x", "a", "done"), (None, "a", "failed")], [("a", 0), ("a", 1)]),
    ],
)
def test_which_rows_hold(table: Table, rows: list[tuple[str | None, str, str]], holding: list[tuple[str, int]]) -> None:
    for row in rows:
        table.part(row)
    assert table.holding() == holding


def test_rows_come_by_path_with_their_values_from_wherever_they_stand(table: Table) -> None:
    names = [f"{number * 7919 % 3000:04d}" for number in range(3000)]
    for start in range(0, 3000, 150):  # more parts than are kept open
        table.part(*((name, name, "done") for name in names[start : start + 150]))
    table.part(*((f"z{name}", f"z{name}", "done") for name in sorted(names[:600], reverse=True)))  # backwards
    rows = list(pipeline.results(table.site, "sort"))
    assert [row["path"] for row in rows] == sorted([*names, *(f"z{name}" for name in names[:600])])
    assert all(row["document"] == row["path"] and row["job"] == "sort" for row in rows)
    assert {row["finished_at"] for row in rows} == {"2026-01-02T03:04:05.678Z"}
    assert list(pipeline.results(table.site, "other")) == []


def test_memory_does_not_grow_with_the_width_of_rows(table: Table) -> None:
    for start in range(0, 12_000, 200):
        table.part(*((str(n), f"{n:05d}", "done") for n in range(start, start + 200)), reason="r" * 20_000)
    before, most, count = pa.total_allocated_bytes(), 0, 0
    for _ in pipeline.results(table.site):
        most, count = max(most, pa.total_allocated_bytes() - before), count + 1
    assert count == 12_000
    assert most < 100e6  # 16 batches of 4 MB and what decoding takes, not 240 MB


@pytest.mark.parametrize("kind", ["empty", "text", "truncated", "foreign", "columns", "damaged"])
def test_a_part_of_somebody_else_is_told(table: Table, kind: str) -> None:
    part = table.part(("x", "a", "done"), reason="r")
    body = part.read_bytes()
    if kind == "foreign":
        pq.write_table(pa.table({"document": ["x"]}), part)
    elif kind == "columns":
        pq.write_table(pa.table({"document": ["x"]}).replace_schema_metadata({"cloister.table": "1"}), part)
    else:
        damaged = body[:4] + bytes(len(body) // 2) + body[4 + len(body) // 2 :]
        part.write_bytes({"empty": b"", "text": b"hello", "truncated": body[:-20], "damaged": damaged}[kind])
    with pytest.raises(BadPartError, match=r"part-00001\.parquet: not a table that this program wrote") as told:
        list(pipeline.results(table.site))
    assert jobs.errors.ending_of(told.value).code == jobs.errors.ExitCode.AUDIT_FAILED


def test_a_part_that_may_not_be_read_is_no_bad_part(table: Table) -> None:
    (table.folder / "part-x.parquet").symlink_to(table.folder / "none")
    with pytest.raises(FileNotFoundError):
        list(pipeline.results(table.site))


def test_missing_folders_are_empty_ones(site: Site) -> None:
    place = Workspace(site.root, SiteConfig.model_construct())
    assert list(pipeline.results(site)) == []
    assert place.other_files() == place.job_files() == []
    with pytest.raises(jobs.errors.ConfigError, match="no job 'sort'"):
        check_job(place, "sort")
    place.jobs.mkdir()
    (place.jobs / "sort.yaml").touch()
    check_job(place, "sort")
