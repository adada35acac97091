"""A row is the same whoever computes it: one worker or four, each with another instruction set, or this machine."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.cpu import ISAS
from pipeline import RunPlan, run
from pipeline.cluster.sharing import Grouping
from pipeline.records.entries import read_entries
from pipeline.records.types import Document
from tests.cluster.processes import Machines, machines
from tests.cluster.test_night import fill, rows
from tests.pipeline.conftest import Witness, make_plan, make_site
from tests.pipeline.test_run_writing import FIELDS, USED
from tests.thorough import ALL

FLAGS = set(Path("/proc/cpuinfo").read_text().split())
SETS = {"one": "portable", "two": "avx2", "three": "avx512_vnni", "four": "portable"}
SETS = SETS if ALL else dict.fromkeys(list(SETS)[:3], engine.isa())
"""Worker -> instruction set; other ones than the best, which each worker would compile for, in `make torture`."""
MADE = {name: isa for name, isa in SETS.items() if not ISAS[isa] - FLAGS}

pytestmark = pytest.mark.usefixtures("ready_first")


@pytest.fixture
def growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    """A cluster of no worker yet, and groups that are so small that each worker gets some."""
    monkeypatch.setattr("pipeline.cluster.sharing.FIRST", 500)
    monkeypatch.setattr("pipeline.cluster.answering.READING", Grouping(0.01, 1))
    monkeypatch.setattr("pipeline.cluster.answering.WRITING", Grouping(0.01, 1))
    with machines(tmp_path / "cluster") as found:
        yield found


def made_on(plan: RunPlan) -> set[tuple[str, Any]]:
    """The workers that made rows, each with the instruction set that its entries name."""
    entries = (entry for entry in read_entries(plan.site, 0) if isinstance(entry, Document))
    return {(entry.worker.worker, entry.engine["isa"]) for entry in entries if entry.worker and entry.tokens}


def test_any_number_of_workers_with_any_instruction_set(growing: Machines, tmp_path: Path, tiny_model: Path) -> None:
    alone, made = make_plan(make_site(tmp_path / "alone"), tiny_model), set[tuple[str, Any]]()
    fill(alone.input.folder, 120)
    run(alone, observer=Witness())
    for number, (name, isa) in enumerate(MADE.items(), 1):
        growing.start_worker(name, isa=isa)
        if number in (1, 2, len(MADE)):
            plan = make_plan(make_site(tmp_path / name), tiny_model)
            fill(plan.input.folder, 120)
            run(replace(plan, cluster=growing.cluster), observer=Witness())
            assert rows(plan) == rows(alone)
            made |= made_on(plan)
    assert made == set(MADE.items())


def test_a_model_that_writes(growing: Machines, tmp_path: Path, tiny_decoder: Path) -> None:
    alone, together = (
        make_plan(make_site(tmp_path / name), tiny_decoder, task=FIELDS, writing=USED) for name in ("alone", "together")
    )
    for plan in (alone, together):
        fill(plan.input.folder, 12)
    run(alone, observer=Witness())
    for name, isa in list(MADE.items())[-2:]:
        growing.start_worker(name, isa=isa)
    run(replace(together, cluster=growing.cluster), observer=Witness())
    assert rows(together) == rows(alone)
    assert made_on(together) == set(list(MADE.items())[-2:])
