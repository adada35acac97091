"""The evening's forecast and the window of a run, over simulated nights with costs measured from real documents.

Each evening copies of documents of tests/corpus lie there, more or fewer, of other kinds. `cloister plan` says how many
will be done by the window's end; then the job runs, by the real pipeline.run, with a clock that only computing moves:
by what the document took when it was measured (costs.json), as if by a model with FACTOR times the work. What is left
over is there the next evening. The figures are printed with -s.
"""

import json
import random
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import pipeline
import pipeline.answer.compute
import pipeline.stages.begin
from jobs.cli.check import plan_all
from jobs.config.load import load_site
from jobs.config.plan import make_plan
from jobs.config.workspace import Workspace, load_job_of
from jobs.nights.ahead import with_window
from pipeline.answer.compute import Embedding
from pipeline.document import Parsed
from tests.jobs.conftest import SORT, Place
from tests.nights.measure import CORPUS
from tests.pipeline.conftest import Witness
from tests.thorough import ALL

COSTS = json.loads((Path(__file__).parent / "costs.json").read_text())
FACTOR = 100.0
READY = 45.0  # seconds until the documents of a run have their turn
NIGHTS = 30 if ALL else 6
BATCH = 1  # characters: a document at a time, for against a window of half an hour a batch would be a large part
JOB = SORT.replace("settle_seconds: 0,", "settle_seconds: 0, duplicates: process,") + (
    'schedule: {{cron: "0 22 * * *", timezone: UTC}}\nwindow: {{until: "22:40"}}\n'
)


@dataclass
class Clock:
    """Simulated time. What each text costs, `of_text` says, of which one of its measured times is drawn."""

    now: float = 0.0
    of_text: dict[str, list[float]] = field(default_factory=dict)
    chance: random.Random = field(default_factory=lambda: random.Random(5))
    dearest: float = 0.0  # of the documents of a run

    def __call__(self) -> float:
        return self.now

    def compute(self, document: Parsed) -> None:
        """Let the time pass that a document takes."""
        cost = FACTOR * self.chance.choice(self.of_text.get(document.text_sha256, [0.0]))
        self.dearest = max(self.dearest, cost)
        self.now += cost


@dataclass
class Costly:
    """A task whose documents take their time by a simulated clock."""

    task: Any
    clock: Clock

    def spans(self, document: Parsed) -> Any:
        """Their spans, after that time."""
        self.clock.compute(document)
        return self.task.spans(document)

    def answer(self, document: Parsed, spans: Any, found: Any) -> Any:
        """As the task answers."""
        return self.task.answer(document, spans, found)


@dataclass
class Evening(Witness):
    """An Observer of a run whose model takes its time to load."""

    clock: Clock = field(default_factory=Clock)

    def found(self, total: int) -> None:
        super().found(total)
        self.clock.now += READY


@dataclass(frozen=True)
class Told:
    """A night: what waited, what the evening said of it and what came; by how many seconds the run passed its window,
    and the cost of its dearest document."""

    waited: int
    expected: int
    done: int
    passed: float
    dearest: float

    @property
    def error(self) -> float:
        """The share by which the forecast was off."""
        return abs(self.expected - self.done) / max(self.done, 1)


@dataclass
class Nights:
    """A workspace over many nights."""

    workspace: Workspace
    clock: Clock
    chance: random.Random

    def night(self, evening: datetime) -> Told:
        """Drop documents, ask what will come of them, and run."""
        self._drop(evening)
        self.clock.now, self.clock.dearest = evening.timestamp(), 0.0
        (planned,) = plan_all(self.workspace, ["sort"], evening - timedelta(hours=1))
        assert planned.ahead is not None
        outlook = planned.ahead.outlook
        job = load_job_of(self.workspace, self.workspace.jobs / "sort.yaml")
        plan = with_window(make_plan(self.workspace, job), job.config, evening)
        assert plan.until == planned.ahead.until
        report = pipeline.run(plan, observer=Evening(clock=self.clock), clock=self.clock, timer=self.clock)
        done = report.seen - report.counts["pending"] - report.counts["ignored"]
        assert plan.until is not None
        passed = self.clock.now - plan.until.timestamp()
        expected = round(outlook.tonight) if outlook else 0
        return Told(len(planned.ahead.files), expected, done, passed, self.clock.dearest)

    def _drop(self, evening: datetime) -> None:
        """Copies of documents come in: tonight of a part of the corpus only, so that nights differ in what they are."""
        of_tonight = self.chance.sample(SOURCES, self.chance.randrange(20, len(SOURCES)))
        folder = self.workspace.root / "inbox" / "sort" / f"{evening:%Y-%m-%d}"
        folder.mkdir()
        for number in range(self.chance.randrange(30, 170)):
            source = self.chance.choice(of_tonight)
            shutil.copy(source, folder / f"{number:03d} {source.name}")


SOURCES = sorted(path for path in {CORPUS / path.partition("!/")[0] for path, *_ in COSTS})


@pytest.fixture
def nights(ready: Place, monkeypatch: pytest.MonkeyPatch) -> Nights:
    """A workspace whose job takes its time by a simulated clock."""
    ready.job("sort", JOB)
    clock = Clock()
    for _, text_sha256, _, seconds in COSTS:
        clock.of_text.setdefault(text_sha256, []).extend(seconds)
    answerer = pipeline.stages.begin.answerer

    def costly(plan: pipeline.RunPlan, model: Any) -> Embedding:
        answers = answerer(plan, model)
        assert isinstance(answers, Embedding)
        return Embedding(Costly(answers.task, clock), answers.model, answers.compute)

    monkeypatch.setattr(pipeline.stages.begin, "answerer", costly)
    monkeypatch.setattr(pipeline.answer.compute, "BATCH_CHARACTERS", BATCH)
    return Nights(Workspace(ready.root, load_site(ready.root / "site.yaml")), clock, random.Random(11))


def test_the_evening_says_what_will_be_done_by_the_end_of_the_window(nights: Nights) -> None:
    first = datetime(2026, 10, 1, 22, tzinfo=UTC)
    nights.night(first)  # of which nothing could be said
    told = [nights.night(first + timedelta(days=1 + number)) for number in range(NIGHTS)]
    right = sum(night.error <= 0.1 for night in told)
    for number, night in enumerate(told, 1):
        said = f"{night.waited:4} waited, {night.expected:4} expected, {night.done:4} done ({night.error:4.0%})"
        print(f"{number:2}  {said}, {night.passed:7.1f} s past the end, dearest {night.dearest:5.1f} s")
    print(f"right to 10 %: {right} of {NIGHTS}; closed windows: {sum(night.done < night.waited for night in told)}")
    assert right >= 0.9 * NIGHTS
    assert all(night.passed <= night.dearest for night in told)
    assert sum(night.done < night.waited for night in told) >= 2 / 3 * NIGHTS  # so that there was something to foresee
