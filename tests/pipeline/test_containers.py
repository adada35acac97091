"""Documents inside documents: each has a row, in order, whatever was killed when and whatever they claim to be."""

import hashlib
import io
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
import engine
import pipeline
from pipeline import Failure, RunPlan
from tests.pipeline.conftest import Witness, make_plan, make_site

Drop = Callable[[str, bytes | str], Path]
LEASE = b"The landlord leases the flat to the tenant."
INVOICE = b"Invoice 2026-17. Total due: EUR 120.00."


def zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 22, 0, 0, 0)), body)
    return buffer.getvalue()


def go(plan: RunPlan) -> pipeline.RunReport:
    return pipeline.run(plan, observer=Witness())


def rows(plan: RunPlan) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in pipeline.results(plan.site, plan.job)}


def states(plan: RunPlan) -> dict[str, str]:
    return {path: row["failure"] or row["state"] for path, row in rows(plan).items()}


def test_each_document_of_an_archive_has_a_row(plan: RunPlan, drop: Drop) -> None:
    drop("post.zip", zipped({"a/lease.txt": LEASE, "invoice.txt": INVOICE, "broken.pdf": b"%PDF-1.7\nbroken"}))
    report = go(plan)
    assert states(plan) == {
        "post.zip": "done",
        "post.zip!/a/lease.txt": "done",
        "post.zip!/invoice.txt": "done",
        "post.zip!/broken.pdf": "corrupt",
    }
    assert report.seen == 4
    found = rows(plan)
    archive = found["post.zip"]["document"]
    assert {row["parent"] for path, row in found.items() if "!/" in path} == {archive}
    assert found["post.zip"]["parent"] is None
    assert found["post.zip"]["label"] is None
    kept = plan.archive / found["post.zip!/a/lease.txt"]["document"][:2] / found["post.zip!/a/lease.txt"]["document"]
    assert (kept / "bytes" / "lease.txt").read_bytes() == LEASE
    assert (plan.failed / "post.zip!" / "broken.pdf").read_bytes() == b"%PDF-1.7\nbroken"
    assert not any(plan.input.folder.iterdir())
    assert not list(plan.site.root.rglob(".staging"))
    assert pipeline.verify(plan.site).ok


def test_archives_in_archives_to_a_limit(plan: RunPlan, drop: Drop) -> None:
    body = zipped({"deep.txt": LEASE})
    for level in range(5, 0, -1):
        body = zipped({f"{level}.zip": body})
    drop("0.zip", body)
    go(plan)
    found = states(plan)
    bombs = [path for path, state in found.items() if state == "bomb"]
    assert len(bombs) == 1
    assert bombs[0].count("!/") == 5
    assert not any(path.endswith("deep.txt") for path in found)
    assert pipeline.verify(plan.site).ok


def test_limits_count_over_the_whole_tree(plan: RunPlan, drop: Drop) -> None:
    limits = replace(plan.site.limits, unpacked_documents=10)
    plan = replace(plan, site=replace(plan.site, limits=limits))
    inner = {
        f"{number}.zip": zipped({f"{number}-{i}.txt": b"text %d %d" % (number, i) for i in range(3)})
        for number in range(4)
    }
    drop("many.zip", zipped(inner))
    go(plan)
    found = states(plan)
    assert [path for path, state in found.items() if state == "bomb"] == ["many.zip!/2.zip", "many.zip!/3.zip"]
    assert sum(path.endswith(".txt") for path in found) == 6


def test_an_archive_that_holds_itself_ends(plan: RunPlan, drop: Drop) -> None:
    """Droste: not by the same bytes, which only a clever file has, but by copies in copies."""
    inner = zipped({"lease.txt": LEASE})
    drop("outer.zip", zipped({"a.zip": inner, "b.zip": inner, "lease.txt": LEASE}))
    go(plan)
    assert states(plan) == {
        "outer.zip": "done",
        "outer.zip!/a.zip": "done",
        "outer.zip!/a.zip!/lease.txt": "done",
        "outer.zip!/b.zip": "duplicate",
        "outer.zip!/lease.txt": "duplicate",
    }
    assert pipeline.verify(plan.site).ok


def test_the_first_in_order_is_the_document_however_fast_parsers_are(plan: RunPlan, drop: Drop) -> None:
    """b.txt is parsed long before the archive, which is first in order, has given the same bytes."""
    drop("a.zip", zipped({"inner.zip": zipped({"lease.txt": LEASE})}))
    drop("b.txt", LEASE)
    go(plan)
    found = rows(plan)
    assert found["b.txt"]["state"] == "duplicate"
    assert found["b.txt"]["duplicate_of"] == "a.zip!/inner.zip!/lease.txt"
    assert pipeline.verify(plan.site).ok


def test_names_that_lead_away_are_rows_and_files_inside_the_workspace(plan: RunPlan, drop: Drop) -> None:
    drop("evil.zip", zipped({"../../../outside.txt": LEASE, "/etc/passwd": INVOICE, "fine.txt": b"fine text"}))
    go(plan)
    found = states(plan)
    assert sorted(found.values()) == ["done", "done", "name_refused", "name_refused"]
    assert all(path.is_relative_to(plan.failed) for path in plan.site.root.parent.rglob("outside.txt*"))
    kept = {path.read_bytes() for path in plan.failed.rglob("*") if path.is_file()}
    assert {LEASE, INVOICE} <= kept
    assert pipeline.verify(plan.site).ok


def test_an_attachment_is_a_document_beside_its_mail(plan: RunPlan, drop: Drop) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo("x/lease.txt")
        info.size = len(LEASE)
        archive.addfile(info, io.BytesIO(LEASE))
    drop("post.tgz", buffer.getvalue())
    go(plan)
    assert [path for path, state in states(plan).items() if state == "done"][-1].endswith("x/lease.txt")
    assert pipeline.verify(plan.site).ok


def test_a_kept_archive_is_known_with_everything_in_it(plan: RunPlan, drop: Drop) -> None:
    plan = replace(plan, input=replace(plan.input, afterwards="keep"))
    drop("post.zip", zipped({"lease.txt": LEASE}))
    assert go(plan).counts["done"] == 2
    again = go(plan)
    assert (again.seen, again.known) == (1, 1)


def test_a_disk_that_is_full_stops_the_run(plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full")
    monkeypatch.setattr("pipeline.inbox.reader.tempfile.TemporaryFile", lambda **_: full.open("wb", buffering=0))
    drop("post.zip", zipped({"lease.txt": LEASE}))
    with pytest.raises(OSError, match="while a document was unpacked"):
        go(plan)
    monkeypatch.undo()
    assert go(plan).counts["done"] == 2


def copies(tmp_path: Path, tiny_model: Path, rule: str) -> RunPlan:
    plan = make_plan(make_site(tmp_path / "ws"), tiny_model)
    plan = replace(plan, input=replace(plan.input, duplicates=rule))
    for name in ("a.txt", "b.txt"):
        (plan.input.folder / name).write_bytes(LEASE)
    (plan.input.folder / "c.zip").write_bytes(zipped({"lease.txt": LEASE}))
    return plan


@pytest.mark.parametrize("rule", ["skip", "process", "warn"])
def test_copies_by_the_rule_of_the_job(tmp_path: Path, tiny_model: Path, rule: str) -> None:
    plan = copies(tmp_path, tiny_model, rule)
    go(plan)
    found = rows(plan)
    assert len(found) == 4
    copy = found["b.txt"]
    assert copy["state"] == ("duplicate" if rule == "skip" else "done")
    assert found["c.zip!/lease.txt"]["state"] == copy["state"]
    assert (copy["notes"] or []) == (["the same bytes as a.txt"] if rule == "warn" else [])
    assert copy["duplicate_of"] == ("a.txt" if rule == "skip" else None)
    assert not any(plan.input.folder.iterdir())
    assert pipeline.verify(plan.site).ok
    (plan.input.folder / "a.txt").write_bytes(LEASE)
    again = go(plan)
    assert again.counts["duplicate" if rule == "skip" else "done"] == 1
    assert len(rows(plan)) == 4
    if rule != "skip":
        assert rows(plan)["a.txt"]["supersedes"] == found["a.txt"]["audit_index"]
    assert pipeline.verify(plan.site).ok


def test_the_log_knows_what_was_inside_what(plan: RunPlan, drop: Drop) -> None:
    drop("post.zip", zipped({"lease.txt": LEASE}))
    go(plan)
    entries = [e for _, e in audit.read_entries(plan.site.audit, plan.site.public_key) if e["type"] == "document"]
    inner, outer = entries
    assert inner["parent"] == outer["document"]
    assert outer["parent"] is None


def test_a_good_file_does_not_fail_of_the_name_of_a_copy(plan: RunPlan, drop: Drop) -> None:
    drop("evil.zip", zipped({"../lease.txt": LEASE}))
    drop("good.txt", LEASE)
    go(plan)
    assert states(plan) == {"evil.zip": "done", "evil.zip!/../lease.txt": "name_refused", "good.txt": "done"}
    assert [path.read_bytes() for path in plan.failed.rglob("*.txt")] == [LEASE]
    assert go(replace(plan, retry=frozenset(Failure))).seen == 0


def test_paths_that_look_alike(plan: RunPlan, drop: Drop) -> None:
    """A folder beside an archive, and one in it, that are called as its inside; the same bytes, and others."""
    inner = zipped({"lease.txt": LEASE})
    drop("a.zip", zipped({"x.zip": inner, "x.zip!/lease.txt": LEASE, "broken.pdf": b"%PDF-1.7\nbroken"}))
    for name, body in {"x.zip": inner, "x.zip!/lease.txt": LEASE, "broken.pdf": b"%PDF-1.7\nother"}.items():
        drop(f"a.zip!/{name}", body)
    plan = replace(plan, input=replace(plan.input, duplicates="process"))
    report = go(plan)
    assert (report.counts["done"], report.counts["failed"], report.seen) == (7, 2, 9)
    assert "a.zip!/x.zip!_/lease.txt" in states(plan)
    assert len([path for path in plan.failed.rglob("broken.pdf") if path.is_file()]) == 2
    assert not any(path.is_file() for path in plan.input.folder.rglob("*"))
    assert pipeline.verify(plan.site).ok


def test_a_failed_container_and_what_failed_in_it_are_taken_up_together(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive failed after one of its documents had failed in a run that was cut off."""
    drop("post.zip", zipped({"a.txt": LEASE * 10, "b.txt": INVOICE, "c.txt": LEASE}))
    few = replace(plan.site.limits, output_characters=100)
    witness, cut_off = Witness(), replace(plan, site=replace(plan.site, limits=few))
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["pipeline.answer.compute"], "BATCH_DOCUMENTS", 1)
        pipeline.run(cut_off, observer=witness, stop=lambda: bool(witness.states))
    assert states(plan) == {"post.zip!/a.txt": "too_large"}
    go(replace(plan, site=replace(plan.site, limits=replace(few, unpacked_documents=2))))
    assert states(plan) == {"post.zip!/a.txt": "too_large", "post.zip": "bomb"}
    again = go(replace(plan, retry=frozenset(Failure)))
    assert (again.counts["done"], again.counts["ignored"], again.seen) == (4, 1, 5)
    assert set(states(plan).values()) == {"done"}
    assert not any(path.is_file() for path in plan.failed.rglob("*"))


def test_what_is_left_to_unpack_is_the_same_after_a_stop(tmp_path: Path, tiny_model: Path) -> None:
    inner = {f"{i}.zip": zipped({f"{i}-{j}.txt": b"text %d %d" % (i, j) for j in range(3)}) for i in range(4)}
    found = []
    for stops in (0, 9, 12):
        plan = make_plan(make_site(tmp_path / str(stops)), tiny_model)
        plan = replace(plan, site=replace(plan.site, limits=replace(plan.site.limits, unpacked_documents=10)))
        (plan.input.folder / "many.zip").write_bytes(zipped(inner))
        if stops:
            asked = iter(range(100))
            left = pipeline.run(plan, observer=Witness(), stop=lambda asked=asked, n=stops: next(asked) > n)  # type: ignore[misc]
            assert left.counts["pending"] > 0
        go(plan)
        found.append({path: (row["state"], row["reason"]) for path, row in rows(plan).items()})
    assert found[0] == found[1] == found[2]
    assert [path for path, (state, _) in found[0].items() if state == "failed"] == [
        "many.zip!/2.zip",
        "many.zip!/3.zip",
    ]


def test_rows_are_the_same_with_any_number_of_parsers(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left to unpack, and which copy is the document, are no matter of speed."""
    inner = zipped({"1.txt": b"one text", "2.txt": LEASE})
    post = {
        "a.zip": inner,
        "b.zip": zipped({"3.txt": b"three", "4.txt": LEASE, "c.zip": inner}),
        "z.zip": zipped({"5.txt": INVOICE, "6.txt": b"six"}),
    }
    found = []
    for workers in (1, 2, 4):
        monkeypatch.setattr(engine, "threads", lambda workers=workers: workers)
        plan = make_plan(make_site(tmp_path / str(workers)), tiny_model)
        plan = replace(plan, site=replace(plan.site, limits=replace(plan.site.limits, unpacked_documents=9)))
        (plan.input.folder / "post.zip").write_bytes(zipped(post))
        (plan.input.folder / "lease.txt").write_bytes(LEASE)
        go(plan)
        found.append({path: (row["state"], row["reason"], row["duplicate_of"]) for path, row in rows(plan).items()})
    assert found[0] == found[1] == found[2]
    assert found[0]["post.zip!/z.zip"][0] == "failed"


def test_a_document_that_is_called_as_a_folder_of_ours(plan: RunPlan, drop: Drop) -> None:
    """Its failed copy would stand where another one needs a folder of its own, and nothing could be committed."""
    bodies = [b"%PDF-1.7\nbroken" + bytes([i]) for i in range(3)]
    drop(f"~{hashlib.sha256(bodies[2]).hexdigest()}", bodies[0])
    drop(f"~{hashlib.sha256(bodies[2]).hexdigest()[:16]}", bodies[0] + b"!")
    drop("x.zip", zipped({"x": bodies[1], "x/y": bodies[2]}))
    go(plan)
    kept = {path.read_bytes() for path in plan.failed.rglob("*") if path.is_file()}
    assert {*bodies, bodies[0] + b"!"} <= kept


def test_a_large_archive_ahead_of_its_turn_is_read_again(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.inbox.feed._AHEAD_UNPACKED", 1000)
    drop("a.txt", INVOICE)
    drop("b.zip", zipped({"large.txt": LEASE * 100}))
    go(plan)
    assert set(states(plan).values()) == {"done"}


def test_an_archive_that_comes_again_under_another_name(plan: RunPlan, drop: Drop) -> None:
    body = zipped({"a.txt": LEASE, "b.pdf": b"%PDF-1.7\nbroken"})
    drop("1.zip", body)
    drop("2.zip", body)
    assert go(plan).counts["duplicate"] == 1
    drop("3.zip", body)
    assert (go(plan).counts["duplicate"], go(plan).seen) == (1, 0)
    answering = replace(plan, input=replace(plan.input, duplicates="process"))
    for _ in range(2):
        drop("3.zip", body)
        report = go(answering)
        assert (report.counts["done"], report.counts["failed"], report.seen) == (2, 1, 3)
    assert pipeline.verify(plan.site).ok


def test_an_archive_replaced_by_another_while_nobody_ran(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop("post.zip", zipped({"a.txt": LEASE, "b.txt": INVOICE}))
    witness = Witness()
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["pipeline.answer.compute"], "BATCH_DOCUMENTS", 1)
        report = pipeline.run(plan, observer=witness, stop=lambda: bool(witness.states))
    assert (report.counts["done"], report.counts["pending"]) == (1, 2)
    drop("post.zip", zipped({"a.txt": LEASE, "b.txt": b"Another invoice."}))
    report = go(plan)
    assert (report.counts["done"], report.counts["duplicate"], report.seen) == (2, 1, 3)
    assert pipeline.verify(plan.site).ok


def test_an_engine_that_breaks_inside_an_archive(plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    drop("post.zip", zipped({"a.txt": LEASE, "b.txt": INVOICE}))

    def broken(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(engine.Model, "embed", broken)
        with pytest.raises(MemoryError):
            go(plan)
    assert not list(plan.site.root.rglob(".staging"))
    assert go(plan).counts["done"] == 3
