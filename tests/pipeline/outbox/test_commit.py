"""A commit: rows, entries and files say the same of each other, and nothing has its place before the log has it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline.document import Row
from pipeline.errors import Failure
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import failed_row
from pipeline.outbox.commit import Committer, write_without
from pipeline.outbox.placement import staged_name
from pipeline.outbox.provenance import Maker
from pipeline.outbox.recover import recovered_log
from pipeline.outbox.schema import SALT, result_sha256
from pipeline.paths.names import file_sha256
from pipeline.plan import RunPlan
from pipeline.records.entries import read_entries, recorded_entries
from pipeline.records.journal import Journal, open_journal
from pipeline.records.private import openings_file
from pipeline.records.types import Deleted, DeletedByRule, Document, ParseOptions, Part, Placed, Record, RunStopped

MADE = {"model_sha256": "2" * 64, "numerics": "1", "job_digest": "3" * 64}
MAKER = Maker(
    **MADE, model="tiny", tokenizer_sha256="4" * 64, engine={}, software={"version": "1"}, parse_options=ParseOptions()
)
STOPPED = RunStopped(reason="no_space", where="state")


@pytest.fixture
def log(plan: RunPlan) -> Iterator[Journal]:
    with open_journal(plan.site) as journal:
        yield journal


def committer(plan: RunPlan, log: Journal) -> Committer:
    return Committer(plan, log, "run-1", {}, MAKER)


def unread(*paths: str) -> list[tuple[Row, Arrival]]:
    """Rows of files that could not be read, of which nothing is staged."""
    ended = {**MADE, "software": "s", "finished_at": datetime(2026, 11, 24, tzinfo=UTC)}
    arrivals = [Arrival(path, path, 3, unread=f"digest of {path}") for path in paths]
    return [(failed_row(each, None, Failure.UNREADABLE, "no").having(**ended), each) for each in arrivals]


def entries(plan: RunPlan) -> list[Record]:
    return list(read_entries(plan.site))


def test_a_part_is_its_rows_then_itself_and_each_proves_the_other(plan: RunPlan, log: Journal) -> None:
    committing = committer(plan, log)
    committing.commit(unread("a.txt", "b.txt"))
    *documents, part = entries(plan)
    rows = pq.read_table(plan.site.root / part.said["file"]).to_pylist()
    assert isinstance(part, Part)
    assert (part.first, part.rows, part.sha256) == (0, 2, file_sha256(committing.parts[0]))
    assert [(row["audit_index"], row["path"], row["run"]) for row in rows] == [
        (0, "a.txt", "run-1"), (1, "b.txt", "run-1")
    ]  # fmt: skip
    for number, (entry, row) in enumerate(zip(documents, rows, strict=True)):
        assert isinstance(entry, Document)
        assert (entry.part, entry.row, entry.unread) == (part.file, number, f"digest of {row['path']}")
        assert (entry.result_sha256, entry.model_sha256) == (result_sha256(Row(row)), MAKER.model_sha256)
        assert (plan.failed / f"{row['path']}.reason.json").is_file()


def test_the_next_commit_says_that_the_part_is_in_place(plan: RunPlan, log: Journal) -> None:
    committing = committer(plan, log)
    committing.commit(unread("a.txt"))
    committing.commit(unread("b.txt"))
    assert [entry.type for entry in entries(plan)] == ["document", "part", "placed", "document", "part"]
    assert [row["audit_index"] for row in pq.read_table(committing.parts[1]).to_pylist()] == [3]
    assert committing.note(STOPPED) == 6
    placed, stopped = entries(plan)[5:]
    assert isinstance(placed, Placed)
    assert placed.file.endswith("-00002.parquet")
    assert (stopped.run, stopped.job) == ("run-1", plan.job)


def test_a_row_says_which_one_it_takes_the_place_of(plan: RunPlan, log: Journal) -> None:
    committing = committer(plan, log)
    committing.commit(unread("a.txt", "b.txt"))
    committing.commit(unread("b.txt"))
    (row,) = pq.read_table(committing.parts[1]).to_pylist()
    entry = entries(plan)[4]
    assert isinstance(entry, Document)
    assert (row["replaces"], row["supersedes"]) == ([1], 1)
    assert (entry.replaces, entry.supersedes) == ((1,), 1)


def test_what_is_committed_and_not_in_place_waits_in_staging(plan: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with open_journal(plan.site) as log, monkeypatch.context() as dying:
        committing = committer(plan, log)
        dying.setattr("pipeline.outbox.commit.place", killed)
        with pytest.raises(KeyboardInterrupt):
            committing.commit(unread("a.txt"))
    part = plan.outbox / "part-run-1-00001.parquet"
    staged = plan.outbox / ".staging" / staged_name(str(part.relative_to(plan.site.root)))
    assert (committing.placing, part.exists(), staged.is_file()) == (True, False, True)
    with recovered_log(plan.site):
        assert (part.is_file(), staged.exists()) == (True, False)
    assert [entry.type for entry in entries(plan)] == ["document", "part", "placed"]


def test_before_the_log_has_a_part_nothing_has_its_place(
    plan: RunPlan, log: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "commit", lambda records: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        committer(plan, log).commit(unread("a.txt"))
    assert list(plan.outbox.glob("*.parquet")) == []
    assert not plan.failed.exists()
    assert entries(plan) == []


def test_a_deletion_is_said_then_done_then_said_to_be_done(plan: RunPlan, log: Journal) -> None:
    committing = committer(plan, log)
    committing.commit(unread("a.txt"))
    part = committing.parts[0]
    name = str(part.relative_to(plan.site.root))
    committing.delete([DeletedByRule(rule="rows_days", days=1, archive=(), parts=(name,), markdown=())])
    assert not part.exists()
    assert entries(plan)[-1].type == "deleted.by_rule"
    committing.note(STOPPED)
    (deleted,) = [entry for entry in entries(plan) if isinstance(entry, Deleted)]
    assert (deleted.deletion, deleted.run) == (3, "run-1")


def test_the_log_of_a_private_job_commits_to_what_it_hides(plan: RunPlan, log: Journal) -> None:
    plan = replace(plan, private=True)
    committer(plan, log).commit(unread("Frida.txt"))
    (_, recorded), _ = recorded_entries(plan.site)
    assert recorded["path"].startswith("hmac-sha256:")
    assert openings_file(plan.site.root, plan.job, recorded["private"]).is_file()
    (document, _) = entries(plan)
    assert isinstance(document, Document)
    assert (document.path, document.closed) == ("Frida.txt", ())


@pytest.mark.parametrize("private", [False, True])
def test_a_part_without_rows_waits_for_its_place_and_has_another_salt(
    plan: RunPlan, log: Journal, private: bool
) -> None:
    committing = committer(replace(plan, private=private), log)
    committing.commit(unread("a.txt", "b.txt"))
    (part,) = committing.parts
    name = str(part.relative_to(plan.site.root))
    before = part.read_bytes()
    sha256 = write_without(plan.site, name, {0}, private)
    staged = plan.outbox / ".staging" / staged_name(name)
    assert part.read_bytes() == before
    assert file_sha256(staged) == sha256
    assert [row["path"] for row in pq.read_table(staged).to_pylist()] == ["b.txt"]
    assert (_salt(part) == _salt(staged)) != private


def _salt(part: Path) -> bytes | None:
    return (pq.read_schema(part).metadata or {}).get(SALT.encode())
