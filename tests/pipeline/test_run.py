"""Whole runs over a small model: what goes in comes out once, with its entry."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import audit
import engine
import pipeline
from pipeline import ModelRef, ModelRefusedError, RunPlan
from pipeline.tasks import Writing
from tests.encoders import write_encoder
from tests.hidden.pdf_objects import Added, image, say
from tests.pipeline.conftest import Witness, make_plan

Drop = Callable[[str, bytes | str], Path]
LEASE = "The landlord leases the flat to the tenant. The rent is due on the first of the month.\n"
INVOICE = "Invoice 2026-17. Total due: EUR 120.00. Please pay to the account below.\n"


def go(plan: RunPlan, **options: object) -> tuple[pipeline.RunReport, Witness]:
    witness = Witness()
    return pipeline.run(plan, observer=witness, **options), witness  # type: ignore[arg-type]


def entries(plan: RunPlan, kind: str) -> list[dict[str, object]]:
    return [e for _, e in audit.read_entries(plan.site.audit, plan.site.public_key) if e["type"] == kind]


def test_documents_become_rows_entries_and_files(plan: RunPlan, drop: Drop) -> None:
    drop("a/lease.txt", LEASE)
    drop("invoice.md", INVOICE)
    report, witness = go(plan)
    assert report.counts | {} == dict.fromkeys(report.counts, 0) | {"done": 2}
    assert witness.states == {"a/lease.txt": "done", "invoice.md": "done"}
    rows = list(pipeline.results(plan.site, plan.job))
    assert [row["path"] for row in rows] == ["a/lease.txt", "invoice.md"]
    for row, entry in zip(rows, sorted(entries(plan, "document"), key=lambda e: str(e["path"])), strict=True):
        assert row["audit_index"] == entry["n"]
        assert row["document"] == entry["document"]
        assert entry["model_sha256"] == plan.model.sha256 == row["model_sha256"]
        assert {"tokenizer_sha256", "numerics", "software", "engine", "parse_options", "text_sha256"} <= entry.keys()
        text = (plan.archive / row["document"][:2] / row["document"] / "text" / f"{row['text_sha256']}.txt").read_text()
        assert all(text[e["start"] : e["end"]] == e["text"] for e in row["evidence"])
        assert (plan.outbox / "_markdown" / f"{row['path']}.md").read_text().startswith("# ")
    assert not any(path.is_file() for path in plan.input.folder.rglob("*"))
    assert not list(plan.site.root.rglob(".staging"))
    assert pipeline.verify(plan.site).ok


@pytest.mark.parametrize(("rule", "state"), [("drop", "review"), ("review", "review"), ("keep", "done")])
def test_what_may_be_hidden_is_never_done(plan: RunPlan, drop: Drop, rule: str, state: str) -> None:
    """A picture of 3,600 million pixels lies over a text, and cannot be drawn to see whether it hides it."""
    content = say(LEASE.strip().encode()) + b"q 500 0 0 60 50 380 cm /I Do Q"
    pictures = b"/XObject << /I 6 0 R >>"
    drop("lease.pdf", Added(content, pictures, objects=(image(60_000, 60_000, bytes(100)),)).pdf())
    _, witness = go(replace(plan, input=replace(plan.input, hidden=rule)))
    assert witness.states == {"lease.pdf": state}
    (row,) = pipeline.results(plan.site, plan.job)
    assert row["state"] == state
    told = "it may hold what no person sees, which could not be told: too much is drawn to look at it on page 1"
    assert row["reason"] == (told if state == "review" else None)


def test_a_second_run_has_nothing_to_do(plan: RunPlan, drop: Drop) -> None:
    drop("lease.txt", LEASE)
    go(plan)
    report, _ = go(plan)
    assert report.seen == 0
    assert report.parts == ()
    assert len(entries(plan, "document")) == 1


def test_kept_inputs_are_known_the_second_time(plan: RunPlan, drop: Drop) -> None:
    plan = replace(plan, input=replace(plan.input, afterwards="keep"))
    drop("lease.txt", LEASE)
    drop("broken.pdf", b"%PDF-1.7\nbroken")
    first, _ = go(plan)
    assert (first.counts["done"], first.counts["failed"]) == (1, 1)
    second, _ = go(plan)
    assert second.counts["ignored"] == second.known == second.seen == 2
    assert len(entries(plan, "document")) == 2
    assert (plan.input.folder / "lease.txt").exists()


def test_the_same_bytes_are_computed_once(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    drop("b.txt", LEASE)
    report, _ = go(plan)
    assert (report.counts["done"], report.counts["duplicate"]) == (1, 1)
    drop("c.txt", LEASE)
    report, _ = go(plan)
    assert report.counts["duplicate"] == 1
    rows = {row["path"]: row for row in pipeline.results(plan.site, plan.job)}
    assert {path: row["duplicate_of"] for path, row in rows.items()} == {
        "a.txt": None,
        "b.txt": "a.txt",
        "c.txt": "a.txt",
    }
    assert not any(path.is_file() for path in plan.input.folder.rglob("*"))
    assert pipeline.verify(plan.site).ok


def test_a_failed_document_costs_only_itself(plan: RunPlan, drop: Drop) -> None:
    body = b"PK\x03\x04 not really a workbook"
    drop("sub/broken.xlsx", body)
    drop("empty.txt", b"")
    drop("lease.txt", LEASE)
    report, _ = go(plan)
    assert (report.counts["done"], report.counts["failed"]) == (1, 2)
    assert (plan.failed / "sub/broken.xlsx").read_bytes() == body
    reason = json.loads((plan.failed / "sub/broken.xlsx.reason.json").read_text())
    assert reason["failure"] in ("corrupt", "unsupported")
    assert reason["remedy"]
    assert json.loads((plan.failed / "empty.txt.reason.json").read_text())["failure"] == "empty"
    assert pipeline.verify(plan.site).ok


def test_a_failed_document_dropped_again_is_tried_again(plan: RunPlan, drop: Drop) -> None:
    drop("empty.txt", b"")
    go(plan)
    drop("empty.txt", b"")
    report, _ = go(plan)
    assert report.counts["failed"] == 1
    first, second = entries(plan, "document")
    assert second["supersedes"] == first["n"]
    assert [row["audit_index"] for row in pipeline.results(plan.site)] == [second["n"]]


def test_other_settings_compute_again(plan: RunPlan, drop: Drop, site: pipeline.Site, tiny_model: Path) -> None:
    drop("lease.txt", LEASE)
    go(plan)
    drop("lease.txt", LEASE)
    changed = replace(plan, task=replace(plan.task, threshold=0.5))  # type: ignore[type-var]
    report, _ = go(changed)
    assert report.counts["done"] + report.counts["abstained"] == 1
    assert pipeline.verify(plan.site).ok


def test_another_model_is_refused_before_any_document_is_touched(
    plan: RunPlan, drop: Drop, site: pipeline.Site
) -> None:
    path = drop("lease.txt", LEASE)
    pinned = replace(plan, model=replace(plan.model, sha256="0" * 64))
    with pytest.raises(ModelRefusedError, match="pins 0000"):
        go(pinned)
    missing = replace(plan, model=replace(plan.model, path=plan.model.path.with_name("none.gguf")))
    both = "`cloister model import FILE.gguf --name tiny`; a Hugging Face folder does in place of the file$"
    with pytest.raises(ModelRefusedError, match=f"there is no file .*none.gguf; {both}"):
        go(missing)
    with pytest.raises(ModelRefusedError, match=r"none.gguf; `cloister model import FILE.gguf --name tiny`$"):
        go(replace(missing, writing=Writing()))
    near = replace(plan.model, path=plan.model.path.with_name(f"{plan.model.path.stem}x.gguf"))
    with pytest.raises(ModelRefusedError, match=f"did you mean '{plan.model.path.stem}'"):
        go(replace(plan, model=near))
    classifier = write_encoder(site.root / "hf", "bert", "sequence")
    engine.import_model(classifier, site.root / "c.gguf", file_type="q8_0", name="c")
    with pytest.raises(ModelRefusedError, match="has the head 'sequence'; the task classify needs one"):
        go(replace(plan, model=ModelRef("c", site.root / "c.gguf", None)))
    assert path.exists()
    assert not plan.outbox.exists()
    assert not entries(plan, "run.started")


def test_stop_commits_what_is_computed_and_leaves_the_rest(plan: RunPlan, drop: Drop) -> None:
    for i in range(600):
        drop(f"{i:03d}.txt", f"{LEASE} Number {i}.")
    witness = Witness()
    report = pipeline.run(plan, observer=witness, stop=lambda: len(witness.states) >= 100)
    assert report.interrupted
    assert 100 <= report.counts["done"] < 600
    assert report.counts["pending"] == 600 - report.counts["done"] == len(list(plan.input.folder.iterdir()))
    report, _ = go(plan)
    assert not report.interrupted
    assert len(list(pipeline.results(plan.site))) == 600
    assert pipeline.verify(plan.site).ok


def test_stop_is_heard_inside_a_long_document(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    drop("long.txt", LEASE * 10_000)
    plan = replace(plan, part_documents=1)
    pulses: list[int] = []

    class Counting(Witness):
        def note(self, event: str, **facts: str | int | float | None) -> None:
            super().note(event, **facts)
            if event == "computing a long document":
                pulses.append(1)

    witness = Counting()
    report = pipeline.run(plan, observer=witness, stop=lambda: len(pulses) >= 2)
    assert report.interrupted
    assert report.counts["pending"] >= 1
    assert (plan.input.folder / "long.txt").exists()
    assert len(pulses) == 2
    report, _ = go(plan)
    assert len(list(pipeline.results(plan.site))) == 2
    assert pipeline.verify(plan.site).ok


def test_copies_of_a_failed_document_fail_as_they_would_after_a_restart(plan: RunPlan, drop: Drop) -> None:
    for name in ("a.txt", "b.txt"):
        drop(name, b"")
    together, _ = go(plan)
    assert together.counts["failed"] == 2
    first, second = entries(plan, "document")
    assert (second["failure"], second["reason"]) == (first["failure"], first["reason"])
    assert second["supersedes"] is None  # the other one lies in failed/ as well
    assert {path.name for path in plan.failed.iterdir()} >= {"a.txt", "b.txt", "b.txt.reason.json"}
    assert not any(plan.input.folder.iterdir())


def test_the_next_run_tells_of_one_that_was_cut_off(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    drop("b.txt", b"")

    class Dying(Witness):
        def note(self, event: str, **facts: str | int | float | None) -> None:
            if event == "part committed":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pipeline.run(plan, observer=Dying())
    _, witness = go(plan)
    ((_, facts),) = [note for note in witness.notes if note[0] == "recovered"]
    assert "the run before was cut off, with 1 done, 1 failed committed" in str(facts["what"])


def test_an_unsettled_file_is_waited_for_once(plan: RunPlan, drop: Drop) -> None:
    plan = replace(plan, input=replace(plan.input, settle_seconds=0.3))
    drop("lease.txt", LEASE)
    report, witness = go(plan)
    assert report.counts["done"] == 1
    assert "waiting until files are still" in [event for event, _ in witness.notes]


def test_ignored_paths_say_why(plan: RunPlan, drop: Drop) -> None:
    plan = replace(plan, input=replace(plan.input, include=("*.TXT",)))
    drop("lease.txt", LEASE)
    drop("image.png", b"\x89PNG")
    drop(".hidden.txt", LEASE)
    (plan.input.folder / "link.txt").symlink_to("lease.txt")
    report, _ = go(plan)
    assert report.counts["done"] == 1
    assert {path: reason.split(":")[0] for path, reason in report.ignored} == {
        "image.png": "matches none of input.include",
        ".hidden.txt": "a hidden name",
        "link.txt": "not a regular file",
    }


def test_names_of_any_bytes(plan: RunPlan, drop: Drop) -> None:
    import os

    raw = os.fsdecode(b"caf\xe9 \xff.txt")
    drop(raw, LEASE)
    report, witness = go(plan)
    assert witness.states == {"caf\\xe9 \\xff.txt": "done"}
    assert report.counts["done"] == 1
    assert not any(plan.input.folder.iterdir())
    assert pipeline.verify(plan.site).ok


def test_one_job_at_a_time(plan: RunPlan, drop: Drop) -> None:
    drop("lease.txt", LEASE)
    with (
        audit.Log.open(plan.site.audit, key_path=plan.site.key_file, public_key=plan.site.public_key),
        pytest.raises(audit.LogHeld),
    ):
        go(plan)
    assert (plan.input.folder / "lease.txt").exists()


def test_jobs_share_a_log(site: pipeline.Site, tiny_model: Path) -> None:
    for job in ("one", "two"):
        plan = make_plan(site, tiny_model, job)
        (plan.input.folder / "lease.txt").write_text(LEASE)
        report, _ = go(plan)
        assert report.counts["done"] == 1
    assert [job.job for job in pipeline.status(site)] == ["one", "two"]
    assert [row["job"] for row in pipeline.results(site)] == ["one", "two"]
    assert len(pipeline.story(site, "lease.txt").entries) == 2
    with pytest.raises(LookupError, match="knows no document"):
        pipeline.story(site, "nothing.txt")
