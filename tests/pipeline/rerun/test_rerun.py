"""Archived documents are answered again by today's settings: which are taken or left, and what takes whose place."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

import audit
import engine
import pipeline
from pipeline import Failure, Review, RunPlan
from pipeline.answer import compute
from pipeline.inbox.intake import ALTERED, GONE
from pipeline.keep.retention import Shelf
from pipeline.plan import Rerun, Retention
from pipeline.proof.choose import Choice
from pipeline.records import index
from pipeline.records.entries import fold, read_entries
from pipeline.records.types import Document, RunStarted
from pipeline.tasks import Label
from tests.models import write_bert_folder
from tests.pipeline.conftest import TASK, Witness
from tests.pipeline.outbox.test_recover import tree
from tests.pipeline.test_containers import INVOICE, LEASE, go, rows, states, zipped
from tests.pipeline.test_window import MORNING, Clock

Drop = Callable[[str, bytes | str], Path]
OTHER = replace(TASK, labels=(TASK.labels[0], Label("invoice", "a bill for goods that were delivered")))
STRICT = replace(TASK, threshold=1.0)


def rerun(plan: RunPlan, witness: Witness | None = None, **asked: Any) -> pipeline.RunReport:
    return pipeline.run(replace(plan, rerun=Rerun(**asked)), observer=witness or Witness())


def changed(plan: RunPlan) -> RunPlan:
    return replace(plan, task=OTHER)


def made(plan: RunPlan) -> list[tuple[str, int | None]]:
    """The rows that the last run made: path, and the entry whose row it took the place of."""
    entries = list(read_entries(plan.site))
    last = [entry.run for entry in entries if isinstance(entry, RunStarted)][-1]
    return [(e.path, e.supersedes) for e in entries if isinstance(e, Document) and e.run == last]


def numbers(plan: RunPlan) -> dict[str, int]:
    return {path: row["audit_index"] for path, row in rows(plan).items()}


def left(report: pipeline.RunReport) -> dict[str, str]:
    return dict(report.ignored)


def replayed(plan: RunPlan) -> dict[str, int]:
    """How often each verdict fell when all rows were computed again."""
    plan.site.models.mkdir()
    shutil.copy(plan.model.path, plan.site.models / "tiny.gguf")
    return {verdict: count for verdict, count in pipeline.replay(plan.site, Choice()).counts.items() if count}


@pytest.fixture
def ran(plan: RunPlan, drop: Drop) -> RunPlan:
    """A job that has answered three documents."""
    drop("a/lease.txt", LEASE)
    drop("b/invoice.txt", INVOICE)
    drop("b/other.txt", INVOICE + b" Another one.")
    go(plan)
    return plan


def test_rows_of_other_settings_get_another_in_their_place(ran: RunPlan) -> None:
    before, kept = numbers(ran), tree(ran.archive)
    plan = changed(ran)
    report = rerun(plan)
    assert (report.seen, report.counts["done"], report.known) == (3, 3, 0)
    assert report.rerun == pipeline.report.Rerunning({"settings": 3}, 0, continued=False)
    assert made(plan) == list(before.items())  # in the order of their rows
    assert len({row["job_digest"] for row in rows(plan).values()}) == 1
    assert tree(ran.archive) == kept
    assert rerun(plan).seen == 0
    check = pipeline.verify(plan.site)
    assert (check.ok, check.absent) == (True, ())
    assert replayed(plan) == {pipeline.proof.Verdict.IDENTICAL: 6}


def test_the_log_says_what_was_asked_for(ran: RunPlan) -> None:
    rerun(changed(ran), states=("done",), folder="b", sample=5, seed="x")
    (asked,) = [entry.rerun for entry in read_entries(ran.site) if isinstance(entry, RunStarted) and entry.rerun]
    assert (asked.states, asked.sample, asked.seed, asked.everything) == (("done",), 5, "x", False)
    assert asked.query == {"labels": [], "folder": "b", "night": None, "text": None}
    assert [path for path, _ in made(ran)] == ["b/invoice.txt", "b/other.txt"]


def test_todays_settings_are_left_unless_all_is_asked_for(ran: RunPlan) -> None:
    report = rerun(ran)
    assert (report.seen, report.rerun) == (0, pipeline.report.Rerunning({}, 3, continued=False))
    report = rerun(ran, everything=True)
    assert (report.counts["done"], report.rerun) == (
        3,
        pipeline.report.Rerunning({"everything": 3}, 0, continued=False),
    )


def test_by_state_label_text_and_night(ran: RunPlan, drop: Drop) -> None:
    found = rows(ran)
    label = found["a/lease.txt"]["label"]
    drop("odd.txt", LEASE + b" And more of it.")
    go(replace(ran, task=STRICT))
    assert states(ran)["odd.txt"] == "abstained"
    plan = changed(ran)
    assert pipeline.rerun.foresee_rerun(replace(plan, rerun=Rerun(states=("abstained",)))).paths == ("odd.txt",)
    assert pipeline.rerun.foresee_rerun(replace(plan, rerun=Rerun(text="OTHER"))).paths == ("b/other.txt",)
    labelled = {path for path, row in rows(ran).items() if row["label"] == label and row["state"] == "done"}
    assert (
        set(pipeline.rerun.foresee_rerun(replace(plan, rerun=Rerun(labels=(label,), states=("done",)))).paths)
        == labelled
    )
    assert pipeline.rerun.foresee_rerun(replace(plan, rerun=Rerun(night="2020-01-01"))).paths == ()
    rerun(plan, states=("abstained",))
    assert [path for path, _ in made(plan)] == ["odd.txt"]


def test_what_waits_in_the_folder_stays_there(ran: RunPlan, drop: Drop) -> None:
    again = drop("a/lease.txt", LEASE)
    new = drop("new.txt", LEASE + b" New.")
    rerun(changed(ran))
    assert again.exists()
    assert new.exists()


def test_a_sample_is_the_same_by_its_seed_and_goes_on(
    ran: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute, "BATCH_DOCUMENTS", 2)
    for i in range(20):
        drop(f"{i}.txt", LEASE + f" Number {i}.".encode())
    go(ran)
    plan = replace(changed(ran), part_documents=2)
    whole = pipeline.rerun.foresee_rerun(replace(plan, rerun=Rerun(sample=8, seed="s")))
    assert len(whole.paths) == 8
    witness = Witness()
    report = pipeline.run(
        replace(plan, rerun=Rerun(sample=8, seed="s")), observer=witness, stop=lambda: len(witness.states) > 2
    )
    assert report.interrupted
    first = [path for path, _ in made(plan)]
    assert 0 < len(first) < 8
    again = rerun(plan, sample=8, seed="s")
    assert again.rerun is not None
    assert (again.rerun.continued, again.seen) == (True, 8 - len(first))
    assert [*first, *(path for path, _ in made(plan))] == list(whole.paths)
    assert rerun(plan, sample=8, seed="s").rerun != again.rerun  # it had come to its end


def test_a_sample_without_a_seed_goes_on_too(ran: RunPlan) -> None:
    plan = replace(changed(ran), part_documents=1)
    report = pipeline.run(replace(plan, rerun=Rerun(sample=2)), observer=Witness(), stop=lambda: True)
    assert report.interrupted
    assert rerun(plan, sample=2).counts["done"] == 2
    assert rerun(plan, sample=2).counts["done"] == 1


def test_what_is_not_in_the_archive_as_it_was_is_told_and_left(ran: RunPlan) -> None:
    found = {path: row["document"] for path, row in rows(ran).items()}
    before = numbers(ran)
    folder = {path: ran.archive / sha256[:2] / sha256 / "bytes" for path, sha256 in found.items()}
    (folder["a/lease.txt"] / "lease.txt").unlink()
    (folder["b/invoice.txt"] / "invoice.txt").write_bytes(INVOICE.replace(b"120", b"999"))
    (folder["b/other.txt"] / "other.txt").write_bytes(b"longer or shorter")
    report = rerun(changed(ran))
    assert (report.seen, report.counts["ignored"], report.known) == (3, 3, 0)
    assert left(report) == {"a/lease.txt": GONE, "b/invoice.txt": ALTERED, "b/other.txt": ALTERED}
    assert numbers(ran) == before
    told = [entry for entry in read_entries(ran.site) if entry.type == "inputs"]
    assert {path for entry in told for path in entry.said["paths"]} == set(found)


def test_what_is_held_erased_or_too_large_is_told_and_left(ran: RunPlan) -> None:
    held = pipeline.hold(ran.site, "a/lease.txt", "case 12")
    erased = pipeline.erase(ran.site, "b/invoice.txt", "request 7", archive=True)
    plan = changed(ran)
    plan = replace(plan, site=replace(plan.site, max_document_bytes=len(LEASE) + 8))
    report = rerun(plan)
    assert left(report) == {
        "a/lease.txt": f"entry {held.number} holds it: case 12",
        "b/invoice.txt": f"its bytes were deleted, as entry {erased.number} says",
        "b/other.txt": f"it has {len(INVOICE) + 13} bytes; limits.document_mib allows {len(LEASE) + 8}",
    }
    pipeline.release(ran.site, "a/lease.txt", None, "closed")
    assert rerun(plan).counts["done"] == 1
    assert pipeline.verify(ran.site).ok


def test_copies_follow_their_original(ran: RunPlan, drop: Drop) -> None:
    drop("copy.txt", LEASE)
    go(ran)
    before = rows(ran)
    rerun(changed(ran))
    after = rows(ran)
    assert after["copy.txt"]["audit_index"] == before["copy.txt"]["audit_index"]
    assert after["copy.txt"]["duplicate_of"] == "a/lease.txt"
    assert after["a/lease.txt"]["supersedes"] == before["a/lease.txt"]["audit_index"]


@pytest.mark.parametrize("rule", ["process", "warn"])
def test_each_copy_that_has_an_answer_gets_another(plan: RunPlan, drop: Drop, rule: str) -> None:
    plan = replace(plan, input=replace(plan.input, duplicates=rule))
    drop("a.txt", LEASE)
    drop("b.txt", LEASE)
    go(plan)
    before = numbers(plan)
    assert rerun(changed(plan)).counts["done"] == 2
    assert dict(made(plan)) == before
    notes = [row["notes"] for row in rows(plan).values()]
    assert notes == [[], [] if rule == "process" else ["the same bytes as a.txt"]]
    assert replayed(plan) == {pipeline.proof.Verdict.IDENTICAL: 4}


def test_a_job_that_answers_copies_no_longer_answers_the_first_of_them(plan: RunPlan, drop: Drop) -> None:
    twice = replace(plan, input=replace(plan.input, duplicates="process"))
    drop("a.txt", LEASE)
    drop("b.txt", LEASE)
    go(twice)
    report = rerun(changed(plan))
    assert (report.counts["done"], left(report)) == (1, {"b.txt": "the same bytes as a.txt"})
    report = rerun(changed(plan))
    number = numbers(plan)["a.txt"]
    assert left(report) == {"b.txt": f"the same bytes as the document of row {number}, which has an answer"}
    assert set(rows(plan)) == {"a.txt", "b.txt"}


def test_containers_and_what_is_in_them_are_answered_by_themselves(plan: RunPlan, drop: Drop) -> None:
    mail = EmailMessage()
    mail["Subject"] = "Rent"
    mail.set_content("The landlord asks for the rent of the flat.")
    mail.add_attachment(INVOICE, maintype="text", subtype="plain", filename="invoice.txt")
    drop("post.zip", zipped({"mail.eml": mail.as_bytes(), "lease.txt": LEASE}))
    go(plan)
    before = rows(plan)
    assert len(before) == 4
    report = rerun(changed(plan))
    assert (report.seen, report.counts["done"]) == (4, 4)
    after = rows(plan)
    assert dict(made(plan)) == {path: row["audit_index"] for path, row in before.items()}
    same = ("path", "parent", "document", "notes", "text_sha256", "state", "reason")
    assert {p: [row[each] for each in same] for p, row in after.items()} == {
        p: [row[each] for each in same] for p, row in before.items()
    }
    assert rerun(changed(plan)).seen == 0
    assert replayed(plan) == {pipeline.proof.Verdict.IDENTICAL: 8}
    inner = rerun(plan, folder="post.zip!/mail.eml!")
    assert [path for path, _ in made(plan)] == ["post.zip!/mail.eml!/invoice.txt"]
    assert inner.counts["done"] == 1
    assert pipeline.verify(plan.site).ok


def test_what_a_person_decided_stays_unless_it_is_asked_for(ran: RunPlan) -> None:
    before = numbers(ran)
    pipeline.decide(ran.site, Review("sort", before["a/lease.txt"], "corrected", "Ada", None, {"label": "invoice"}))
    pipeline.decide(ran.site, Review("sort", before["b/other.txt"], "rejected", "Bob"))
    report = rerun(changed(ran))
    assert left(report) == {
        "a/lease.txt": "Ada corrected it; --decided answers it again, too",
        "b/other.txt": "Bob rejected it; --decided answers it again, too",
    }
    assert (rows(ran)["a/lease.txt"]["label"], rows(ran)["b/other.txt"]["state"]) == ("invoice", "rejected")
    decided = numbers(ran)
    assert rerun(changed(ran), decided=True).counts["done"] == 2
    assert dict(made(ran)) == {path: decided[path] for path in ("a/lease.txt", "b/other.txt")}
    assert rows(ran)["b/other.txt"]["review"] is None
    assert pipeline.verify(ran.site).ok


def test_what_a_person_decides_while_it_goes_on_stays(ran: RunPlan) -> None:
    """The decision waits for the run, which takes it up after its first part, when the second row is computed."""
    before = numbers(ran)

    class Deciding(Witness):
        decided = False

        def note(self, event: str, **facts: str | int | float | None) -> None:
            super().note(event, **facts)
            if (
                event == "part committed"
                and not pipeline.review.reviews_waiting(ran.site)
                and "b/other.txt" in self.states
            ):
                review = Review("sort", before["b/other.txt"], "rejected", "Ada", "no document")
                assert self.decided or pipeline.decide(ran.site, review).waits
                self.decided = True

    witness = Deciding()
    report = rerun(replace(changed(ran), part_documents=1), witness)
    assert (report.seen, report.counts["done"], report.counts["ignored"]) == (3, 2, 1)
    assert list(left(report)) == ["b/other.txt"]
    assert "a person decided on it" in left(report)["b/other.txt"]
    row = rows(ran)["b/other.txt"]
    assert (row["state"], row["review"]["by"]) == ("rejected", "Ada")
    assert pipeline.verify(ran.site).ok


def test_one_that_fails_now_says_so_and_can_be_taken_up(ran: RunPlan) -> None:
    tight = changed(ran)
    tight = replace(tight, site=replace(tight.site, limits=replace(tight.site.limits, output_characters=45)))
    report = rerun(tight)
    assert {path for path, _, _ in report.failed} == {"b/other.txt"}
    assert states(ran)["b/other.txt"] == "too_large"
    assert pipeline.verify(ran.site).ok
    assert go(replace(changed(ran), retry=frozenset(Failure))).counts["done"] == 1
    assert states(ran)["b/other.txt"] == "done"
    check = pipeline.verify(ran.site)
    assert (check.ok, check.absent) == (True, ())


def test_the_archive_is_kept_no_longer_for_it(ran: RunPlan) -> None:
    def touched() -> dict[str, str]:
        return fold(read_entries(ran.site), Shelf("sort")).touched

    before = touched()
    rerun(changed(ran))
    assert touched() == before
    go(replace(ran, retention=Retention(archive_days=0)))
    assert not tree(ran.archive)
    assert pipeline.verify(ran.site).ok


def test_a_private_job(plan: RunPlan, drop: Drop) -> None:
    plan = replace(plan, private=True)
    drop("Anna Meier/lease.txt", LEASE)
    drop("Bernd Kuhn.txt", INVOICE)
    go(plan)
    before = numbers(plan)
    witness = Witness()
    asked = replace(changed(plan), rerun=Rerun(folder="Anna Meier"))
    assert pipeline.run(asked, observer=witness, stop=lambda: True).interrupted
    report = rerun(changed(plan), folder="Anna Meier")
    assert report.rerun is not None
    assert (report.counts["done"], report.rerun.continued) == (1, True)
    assert made(plan) == [("Anna Meier/lease.txt", before["Anna Meier/lease.txt"])]
    body = b"".join(path.read_bytes() for path in plan.site.audit.rglob("*.jsonl"))
    assert b"Meier" not in body
    assert pipeline.verify(plan.site).ok


def test_another_model_is_told_apart(ran: RunPlan, tmp_path: Path) -> None:
    """The same weights under another name inside the file: other bytes, so another model."""
    folder = write_bert_folder(tmp_path / "hf")
    engine.import_model(folder, tmp_path / "other.gguf", file_type="q8_0", name="another")
    plan = replace(ran, model=pipeline.ModelRef("other", tmp_path / "other.gguf", None))
    assert pipeline.rerun.foresee_rerun(replace(plan, rerun=Rerun())).told.why == {"model": 3}


def test_the_story_of_a_document_has_both_rows(ran: RunPlan) -> None:
    rerun(changed(ran))
    told = pipeline.story(ran.site, "a/lease.txt")
    found = [entry for entry in told.entries if isinstance(entry, Document)]
    assert [entry.supersedes for entry in found] == [None, found[0].n]
    assert audit.read_checkpoint(ran.site.audit, ran.site.public_key).size > found[1].n


def test_a_window_closes_and_the_same_rerun_goes_on(ran: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "BATCH_DOCUMENTS", 2)
    for i in range(100):
        drop(f"{i}.txt", LEASE + f" Number {i}.".encode())
    go(ran)
    plan, witness = replace(changed(ran), rerun=Rerun(everything=True)), Witness()
    report = pipeline.run(replace(plan, until=MORNING), observer=witness, clock=Clock(witness, 10))
    assert (report.window_closed, report.interrupted) == (True, False)
    done = report.counts["done"]
    assert 10 <= done < 103
    assert report.counts["pending"] == 103 - done
    again = pipeline.run(plan, observer=Witness())
    assert again.rerun is not None
    assert (again.rerun.continued, again.counts["done"], again.seen) == (True, 103 - done, 103 - done)
    assert pipeline.verify(plan.site).ok


def test_other_questions_do_not_go_on_with_it(ran: RunPlan) -> None:
    plan = changed(ran)
    assert pipeline.run(replace(plan, rerun=Rerun(everything=True)), observer=Witness(), stop=lambda: True).interrupted
    foreseen = [
        pipeline.rerun.foresee_rerun(replace(its, rerun=Rerun(**asked))).told.continued
        for its, asked in ((plan, {"everything": True}), (plan, {}), (ran, {"everything": True}))
    ]
    assert foreseen == [True, False, False]


def test_a_long_log_remembers_a_rerun_that_was_cut_off(ran: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "LONG", 1)
    plan = replace(changed(ran), rerun=Rerun(sample=2))
    assert pipeline.run(plan, observer=Witness(), stop=lambda: True).interrupted
    go(changed(ran))  # which goes on with the history that the rerun remembered
    assert (ran.site.state / "history" / "sort.sqlite").exists()
    assert pipeline.rerun.foresee_rerun(plan).told.continued
    report = pipeline.run(plan, observer=Witness())
    assert report.rerun is not None
    assert (report.rerun.continued, report.counts["done"]) == (True, 2)
