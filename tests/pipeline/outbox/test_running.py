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


def test_a_run_says_how_quick_it_is_and_when_it_will_have_ended(plan: RunPlan) -> None:
    now = 0.0
    with announced(plan, "r", Witness(), lambda: now) as observer:
        now = 100.0  # the model is loaded
        observer.found(1000)
        told = pipeline.running(plan.site)
        assert told
        assert (told.done, told.left, told.rate, told.seconds_left) == (0, 1000, None, None)
        for _ in range(10):  # two documents every ten seconds
            for document in range(2):
                observer.finished(f"{document}.txt", "done", None)
            now += 10.0
        observer.finished("last.txt", "failed", "no")
        told = pipeline.running(plan.site)
        assert told
        assert told.rate == pytest.approx(0.2, rel=0.1)
        assert (told.counts, told.done, told.left) == ({"done": 20, "failed": 1}, 21, 979)
        assert told.seconds_left == pytest.approx(979 / 0.2, rel=0.1)
        assert told.to_json()["seconds_left"] == told.seconds_left
        for _ in range(200):  # it has become quicker, and what was before counts no longer
            observer.finished("x.txt", "done", None)
            now += 2.5
        told = pipeline.running(plan.site)
        assert told
        assert told.rate == pytest.approx(0.4, rel=0.02)


@pytest.mark.parametrize("rate", ["NaN", "Infinity", "-1.0", "0.0", '"1"', "true", "7"])
def test_a_rate_that_is_none_is_not_believed(plan: RunPlan, rate: str) -> None:
    plan.site.state.mkdir()
    said = f'{{"pid": 1, "job": "j", "run": "r", "since": "s", "total": 2, "counts": {{}}, "rate": {rate}}}'
    (plan.site.state / "running.json").write_text(said)
    assert pipeline.running(plan.site) is None
