"""`cloister rerun`: archived documents are answered again after the job changed, by today's settings."""

from typing import Any

import pytest

import pipeline
from jobs.plan import make_site
from jobs.workspace import open_workspace
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place

OTHER = SORT.replace("an invoice: total due", "a bill for goods that were delivered")


@pytest.fixture
def ran(ready: Place, cloister: Cloister) -> Place:
    """A workspace whose job `sort` has answered three documents and a copy, and failed on one."""
    ready.drop("sort", "lease.txt", LEASE)
    ready.drop("sort", "copy.txt", LEASE)
    ready.drop("sort", "invoice.txt", INVOICE)
    ready.drop("sort", "other.txt", f"{INVOICE} And another one.")
    ready.drop("sort", "empty.txt", "")
    assert cloister("run", "sort").code == 1
    return ready


def by_path(cloister: Cloister) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in cloister("results", "sort", "--json").json}


def test_nothing_changed(ran: Place, cloister: Cloister) -> None:
    done = cloister("rerun", "sort")
    assert done.code == 0
    assert "nothing to do: no archived document that fits is answered again" in done.out
    assert "3 documents that fit were answered with today's settings: cloister rerun sort --all" in done.out
    assert cloister("rerun", "sort", "--all", "--json").json["runs"][0]["counts"]["done"] == 3


def test_a_label_changed(ran: Place, cloister: Cloister) -> None:
    before = by_path(cloister)
    ran.job("sort", OTHER)
    ran.drop("sort", "new.txt", f"{LEASE} New.")
    foreseen = cloister("rerun", "sort", "--dry-run", "--json").json["runs"][0]
    assert (foreseen["would"], foreseen["rerun"]["why"], foreseen["left"]) == (3, {"settings": 3}, [])
    assert by_path(cloister).keys() == before.keys()
    told = cloister("rerun", "sort", "--dry-run")
    assert (told.code, "sort: 3 documents would be answered again" in told.out) == (0, True)
    done = cloister("rerun", "sort", "--json")
    (run,) = done.json["runs"]
    assert (done.code, run["seen"], run["counts"]["done"], run["known"]) == (0, 3, 3, 0)
    assert run["rerun"] == {"why": {"settings": 3}, "same": 0, "continued": False}
    after = by_path(cloister)
    answered = ("copy.txt", "invoice.txt", "other.txt")
    assert {path: row["supersedes"] for path, row in after.items() if path in answered} == {
        path: before[path]["audit_index"] for path in answered
    }
    assert after["lease.txt"] == before["lease.txt"]  # a copy follows
    assert after["lease.txt"]["duplicate_of"] == "copy.txt"
    assert {row["run"] for path, row in after.items() if path in answered} == {run["run"]}
    assert (ran.root / "inbox" / "sort" / "new.txt").exists()
    assert cloister("rerun", "sort", "--json").json["runs"][0]["seen"] == 0
    assert cloister("audit", "verify").code == 0
    assert cloister("audit", "replay", "--sample", "100%").code == 0
    assert "copy.txt" in cloister("audit", "show", "copy.txt").out
    assert any("to answer archived documents again" in line for line in said(ran))


def said(place: Place) -> list[str]:
    """The log, entry by entry, in sentences."""
    return [pipeline.sentence(entry) for entry in pipeline.read_entries(make_site(open_workspace(place.root)))]
