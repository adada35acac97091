"""What breaks in a night costs no document: workers, the scheduler, all of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import pipeline
from pipeline import RunPlan, run
from pipeline.cluster import crew
from pipeline.cluster.sharing import Grouping
from tests.cluster.processes import Machines, hang, machines, on
from tests.cluster.test_night import fill, makers, rows
from tests.pipeline.conftest import Witness, make_plan, make_site

COUNT = 60


@dataclass
class Saboteur(Witness):
    """An observer that breaks something at the first part that is committed."""

    breaks: list[Callable[[], None]] = field(default_factory=list)

    def note(self, event: str, **facts: str | int | float | None) -> None:
        super().note(event, **facts)
        if event == "part committed" and self.breaks:
            self.breaks.pop(0)()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> RunPlan:
    """The same documents, done on this machine alone."""
    plan = make_plan(make_site(tmp_path_factory.mktemp("alone") / "ws"), tiny_model)
    fill(plan.input.folder, COUNT)
    run(plan, observer=Witness())
    return plan


pytestmark = pytest.mark.usefixtures("ready_first")


@pytest.fixture
def small(plan: RunPlan, monkeypatch: pytest.MonkeyPatch) -> RunPlan:
    """A job that commits often; heads are patient for some seconds only."""
    monkeypatch.setattr("pipeline.cluster.sharing.FIRST", 500)
    monkeypatch.setattr("pipeline.cluster.answering.READING", Grouping(0.01, 1))
    monkeypatch.setattr(crew, "BEAT_SECONDS", 0.2)
    monkeypatch.setattr(crew, "BEAT_PATIENCE", 1.0)
    monkeypatch.setattr(crew, "ALONE_SECONDS", 5.0)
    fill(plan.input.folder, COUNT)
    return replace(plan, part_documents=5)


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Machines]:
    with machines(tmp_path / "cluster", ("one", "two")) as found:
        yield found


def spoiled(plan: RunPlan, found: Machines, *breaks: Callable[[], None]) -> Saboteur:
    """Run the job while that breaks."""
    witness = Saboteur(breaks=list(breaks))
    report = run(replace(plan, cluster=found.cluster), observer=witness)
    assert not witness.breaks, "it ended before"
    assert report.counts["pending"] == 0
    assert pipeline.verify(plan.site).sound
    return witness


def test_killed_workers_and_a_killed_scheduler_cost_nothing(three: Machines, small: RunPlan, expected: RunPlan) -> None:
    assert three.scheduler
    told = spoiled(small, three, three.workers["one"].kill, three.scheduler.kill, three.workers["two"].kill)
    assert rows(small) == rows(expected)
    events = [event for event, _ in told.notes]
    gone = [facts["worker"] for event, facts in told.notes if event in ("worker lost", "worker not reached")]
    assert {str(name).partition("-")[0] for name in gone} == {"one", "two"}, "also one that was not ready yet"
    assert "the cluster's scheduler does not answer" in events or events.count("part committed") < 30
    done = {name for name, state in makers(small.site) if state == "done"}
    assert None in done, "the head ended it alone"
    assert done & {"one", "two"}


def test_a_worker_that_hangs_is_given_up_and_taken_back(three: Machines, small: RunPlan, expected: RunPlan) -> None:
    one = three.workers["one"]
    told = spoiled(small, three, lambda: hang(one), lambda: on(one))
    assert rows(small) == rows(expected)
    assert [facts["worker"] for event, facts in told.notes if event == "worker lost"] in ([], ["one"])
