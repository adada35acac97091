"""Records of commands: committed, or handed over to the one who holds the log, each once; and steps of the clock."""

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import RunPlan, Site
from pipeline.records.entries import check_record, from_json
from pipeline.records.handover import folder_of, hand_over, waiting
from pipeline.records.journal import Journal, open_journal
from pipeline.records.private import AsItIs
from tests.pipeline.conftest import Witness

READ = {"type": "read.results", "run": "", "job": "sort", "failed": False, "limit": None}


def entries(site: Site, kind: str = "read.results") -> list[dict[str, Any]]:
    return [e for _, e in audit.read_entries(site.audit, site.public_key) if e["type"] == kind]


@contextlib.contextmanager
def held(site: Site) -> Iterator[audit.Log]:
    """By somebody who takes nothing up."""
    with audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key) as log:
        yield log


def test_a_record_is_committed_where_nobody_holds_the_log(site: Site) -> None:
    assert pipeline.records.record(site, from_json(READ)) == pipeline.records.Recorded(n=0)
    assert pipeline.records.record(site, from_json(READ)) == pipeline.records.Recorded(n=1)
    assert [(e["run"], e["job"], "handed" in e) for e in entries(site)] == [("", "sort", False)] * 2
    assert not folder_of(site).exists()


def test_a_record_behind_what_was_cut_is_told_by_its_own_number(site: Site) -> None:
    pipeline.records.record(site, from_json(READ))
    with next((site.audit / "entries").iterdir()).open("ab") as segment:
        segment.write(b'{"boot":"')
    assert pipeline.records.record(site, from_json(READ)) == pipeline.records.Recorded(n=2)
    assert [entry["n"] for entry in entries(site, "recovered.cut")] == [1]


def test_a_record_is_handed_to_the_holder_who_takes_it_with_its_next_commit(site: Site) -> None:
    with open_journal(site) as journal:
        assert pipeline.records.record(site, from_json(READ)) == pipeline.records.Recorded(handed=True)
        assert len(waiting(site)) == 1
        journal.commit([AsItIs({"type": "other", "run": "r"})])
        assert waiting(site) == []
        journal.commit([AsItIs({"type": "other", "run": "r"})])
    (entry,) = entries(site)
    handed = entry["handed"]
    assert (entry["n"], entry["run"], handed["user"]) == (1, "", entry["user"])
    assert handed["time"] <= entry["time"]
    assert handed["uptime_us"] <= entry["uptime_us"]


def test_what_came_after_the_last_commit_is_taken_when_the_log_is_let_go(site: Site) -> None:
    with open_journal(site):
        pipeline.records.record(site, from_json(READ))
    assert (len(entries(site)), waiting(site)) == (1, [])


def test_what_a_holder_left_is_taken_by_the_next_record(site: Site) -> None:
    with held(site):
        pipeline.records.record(site, from_json(READ))
        pipeline.records.record(site, from_json({**READ, "limit": 7}))
    assert len(waiting(site)) == 2
    assert pipeline.records.record(site, from_json({**READ, "limit": 8})).n == 0
    assert [e["limit"] for e in entries(site)] == [8, None, 7]
    assert waiting(site) == []


def test_a_record_that_was_committed_and_not_removed_is_not_committed_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(site):
        pipeline.records.record(site, from_json(READ))
    kept = {name: (folder_of(site) / name).read_bytes() for name in waiting(site)}
    for _ in range(3):
        for name, body in kept.items():
            (folder_of(site) / name).write_bytes(body)
        with open_journal(site) as journal:
            journal.commit([AsItIs({"type": "other", "run": "r"})])
        assert waiting(site) == []
    assert len(entries(site)) == 1


def test_a_file_that_cannot_be_removed_is_taken_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink = Path.unlink
    with held(site):
        pipeline.records.record(site, from_json(READ))
    monkeypatch.setattr(Path, "unlink", lambda path, missing_ok=False: _refuse(path, unlink))
    for _ in range(2):
        with contextlib.closing(Journal(site)) as journal:
            journal.commit([AsItIs({"type": "other", "run": "r"})])
            journal.commit([AsItIs({"type": "other", "run": "r"})])
    assert len(entries(site)) == 1


def _refuse(path: Path, unlink: Callable[[Path], None]) -> None:
    if path.parent.name == "handover":
        raise PermissionError(1, "Operation not permitted", str(path))
    unlink(path)


FORGED = {
    "text": b"hello",
    "another type": {"record": {"type": "document", "run": "", "path": "a"}},
    "a type of a run": {"record": {"type": "clock.stepped", "run": "", "seconds": 1, "before": ""}},
    "a member too many": {"record": {**READ, "run": "", "handed": {}}},
    "one of the log's members": {"record": {**READ, "run": "", "time": "2020-01-01T00:00:00.000000Z"}},
    "a member too few": {"record": {"type": "read.results", "run": ""}},
    "the name of a run": {"record": {**READ, "run": "20261122T000000Z-abcdef"}},
    "another id": {"id": "0" * 32},
    "no number": {"size": "0"},
    "too long": {"record": {**READ, "run": "", "job": "x" * 40_000}},
    "a text too long": {"record": {**READ, "run": "", "job": "x" * 5_000}},
    "a number below 0": {"record": {**READ, "run": "", "limit": -1}},
    "no digest": {"record": {"type": "read.recall", "run": "", "model_sha256": "../../etc"}},
    "no document": {"record": {"type": "read.story", "run": "", "document": "Anna Meier"}},
    "a question that no command asks": {"record": {"type": "read.search", "run": "", "query": {"sql": "1"}}},
    "verdicts that are none": {
        "record": {
            "type": "replayed", "run": "", "rows": 1, "different": [], "counts": {"IDENTICAL": 1},
            "asked": {"document": None, "run": None, "share": 1, "seed": 0},
        }
    },
    "no time": {"time": "yesterday"},
    "a state that is still to come": {"size": 99},
    "a root that never was": {
        "record": {
            "type": "verified", "run": "", "size": 0, "root": "0" * 64, "integrity": 0, "altered": 0, "added": 0,
            "absent": 0,
        }
    },
}  # fmt: skip
PROOFS: dict[str, dict[str, Any]] = {
    "exported": {"from": "a", "before": "b", "first": 0, "end": 1, "export_sha256": "0" * 64},
    "hold": {"entries": [0], "reason": "case 12"},
    "released": {"hold": 0, "reason": "closed"},
    "erased": {
        "entries": [0], "archive": [0], "failed": [], "markdown": [], "parts": [], "rows": [], "reason": "asked for"
    },
    "deleted": {"deletion": 0},
    "deleted.by_rule": {"rule": "rows_days", "days": 0, "archive": [0], "parts": ["keys/log.key"], "markdown": []},
    "model.admitted": {"model": "tiny", "before": None, "after": "0" * 64, "by": "import"},
    "model.changed": {"model": "tiny", "before": "0" * 64, "after": "1" * 64, "by": "import"},
    "key.rotated": {"old_key": "", "new_key": "", "note": ""},
    "reviewed": {"entries": [0], "by": "Ada"},
}  # fmt: skip
"""Records that prove something or change what holds, and one of a type that is still to come."""


@pytest.mark.parametrize("wrong", FORGED.values(), ids=FORGED)
def test_what_is_no_record_is_refused_with_its_owner_and_moved_aside(site: Site, wrong: bytes | dict[str, Any]) -> None:
    with held(site):
        pipeline.records.record(site, from_json(READ))
    (name,) = waiting(site)
    path = folder_of(site) / name
    path.write_bytes(wrong if isinstance(wrong, bytes) else audit.canonical({**json.loads(path.read_text()), **wrong}))
    assert pipeline.records.record(site, from_json(READ)).n == 0
    (refused,) = entries(site, "handover.refused")
    assert (refused["file"], refused["owner"]) == (name, refused["user"])
    assert refused["reason"]
    assert waiting(site) == []
    assert [path.name for path in folder_of(site).iterdir()] == [refused["kept"]]
    assert len(entries(site)) == 1


def handed_over(site: Site, record: dict[str, Any]) -> Path:
    """A record in state/handover/, as whoever may write there can put it."""
    stamp = audit.stamp_now()
    told = {"id": "ab" * 16, "record": record, "size": 0, "time": stamp.time, "boot": stamp.boot}
    path = folder_of(site) / f"{told['id']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(audit.canonical({**told, "uptime_us": 1, "host": "here"}))
    return path


@pytest.mark.parametrize("kind", PROOFS)
def test_what_proves_something_is_never_taken_from_the_folder(site: Site, kind: str) -> None:
    path = handed_over(site, {"type": kind, "run": "", **PROOFS[kind]})
    body = path.read_bytes()
    for _ in range(2):
        pipeline.records.record(site, from_json(READ))
    assert not entries(site, kind)
    (refused,) = entries(site, "handover.refused")
    assert (refused["file"], path.exists()) == (path.name, False)
    assert (folder_of(site) / refused["kept"]).read_bytes() == body


@pytest.mark.parametrize("kind", ["exported", "model.admitted"])
def test_what_proves_something_is_not_handed_over_either(site: Site, kind: str) -> None:
    with held(site):
        recorded = pipeline.records.record(site, from_json({"type": kind, "run": "", **PROOFS[kind]}))
        with pytest.raises(ValueError, match="never handed over"):
            hand_over(site, from_json({"type": kind, "run": "", **PROOFS[kind]}))
    assert (recorded.n, recorded.handed, waiting(site)) == (None, False, [])
    assert "held by process" in str(recorded.why)


def test_what_earlier_versions_took_has_no_authority(plan: RunPlan, drop: Any) -> None:
    drop("lease.txt", "The landlord leases the flat to the tenant.")
    pipeline.run(plan, observer=Witness())
    (document,) = entries(plan.site, "document")
    handed = {"id": "ab" * 16, "time": "", "boot": "", "uptime_us": 0, "host": "", "user": ""}
    with held(plan.site) as log:
        for kind, facts in PROOFS.items():
            facts = {**facts, **{key: [document["n"]] for key in ("entries", "archive") if key in facts}}
            if kind != "key.rotated":
                log.commit([{"type": kind, "run": "", "job": "sort", **facts, "handed": handed}])
    assert pipeline.holds(plan.site) == []
    pipeline.run(plan, observer=Witness())
    assert plan.site.key_file.exists()
    report = pipeline.verify(plan.site)
    assert report.complete, report
    assert sum("proves nothing" in note for note in report.notes) == len(PROOFS) - 1
    next(plan.archive.rglob("bytes/*")).unlink()
    assert len(pipeline.verify(plan.site).absent) == 1, "nothing says that it was deleted"


def test_links_pipes_and_foreign_names_are_refused_and_not_followed(site: Site, tmp_path: Path) -> None:
    folder_of(site).mkdir(parents=True)
    (folder_of(site) / "a\x1b[2J.json").symlink_to(site.key_file)
    os.mkfifo(folder_of(site) / "b.json")
    (folder_of(site) / "c.json").mkdir()
    (folder_of(site) / "d.json.tmp").write_text("being written")
    assert pipeline.records.record(site, from_json(READ)).n == 0
    assert [e["file"] for e in entries(site, "handover.refused")] == ["a\\x1b[2J.json", "b.json", "c.json"]
    assert site.key_file.exists()
    kept = [e["kept"] for e in entries(site, "handover.refused")]
    assert {path.name for path in folder_of(site).iterdir()} == {*kept, "d.json.tmp"}
    assert pipeline.records.record(site, from_json(READ)).n == 4, "each is told once"


def test_a_log_that_can_neither_be_written_nor_handed_to_says_why(site: Site) -> None:
    site.state.write_text("no folder")
    with held(site):
        recorded = pipeline.records.record(site, from_json(READ))
    assert recorded.n is None
    assert not recorded.handed
    assert "held by process" in str(recorded.why)
    site.state.unlink()
    (site.audit / "checkpoint").write_bytes(b"forged")
    recorded = pipeline.records.record(site, from_json(READ))
    assert "checkpoint" in str(recorded.why)
    assert not folder_of(site).exists()


@pytest.mark.parametrize(
    "facts", [{"type": "document"}, {"type": "read.results"}, {**READ, "more": 1}, {"type": "no.such"}, {}]
)
def test_commands_make_the_records_of_the_table_only(facts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="record"):
        check_record(facts)


def test_a_run_takes_up_what_is_handed_to_it(plan: RunPlan, drop: Any) -> None:
    drop("lease.txt", "The landlord leases the flat to the tenant.")
    seen: list[pipeline.records.Recorded] = []

    class Reading(Witness):
        def finished(self, path: str, state: str, reason: str | None) -> None:
            seen.append(pipeline.records.record(plan.site, from_json(READ)))

    pipeline.run(plan, observer=Reading())
    assert seen == [pipeline.records.Recorded(handed=True)]
    (entry,) = entries(plan.site)
    (part,) = entries(plan.site, "part")
    assert entry["n"] == part["n"] + 1
    assert waiting(plan.site) == []
    assert pipeline.verify(plan.site).ok


def test_many_are_taken_in_the_order_of_their_times(site: Site) -> None:
    with held(site):
        for number in range(300):
            hand_over(site, from_json({**READ, "limit": number}))
    pipeline.records.record(site, from_json({**READ, "limit": 300}))
    limits = [e["limit"] for e in entries(site)]
    assert (limits[0], sorted(limits)) == (300, list(range(301)))


@pytest.mark.parametrize(
    ("hours", "uptime_s", "boot", "expected"),
    [(0, 0, "a", None), (1, 3600, "a", None), (1, 0, "a", 3600.0), (-1, 10, "a", -3610.0), (5, 0, "b", None),
     (-1, 0, "b", -3600.0), (0, 1, "a", None)],
)  # fmt: skip
def test_a_clock_that_was_set_is_said(
    site: Site, monkeypatch: pytest.MonkeyPatch, hours: int, uptime_s: int, boot: str, expected: float | None
) -> None:
    def stamp(hour: int, seconds: int, boot: str) -> audit.Stamp:
        return audit.Stamp(f"2026-11-20T{hour:02d}:00:00.000000Z", boot, 10**9 + seconds * 10**6, "here", "me")

    monkeypatch.setattr(audit, "stamp_now", lambda: stamp(12, 0, "a"))
    pipeline.records.record(site, from_json(READ))
    monkeypatch.setattr(audit, "stamp_now", lambda: stamp(12 + hours, uptime_s, boot))
    pipeline.records.record(site, from_json(READ))
    steps = entries(site, "clock.stepped")
    assert [step["seconds"] for step in steps] == ([] if expected is None else [expected])
    assert all(step["before"] == "2026-11-20T12:00:00.000000Z" for step in steps)


def test_the_log_is_waited_for_as_long_as_is_asked(site: Site) -> None:
    with held(site) as log:
        with pytest.raises(audit.LogHeld), open_journal(site, wait=0.01):
            pass
        timer = threading.Timer(0.3, log.close)
        timer.start()
        with open_journal(site, wait=60) as journal:
            assert journal.commit([AsItIs({"type": "other", "run": ""})]) == 0
        timer.join()


def test_a_link_in_the_place_of_the_folder_reaches_nothing(site: Site, tmp_path: Path) -> None:
    """Whoever may write to state/ gets no file of another folder renamed or removed, nor a record put there."""
    with held(site):
        pipeline.records.record(site, from_json(READ))
    (tmp_path / "other").mkdir()
    (record,) = folder_of(site).iterdir()
    record.rename(tmp_path / "other" / record.name)
    folder_of(site).rmdir()
    folder_of(site).symlink_to(tmp_path / "other")
    (tmp_path / "other" / "reason.json").write_bytes(b"{}")
    there = sorted(path.name for path in (tmp_path / "other").iterdir())
    with held(site):
        told = pipeline.records.record(site, from_json(READ))
    assert not told.handed
    assert "nor can it be handed over" in (told.why or "")
    assert pipeline.records.record(site, from_json(READ)) == pipeline.records.Recorded(n=0)
    assert sorted(path.name for path in (tmp_path / "other").iterdir()) == there
