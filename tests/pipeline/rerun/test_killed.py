"""A rerun that is killed anywhere is taken up by the next one, and no document is answered twice."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline import RunPlan, Site
from pipeline.answer import compute
from pipeline.plan import Rerun
from pipeline.records.entries import read_entries
from pipeline.records.types import Document, RunFinished, RunStarted
from tests.pipeline.conftest import Witness, make_plan, make_site
from tests.pipeline.outbox.test_recover import fill, rows, run_and_die, tree
from tests.pipeline.rerun.test_rerun import OTHER
from tests.pipeline.test_containers import INVOICE, LEASE, zipped
from tests.thorough import ALL, part

DOCUMENTS = {
    "a.txt": LEASE,
    "b.txt": INVOICE,
    "c.zip": zipped({"d.txt": LEASE + b" One.", "e.txt": LEASE + b" Two."}),
    "copy.txt": LEASE,
    "empty.txt": b"",
    "f.txt": INVOICE + b" Another one.",
}
EVERY = 9 if ALL else 27
"""Changes of the file system from one kill to the next."""
ANSWERED = ("a.txt", "b.txt", "c.zip", "c.zip!/d.txt", "c.zip!/e.txt", "f.txt")


def answers(site: Site) -> Counter[str]:
    """How often each document was answered, by all runs."""
    return Counter(entry.path for entry in read_entries(site) if isinstance(entry, Document) and entry.state == "done")


def is_at_its_end(site: Site) -> bool:
    """Whether the log says that the last rerun came to its end: the same command is another rerun then."""
    entries = list(read_entries(site))
    last = [entry.run for entry in entries if isinstance(entry, RunStarted) and entry.rerun]
    return any(isinstance(entry, RunFinished) and last and entry.run == last[-1] for entry in entries)


def prepared(root: Path, model: Path, everything: bool) -> RunPlan:
    """A job whose rerun commits every two documents."""
    plan = fill(make_plan(make_site(root), model, part_documents=2), DOCUMENTS)
    pipeline.run(plan, observer=Witness())
    changed: dict[str, Any] = {} if everything else {"task": OTHER}
    return replace(plan, rerun=Rerun(everything=everything), **changed)


@pytest.mark.parametrize("everything", part([True, False], 2))
def test_killed_again_and_again(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, everything: bool
) -> None:
    monkeypatch.setattr(compute, "BATCH_DOCUMENTS", 2)
    whole = prepared(tmp_path / "whole", tiny_model, everything)
    pipeline.run(whole, observer=Witness())
    assert answers(whole.site) == Counter(dict.fromkeys(ANSWERED, 2))
    points, killed = 0, True
    while killed:
        plan = prepared(tmp_path / f"killed-{points}", tiny_model, everything)
        killed = run_and_die(plan, EVERY * points)
        if not is_at_its_end(plan.site):
            run_and_die(plan, EVERY * points + 9)
        rest = plan if not is_at_its_end(plan.site) else replace(plan, rerun=None)  # which puts things in place
        pipeline.run(rest, observer=Witness())
        assert answers(plan.site) == Counter(dict.fromkeys(ANSWERED, 2)), points
        assert rows(plan.site) == rows(whole.site), points
        assert tree(plan.archive) == tree(whole.archive), points
        check = pipeline.verify(plan.site)
        assert (check.ok, check.absent) == (True, ()), points
        points += 1
    assert points * EVERY > 45
