"""A job's history is what its entries say, taken one after another."""

from typing import Any

import pytest

from pipeline.records.entries import from_json
from pipeline.records.history import FailedBefore, Held, History, read_history
from pipeline.records.types import RunEmpty
from tests.pipeline.records.samples import completed

JOB, DIGEST = "sort", "d1"
A, B, ZIP = "a" * 64, "b" * 64, "c" * 64


def document(sha256: str | None, path: str, state: str = "done", **more: Any) -> dict[str, Any]:
    failure = "corrupt" if state == "failed" else None
    told = {"document": sha256, "path": path, "state": state, "failure": failure, "part": "p1", "size": 7}
    return {"type": "document", "job": JOB, "job_digest": DIGEST, **told, **more}


def told(*entries: dict[str, Any]) -> History:
    """The history of these entries, numbered from 0."""
    return read_history((from_json(completed(each) | {"n": n}) for n, each in enumerate(entries)), JOB, DIGEST)


def of_run(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "run": "r", "job": JOB, **more}


def test_an_answer_is_done_at_its_first_path_and_every_path_is_met() -> None:
    history = told(document(A, "a.txt"), document(A, "copy.txt", "duplicate"), document(B, "b.txt", "abstained"))
    assert history.done == {A: "a.txt", B: "b.txt"}
    assert history.paths.keys() == {("a.txt", A), ("copy.txt", A), ("b.txt", B)}
    assert history.answered == {"p1": [A, B]}


@pytest.mark.parametrize("other", [{"job": "other"}, {"job_digest": "d0"}])
def test_what_another_job_or_other_settings_answered_is_not_done(other: dict[str, Any]) -> None:
    history = told(document(A, "a.txt", **other))
    assert (history.done, history.paths, history.answered) == ({}, {}, {})
    assert bool(history.last) == ("job_digest" in other)  # its row is current all the same


def test_a_failure_stands_until_its_document_ends_otherwise_at_its_path() -> None:
    failure = document(A, "a.txt", "failed", job_digest="d0", parent=ZIP)
    assert told(failure).failed == {(A, "a.txt"): FailedBefore("a.txt", 7, ZIP, "corrupt", 0)}
    assert told(failure, document(A, "b.txt")).failed.keys() == {(A, "a.txt")}
    assert told(failure, document(A, "a.txt")).failed == {}
    assert told(document(A, "a.txt"), failure).done == {}
    assert told(document(A, "b.txt"), failure).done == {A: "b.txt"}


def test_a_file_that_was_not_read_is_known_by_how_it_lay() -> None:
    unread = document(None, "big.bin", "failed", failure="too_large", unread="digest")
    assert told(unread).unread == {"big.bin": ("digest", "too_large")}
    assert told(unread).failed == {}
    assert told(unread, document(A, "big.bin")).unread == {}


def test_a_part_has_its_documents_until_it_is_in_place() -> None:
    rows = [document(A, "a.txt", job="other"), document(B, "b.txt")]
    part = {"type": "part", "run": "r", "job": JOB, "file": "p1"}
    ((found, documents),) = told(*rows, part).unplaced.values()
    assert (found.file, [row.path for row in documents]) == ("p1", ["a.txt", "b.txt"])
    assert told(*rows, part, {"type": "placed", "run": "r", "file": "p1"}).unplaced == {}


@pytest.mark.parametrize("end", ["run.finished", "run.stopped"])
def test_a_run_without_an_end_was_cut_off(end: str) -> None:
    begun = [of_run("run.started", job="other"), document(A, "a.txt"), document(B, "b.txt", "failed")]
    assert told(*begun).cut_off == {"done": 1, "failed": 1}
    assert told(*begun, of_run(end)).cut_off is None
    assert told().cut_off is None


def test_an_empty_run_is_the_last_one_until_another_begins() -> None:
    assert isinstance(told(of_run("run.empty")).empty, RunEmpty)
    assert told(of_run("run.empty", job="other")).empty is None
    assert told(of_run("run.empty"), of_run("run.started")).empty is None


def test_the_last_run_says_what_becomes_of_copies() -> None:
    runs = [of_run("run.started", duplicates=mode) for mode in ("skip", "warn")]
    assert told(*runs).copies
    assert not told(*reversed(runs)).copies


def test_settings_are_known_by_their_digest() -> None:
    assert told(of_run("settings", job_digest=DIGEST)).has_settings
    assert not told(of_run("settings", job_digest="d0")).has_settings


def test_documents_whose_rows_a_rule_deletes_are_new() -> None:
    rule = of_run("deleted.by_rule", parts=["p1"], archive=[], markdown=[])
    history = told(document(A, "a.txt"), document(B, "b.txt", part="p2"), rule)
    assert history.done == {B: "b.txt"}
    assert list(history.deletions) == [2]
    assert told(rule, of_run("deleted", deletion=0)).deletions == {}


def test_what_nothing_opens_is_not_there_and_what_is_erased_is_not_missed() -> None:
    closed = document(None, "hmac-sha256:0", private=0, closed=["document", "path"])
    failure = document(A, "a.txt", "failed")
    history = told(closed, failure)
    assert (history.closed, history.openings, history.done, history.unread) == ({0}, {(JOB, 0)}, {}, {})
    erased = {"type": "erased", "entries": [0], "failed": [1], "archive": [], "markdown": [], "parts": [], "rows": []}
    history = told(closed, failure, erased)
    assert (history.closed, history.failed) == (set(), {})


def test_what_was_in_a_container_is_known_until_that_is_answered() -> None:
    inside = [document(A, "z.zip!/i.zip!/a", parent=B), document(B, "z.zip!/i.zip", parent=ZIP, size=50)]
    assert told(*inside).inner == {ZIP: {("z.zip!/i.zip", B): Held(50, 1, 7)}}
    assert told(*inside, document(ZIP, "z.zip")).inner == {}
    assert told(*inside, document(ZIP, "z.zip", "failed")).inner.keys() == {ZIP}
