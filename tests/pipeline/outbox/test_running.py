"""state/running.json: whoever may write to state/ neither gets other files written through it, nor stops `status`."""

import os
import shutil
from pathlib import Path

import pytest

import pipeline
from pipeline import RunPlan
from pipeline.outbox.running import announced
from tests.pipeline.conftest import Witness


@pytest.mark.parametrize("linked", ["audit/checkpoint", "keys/log.key", "new"])
@pytest.mark.parametrize("name", ["running.tmp", "running.json"])
def test_a_run_writes_no_file_through_a_link(plan: RunPlan, name: str, linked: str) -> None:
    target = plan.site.root / linked
    before = target.read_bytes() if target.exists() else None
    plan.site.state.mkdir()
    (plan.site.state / name).symlink_to(target)
    with announced(plan, "r", Witness()):
        told = pipeline.running(plan.site)
        assert (told and told.run) == "r"
    assert (target.read_bytes() if target.exists() else None) == before


def test_a_run_that_was_killed_in_the_middle_of_writing_it_stops_no_other(plan: RunPlan) -> None:
    plan.site.state.mkdir()
    (plan.site.state / "running.tmp").write_bytes(b"{")
    with announced(plan, "r", Witness()):
        assert pipeline.running(plan.site) is not None
    assert pipeline.running(plan.site) is None
    assert list(plan.site.state.iterdir()) == []


@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_what_is_no_file_is_not_read(plan: RunPlan, tmp_path: Path, kind: str) -> None:
    """Nor waited for: nobody writes into that pipe."""
    with announced(plan, "r", Witness()):
        shutil.copy(plan.site.state / "running.json", tmp_path / "said")
    file = plan.site.state / "running.json"
    make = {"pipe": os.mkfifo, "folder": Path.mkdir, "link": lambda path: path.symlink_to(tmp_path / "said")}
    make[kind](file)  # type: ignore[operator]
    assert pipeline.running(plan.site) is None
