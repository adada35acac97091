"""A run in a window: no document starts that is not expected to be done by its end."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest

import pipeline
from pipeline import RunPlan
from pipeline.document import Parsed
from pipeline.forecast import Pace, Took
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Ended, Work
from pipeline.stages.window import Window
from pipeline.states import State
from tests.pipeline.conftest import Witness
from tests.pipeline.test_run import INVOICE, LEASE, entries, go
from tests.thorough import part

Drop = Callable[[str, bytes | str], Path]
EVENING = datetime(2026, 11, 27, 21, tzinfo=UTC)
MORNING = EVENING + timedelta(hours=8)
HOURS = 3600.0


def work(name: str, tokens: int) -> Work:
    return Work(Arrival(name, name, tokens, "0" * 64), Parsed("x" * tokens, "text/plain", "none"), 0.0)


@dataclass
class Night:
    """A simulated run over documents of some tokens, each of which costs some seconds: `batch` of them are computed at
    a time, in slices, as those of an encoder are. `done`: how many were finished; `begun`: when each was let in."""

    documents: list[Took]
    batch: int
    earlier: tuple[Took, ...] = ()
    now: float = EVENING.timestamp()
    done: int = 0
    begun: list[float] = field(default_factory=list)

    def run(self) -> float:
        """The seconds by which the run passed its window; below 0 where it ended before."""
        window = Window(lambda: False, MORNING, lambda: self.now, Pace(self.earlier))
        coming = self._noted(window.let_in(self._parsed(window), len))
        while group := list(islice(coming, self.batch)):
            seconds = [self.documents[int(item.arrival.path)][1] for item in group]
            for cost in seconds * 4:
                if window.gives_back():
                    return self.now - MORNING.timestamp()
                self.now += cost / 4
            for cost in seconds:
                window.done(cost)
            self.done += len(group)
        return self.now - MORNING.timestamp()

    def _noted(self, items: Iterator[Work | Ended]) -> Iterator[Work | Ended]:
        for item in items:
            self.begun.append(self.now)
            yield item

    def _parsed(self, window: Window) -> Iterator[Work | Ended]:
        for number, (tokens, _) in enumerate(self.documents):
            if window():
                return
            yield work(str(number), tokens)


def drawn(random_: random.Random, count: int) -> list[Took]:
    """Documents of 10 to 100,000 tokens, of which each takes its own time; a few take thirty times as long."""
    rate = random_.choice([0.0001, 0.003, 0.02])
    documents = []
    for _ in range(count):
        tokens = int(10 ** random_.uniform(1, 5))
        slow = 30 if random_.random() < 0.03 else 1
        documents.append((tokens, 0.2 + tokens * rate * random_.uniform(0.5, 1.5) * slow))
    return documents


@pytest.mark.parametrize("seed", part(range(300), 4))
def test_no_run_passes_its_window_by_more_than_one_document(seed: int) -> None:
    random_ = random.Random(seed)
    documents = drawn(random_, random_.choice([3, 100, 4000]))
    earlier = tuple(drawn(random_, random_.choice([0, 5])))
    night = Night(
        documents, random_.choice([1, 1, 7, 256]), earlier, MORNING.timestamp() - random_.uniform(0, 8 * HOURS)
    )
    passed = night.run()
    assert passed <= max(cost for _, cost in documents)
    assert all(begun < MORNING.timestamp() for begun in night.begun)


@pytest.mark.parametrize("batch", [1, 16])
def test_nearly_all_of_a_window_is_used_and_it_is_not_passed_where_costs_are_alike(batch: int) -> None:
    random_ = random.Random(7)
    documents = [
        (tokens, tokens * 0.02 * random_.uniform(0.8, 1.0)) for tokens in random_.choices(range(100, 2000), k=9000)
    ]
    night = Night(documents, batch)
    passed = night.run()
    assert 0 < night.done < len(documents)
    assert -0.02 * 8 * HOURS < passed <= 0


def test_a_document_that_fits_no_more_and_all_behind_it_wait() -> None:
    """Small ones do not overtake it: what is left is first in the next run, in the same order."""
    night = Night([(100, 10.0), (1000, 100.0), (10, 1.0)], 1, now=MORNING.timestamp() - 60)
    assert night.run() == -50
    assert night.done == 1


def test_nothing_known_and_an_open_window_lets_a_document_in_and_a_closed_one_none() -> None:
    late, over = (Night([(1000, 900.0)], 1, now=MORNING.timestamp() - before) for before in (1, 0))
    assert (late.run(), late.done) == (899, 1)
    assert (over.run(), over.done) == (0, 0)


def test_several_that_take_longer_than_expected_are_given_back_at_the_end() -> None:
    night = Night([(10, 1.0)] * 3 + [(10, 900.0)] * 2, 2, now=MORNING.timestamp() - 30)
    assert (night.run(), night.done) == (197.25, 2)  # at the end of a slice
    alone = Night([(10, 1.0), (10, 900.0)], 1, now=MORNING.timestamp() - 30)
    assert (alone.run(), alone.done) == (871, 2)


def test_what_needs_no_computing_passes_a_window_as_long_as_it_is_open() -> None:
    copy = Ended(work("a", 9).arrival, State.DUPLICATE, "a copy")
    window = Window(lambda: False, MORNING, EVENING.timestamp, Pace([(1, 9 * HOURS)]))
    assert list(window.let_in([copy, work("b", 9), copy], len)) == [copy]
    assert window.is_closed
    assert window()


def test_without_a_window_no_token_is_counted() -> None:
    window = Window(lambda: False, None, EVENING.timestamp, Pace([(1, 1e9)]))
    items = [work("a", 9), work("b", 9)]
    assert list(window.let_in(items, lambda text: 1 // 0)) == items
    assert not window()
    assert not window.gives_back()


def test_a_person_who_stops_a_run_ended_it_though_its_window_closed_too() -> None:
    asked = []
    window = Window(lambda: bool(asked), MORNING, MORNING.timestamp, Pace())
    assert window()
    assert window.ended_the_run
    asked.append(1)
    assert not window.ended_the_run


@dataclass
class Clock:
    """A clock that stands still until `documents` have reached a state, and then says that the window is over."""

    witness: Witness
    documents: int

    def __call__(self) -> float:
        over = len(self.witness.states) >= self.documents
        return (MORNING if over else EVENING).timestamp()


def test_a_window_that_closed_is_not_opened_by_who_looked_at_it_before() -> None:
    """A thread that reads documents looks at the clock, and is overtaken by the run's own."""
    looked = list[float]()

    def clock() -> float:
        looked.append(EVENING.timestamp())
        if len(looked) == 1:
            assert not [*window.let_in([work("long.txt", 1)], len_of)]
        return EVENING.timestamp()

    def len_of(text: str) -> int:
        return 10**9

    window = Window(lambda: False, MORNING, clock, Pace([(10**9, 10**6)]))
    window()
    assert window.ended_the_run


def test_a_run_ends_with_its_window_and_the_rest_is_first_in_the_next_one(plan: RunPlan, drop: Drop) -> None:
    for i in range(600):
        drop(f"{i:03d}.txt", f"{LEASE} Number {i}.")
    witness = Witness()
    night = replace(plan, until=MORNING)
    report = pipeline.run(night, observer=witness, clock=Clock(witness, 100))
    assert (report.window_closed, report.interrupted, report.ended_early) == (True, False, True)
    done = report.counts["done"]
    assert 100 <= done < 600
    left = sorted(path.name for path in plan.input.folder.iterdir())
    assert left == [f"{i:03d}.txt" for i in range(done, 600)]
    assert ("window closed", {"until": str(MORNING), "left": 600 - done}) in witness.notes
    (finished,) = entries(plan, "run.finished")
    assert (finished["window_closed"], finished["interrupted"], finished["pending"]) == (True, False, 600 - done)
    (inputs,) = entries(plan, "inputs")
    assert inputs["reason"] == "the window of the run closed before its turn"
    assert [job.last_state for job in pipeline.status(plan.site)] == ["window_closed"]
    assert report.report is not None
    assert "The window of the last run closed before all was done: " in report.report.read_text()
    again, witness = go(replace(plan, until=MORNING), clock=EVENING.timestamp)
    assert next(iter(witness.states)) == left[0]
    assert (again.window_closed, again.interrupted, again.counts["done"]) == (False, False, 600 - done)
    assert pipeline.verify(plan.site).ok


def test_a_window_that_is_over_loads_no_model_and_takes_nothing(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    report, witness = go(replace(plan, until=MORNING), clock=MORNING.timestamp)
    assert report.window_closed
    assert report.counts["pending"] == 1
    assert witness.states == {}
    assert not plan.archive.exists()


def test_a_window_that_closes_when_all_is_done_is_nothing_to_speak_of(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    witness = Witness()
    report = pipeline.run(replace(plan, until=MORNING), observer=witness, clock=Clock(witness, 1))
    assert not report.ended_early
    assert report.counts["done"] == 1
    assert not entries(plan, "run.finished")[0]["window_closed"]


def test_earlier_runs_of_the_job_say_what_its_first_document_will_take(plan: RunPlan, drop: Drop) -> None:
    """The run before took longer for its few tokens than the millisecond that is left."""
    drop("a.txt", LEASE)
    go(plan)
    assert entries(plan, "run.finished")[0]["tokens"]
    drop("b.txt", INVOICE)
    late = replace(plan, until=MORNING)
    report, _ = go(late, clock=lambda: MORNING.timestamp() - 0.001)
    assert report.window_closed
    assert report.counts["pending"] == 1
    other = replace(late, task=replace(plan.task, threshold=0.5))  # type: ignore[arg-type]
    report, _ = go(other, clock=lambda: MORNING.timestamp() - 0.001)
    assert report.counts["pending"] == 0  # of other settings nothing is known
