"""Killed anywhere, whoever takes decisions up has each of them in the log once when it is started again."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import pipeline
from pipeline import Review, RunPlan, Site
from pipeline.records import requests
from pipeline.records.entries import read_entries
from pipeline.records.types import Document, ReviewRefused
from tests.pipeline.conftest import Witness, copied, make_plan, make_site
from tests.pipeline.outbox.test_recover import KILLED, WRITES
from tests.pipeline.review.test_uptake import left, row
from tests.thorough import ALL, part

LEASE, INVOICE = "The landlord leases the flat to the tenant.", "Invoice 7, total due 12.00 EUR."


def die(root: Path, step: int, act: Callable[[], object]) -> bool:
    """Act in a child that is killed before its `step`-th change of the file system below `root`, also of what is named
    from an open folder; whether it came that far."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            steps = 0

            def count(event: str, arguments: tuple[object, ...]) -> None:
                nonlocal steps
                writes = event in WRITES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & 3)
                below = str(root) in str(arguments[0]) if arguments else False
                named = event in {"os.rename", "os.remove"} and arguments[-1] != -1
                if writes and (below or named):
                    steps += 1
                    if steps > step:
                        os._exit(KILLED)

            sys.addaudithook(count)
            act()
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED), code
    return code == KILLED


def made(folder: Path, tiny_model: Path, *, private: bool) -> RunPlan:
    """A workspace with two decisions that wait, and a third that is refused."""
    plan = make_plan(make_site(folder / "whole"), tiny_model, private=private)
    (plan.input.folder / "lease.txt").write_text(LEASE)
    (plan.input.folder / "invoice.txt").write_text(INVOICE)
    pipeline.run(plan, observer=Witness())
    requests.make_key(plan.site)
    left(plan.site, "lease.txt", "rejected")
    left(plan.site, "invoice.txt", "accepted", "Bob")
    (requests.folder_of(plan.site) / f"{'0' * 32}.json").write_bytes(b"{}")
    return plan


def check(site: Site, step: int) -> None:
    entries = list(read_entries(site))
    decided = [entry for entry in entries if isinstance(entry, Document) and entry.is_decided]
    assert sorted(entry.review.by for entry in decided if entry.review) == ["Ada", "Bob"], step
    assert {row(site, name)["state"] for name in ("lease.txt", "invoice.txt")} == {"rejected", "done"}, step
    told = {entry.reason for entry in entries if isinstance(entry, ReviewRefused)}
    assert told == {"not what a command writes"}, step
    assert requests.waiting(site) == [], step
    assert len(requests.refused(site)) == 1, step
    report = pipeline.verify(site)
    assert report.complete, (step, report)
    assert not list(site.root.rglob(".staging/*")), step
    assert b"rejected" in b"".join(path.read_bytes().lower() for path in site.root.rglob("lease.txt.md")), step


@pytest.mark.parametrize("private", part([True, False], 2), ids=str)
def test_taking_up_killed_before_every_change(tmp_path: Path, tiny_model: Path, private: bool) -> None:
    whole = made(tmp_path, tiny_model, private=private)
    step, killed, cut = 0, True, 0
    while killed:
        plan = copied(whole, tmp_path / str(step))
        before = len(list(read_entries(plan.site)))
        killed = die(plan.site.root, step, lambda site=plan.site: pipeline.review.take_up_reviews(site))  # type: ignore[misc]
        cut += killed and len(list(read_entries(plan.site))) > before
        pipeline.review.take_up_reviews(plan.site)
        if step % 2:
            pipeline.run(plan, observer=Witness())  # a run begins after it
        check(plan.site, step)
        shutil.rmtree(plan.site.root)
        step += 1 if ALL else 3
    assert cut > 1
    assert step > 20


def test_a_decision_killed_before_every_change_is_there_or_is_not(tmp_path: Path, tiny_model: Path) -> None:
    whole = made(tmp_path, tiny_model, private=False)
    pipeline.review.take_up_reviews(whole.site)
    seen = row(whole.site, "lease.txt")["audit_index"]
    step, killed, there = 0, True, 0
    review = Review("sort", seen, "corrected", "Cy", None, {"label": "lease"})
    while killed:
        plan = copied(whole, tmp_path / str(step))
        killed = die(plan.site.root, step, lambda site=plan.site: pipeline.decide(site, review))  # type: ignore[misc]
        pipeline.run(plan, observer=Witness())
        found = row(plan.site, "lease.txt")
        assert (found["state"], found["audit_index"] > seen) in {("rejected", False), ("done", True)}, step
        there += found["state"] == "done"
        assert pipeline.verify(plan.site).complete, step
        shutil.rmtree(plan.site.root)
        step += 3 if ALL else 5
    assert 0 < there < step // (3 if ALL else 5)
