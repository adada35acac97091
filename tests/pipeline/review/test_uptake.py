"""Whoever holds the log takes decisions up, each once; what nobody with the key signed for this row is refused."""

import errno
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from pipeline import Review, RunPlan, Site
from pipeline.records import requests
from pipeline.records.entries import read_entries
from pipeline.records.journal import Journal, open_journal
from pipeline.records.requests import Request
from pipeline.records.types import Document, Record, ReviewerKeyAdmitted, ReviewRefused, RunFinished
from pipeline.tasks.correcting import ReviewRefusedError
from tests.pipeline.conftest import Witness, make_plan

Drop = Callable[[str, bytes | str], Path]
LEASE, INVOICE = "The landlord leases the flat to the tenant.", "Invoice 7, total due 12.00 EUR."


@pytest.fixture
def done(plan: RunPlan, drop: Drop) -> RunPlan:
    """A job with two answers, in a workspace that has a key of decisions."""
    drop("lease.txt", LEASE)
    drop("invoice.txt", INVOICE)
    pipeline.run(plan, observer=Witness())
    requests.make_key(plan.site)
    return plan


def of_type(site: Site, kind: type[Record]) -> list[Any]:
    return [entry for entry in read_entries(site) if isinstance(entry, kind)]


def decided(site: Site) -> list[Document]:
    return [entry for entry in of_type(site, Document) if entry.is_decided]


def row(site: Site, path: str) -> dict[str, Any]:
    (found,) = [row for row in pipeline.results(site) if row["path"] == path and row["state"] != "duplicate"]
    return found


def left(site: Site, path: str, action: str = "accepted", by: str = "Ada", **changes: Any) -> Request:
    """A signed request on the row of the document, left for whoever holds the log."""
    seen = row(site, path)
    entry = next(entry for entry in of_type(site, Document) if entry.n == seen["audit_index"])
    request = Request(
        requests.new_id(), entry.job, entry.n, entry.result_sha256, action, by, None, None, audit.stamp_now().time
    )
    request = requests.sign(site, replace(request, **changes))
    requests.leave(site, request)
    return request


def test_a_decision_waits_while_a_run_holds_the_log_and_is_taken_up_after_it(done: RunPlan) -> None:
    site, seen = done.site, row(done.site, "lease.txt")["audit_index"]
    with open_journal(site):
        outcome = pipeline.decide(site, Review("sort", seen, "rejected", "Ada", "wrong"))
        assert (outcome.n, outcome.waits) == (None, True)
        assert pipeline.review.reviews_waiting(site) == [Review("sort", seen, "rejected", "Ada", "wrong")]
        assert decided(site) == []
    assert len(pipeline.review.take_up_reviews(site).rows) == 1
    assert [entry.review.by for entry in decided(site) if entry.review] == ["Ada"]
    assert pipeline.review.reviews_waiting(site) == []
    assert pipeline.verify(site).complete


def test_a_run_takes_up_decisions_of_any_job_and_does_not_count_them(done: RunPlan, drop: Drop) -> None:
    site = done.site
    other = make_plan(site, done.model.path, "other")
    (other.input.folder / "a.txt").write_text(LEASE)
    pipeline.run(other, observer=Witness())
    left(site, "lease.txt")
    left(site, "a.txt", "rejected")
    drop("new.txt", "Another invoice, total due 1.00.")
    witness = Witness()
    report = pipeline.run(done, observer=witness)
    assert report.counts["done"] + report.counts["abstained"] == 1
    assert ("decisions taken up", {"rows": 2, "refused": 0}) in witness.notes
    assert {(entry.job, entry.state) for entry in decided(site)} == {("sort", "done"), ("other", "rejected")}
    finished = of_type(site, RunFinished)[-1]
    assert finished.seen == sum(finished.counts.values()) == 1
    status = {each.job: each for each in pipeline.status(site)}
    assert status["sort"].last_run == report.run
    assert dict(status["sort"].decisions) == {"done": 1}
    assert status["other"].seen == 1
    assert pipeline.verify(site).complete


def test_decisions_are_taken_up_after_each_part(done: RunPlan, drop: Drop) -> None:
    site = done.site
    for number in range(4):
        drop(f"{number}.txt", f"{LEASE} No. {number}.")

    class Deciding(Witness):
        def note(self, event: str, **facts: str | int | float | None) -> None:
            if event == "part committed" and "decided" not in self.states:
                self.states["decided"] = "now"
                left(site, "lease.txt")
            super().note(event, **facts)

    witness = Deciding()
    pipeline.run(replace(done, part_documents=1), observer=witness)
    events = [event for event, _ in witness.notes]
    assert events.index("decisions taken up") < len(events) - 1 - events[::-1].index("part committed")
    assert len(decided(site)) == 1
    assert pipeline.verify(site).complete


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"by": "Eve"}, "no key that the log admits signed it as it is"),
        ({"action": "rejected"}, "no key that the log admits signed it as it is"),
        ({"answer": {"label": "lease"}}, "no key that the log admits signed it as it is"),
        ({"signature": "AAAA"}, "no key that the log admits signed it as it is"),
        ({"of": 1}, "no key that the log admits signed it as it is"),
        ({"seen": "0" * 64}, "no key that the log admits signed it as it is"),
        ({"job": "other"}, "no key that the log admits signed it as it is"),
    ],
)
def test_what_was_changed_after_it_was_signed_is_refused(done: RunPlan, changes: dict[str, Any], why: str) -> None:
    request = left(done.site, "lease.txt")
    requests.leave(done.site, replace(request, **changes))
    taken = pipeline.review.take_up_reviews(done.site)
    assert taken.refused == {f"{request.id}.json": why}
    (refused,) = of_type(done.site, ReviewRefused)
    assert (refused.reason, refused.of, refused.by) == (why, None, None)
    (told,) = pipeline.review.reviews_refused(done.site)
    assert told.why == why
    assert (decided(done.site), requests.waiting(done.site)) == ([], [])
    assert pipeline.verify(done.site).complete


def test_a_key_that_the_log_does_not_admit_signs_nothing(done: RunPlan, tmp_path: Path) -> None:
    """Who can only write state/ makes a key of his own."""
    site = done.site
    forger = replace(site, root=tmp_path / "forger")
    (forger.root / "keys").mkdir(parents=True, mode=0o700)
    audit.generate_key(requests.key_file(forger), f"{site.origin}/review")
    request = requests.sign(forger, replace(left(site, "lease.txt"), by="Eve"))
    requests.leave(site, request)
    assert list(pipeline.review.take_up_reviews(site).refused.values()) == [
        "no key that the log admits signed it as it is"
    ]
    assert decided(site) == []


def test_a_request_that_was_taken_up_is_not_taken_up_again(done: RunPlan) -> None:
    site = done.site
    request = left(site, "lease.txt")
    pipeline.review.take_up_reviews(site)
    requests.leave(site, request)
    (why,) = pipeline.review.take_up_reviews(site).refused.values()
    assert why == f"it was taken up before, as entry {decided(site)[0].n} says"
    (refused,) = of_type(site, ReviewRefused)
    assert (refused.of, refused.by) == (request.of, "Ada")
    assert len(decided(site)) == 1
    story = pipeline.story(site, str(decided(site)[0].document))
    assert [entry.type for entry in story.entries][-2:] == ["document", "review.refused"]


def test_of_two_decisions_on_a_row_the_first_holds(done: RunPlan) -> None:
    site = done.site
    left(site, "lease.txt", "rejected", "Ada", at="2026-11-24T06:00:01.000000Z")
    left(site, "lease.txt", "accepted", "Bob", at="2026-11-24T06:00:00.000000Z")
    left(site, "lease.txt", "accepted", "Cy", at="2026-11-24T06:00:02.000000Z")
    taken = pipeline.review.take_up_reviews(site)
    (entry,) = decided(site)
    assert entry.review is not None
    assert entry.review.by == "Bob"
    assert len(taken.refused) == 2
    why = f"is no longer the one that holds: Bob accepted it, as entry {entry.n} says"
    assert all(each.endswith(why) for each in taken.refused.values())


def test_a_row_that_was_made_anew_is_not_decided_on(done: RunPlan, drop: Drop) -> None:
    site = done.site
    left(site, "lease.txt")
    name = requests.waiting(site)[0]
    kept = (requests.folder_of(site) / name).read_bytes()
    (requests.folder_of(site) / name).unlink()
    drop("lease.txt", LEASE)
    labels = tuple(reversed(done.task.labels))  # type: ignore[attr-defined]
    pipeline.run(replace(done, task=replace(done.task, labels=labels)), observer=Witness())  # type: ignore[type-var]
    (requests.folder_of(site) / name).write_bytes(kept)
    (why,) = pipeline.review.take_up_reviews(site).refused.values()
    assert "is no longer the one that holds: run " in why
    with pytest.raises(ReviewRefusedError, match="no longer the one that holds"):
        pipeline.decide(site, Review("sort", json.loads(kept)["of"], "accepted", "Ada"))


@pytest.mark.parametrize("body", [b"", b"{}", b"no JSON", b"[1]", b"x" * 300_000, b'{"v":1}'])
def test_what_is_no_request_is_moved_aside(done: RunPlan, body: bytes) -> None:
    folder = requests.folder_of(done.site)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{'0' * 32}.json").write_bytes(body)
    (folder / "deep.json").mkdir()
    (folder / "link.json").symlink_to("/etc/passwd")
    taken = pipeline.review.take_up_reviews(done.site)
    assert taken.refused.keys() == {f"{'0' * 32}.json", "deep.json", "link.json"}
    assert requests.waiting(done.site) == []
    assert len(of_type(done.site, ReviewRefused)) == 3
    assert pipeline.review.take_up_reviews(done.site).refused == {}


def test_a_new_key_takes_the_place_of_the_one_before(done: RunPlan) -> None:
    site = done.site
    pipeline.decide(site, Review("sort", row(site, "lease.txt")["audit_index"], "accepted", "Ada"))
    waiting = left(site, "invoice.txt")
    requests.key_file(site).unlink()
    requests.make_key(site)
    assert pipeline.review.take_up_reviews(site).refused.keys() == {f"{waiting.id}.json"}
    assert len(of_type(site, ReviewerKeyAdmitted)) == 2
    pipeline.decide(site, Review("sort", row(site, "invoice.txt")["audit_index"], "rejected", "Bob"))
    assert [entry.review.by for entry in decided(site) if entry.review] == ["Ada", "Bob"]
    assert pipeline.verify(site).complete


def test_the_first_decision_waits_for_a_run_which_admits_the_key_before_it(plan: RunPlan, drop: Drop) -> None:
    drop("lease.txt", LEASE)
    pipeline.run(plan, observer=Witness())
    site, seen = plan.site, row(plan.site, "lease.txt")["audit_index"]
    with open_journal(site):
        assert pipeline.decide(site, Review("sort", seen, "accepted", "Ada")).waits
        assert of_type(site, ReviewerKeyAdmitted) == []
    drop("invoice.txt", INVOICE)
    pipeline.run(plan, observer=Witness())
    (admitted,), (entry,) = of_type(site, ReviewerKeyAdmitted), decided(site)
    assert (entry.review.by if entry.review else None, admitted.n < entry.n) == ("Ada", True)
    assert pipeline.verify(site).complete


def test_a_key_that_cannot_be_read_keeps_no_run(done: RunPlan, drop: Drop) -> None:
    left(done.site, "lease.txt")
    requests.key_file(done.site).write_bytes(b"no key")
    drop("new.txt", "Another invoice, total due 1.00.")
    pipeline.run(done, observer=Witness())
    assert row(done.site, "new.txt")["state"] == "done"
    assert (of_type(done.site, ReviewerKeyAdmitted), requests.waiting(done.site)) == ([], [])
    assert len(of_type(done.site, ReviewRefused)) == 1


def test_of_keys_made_at_the_same_moment_one_is_there_whole(plan: RunPlan) -> None:
    with ThreadPoolExecutor(16) as threads:
        for _ in range(20):
            requests.key_file(plan.site).unlink(missing_ok=True)
            for made in [threads.submit(requests.make_key, plan.site) for _ in range(16)]:
                made.result()
            assert audit.signing_key(requests.key_file(plan.site))
    assert [path.name for path in (plan.site.root / "keys").iterdir() if path.name.startswith(".")] == []


def test_a_disk_that_is_full_when_the_key_is_admitted_refuses_no_decision(
    done: RunPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = left(done.site, "lease.txt")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(Journal, "commit", full)
        with pytest.raises(OSError, match="No space left"):
            pipeline.review.take_up_reviews(done.site)
    assert requests.waiting(done.site) == [f"{waiting.id}.json"]
    assert waiting.id in pipeline.review.take_up_reviews(done.site).rows
