"""How far a document is that takes a while: pages and tokens, now and then, and of a private run without a name."""

import threading
from dataclasses import dataclass

import pytest

import pipeline
from pipeline import RunPlan
from pipeline.document import Parsed
from pipeline.inbox.decide import Decisions
from pipeline.inbox.feed import Feed
from pipeline.inbox.intake import Arrival
from pipeline.inbox.reader import Read, Reader, Scratch, Stop
from pipeline.parse import Far, Options, nowhere
from pipeline.records.history import History
from pipeline.report import COMPUTING, READING
from pipeline.stages import answer as module
from pipeline.stages.answer import EVERY_SECONDS, Inside
from tests.pipeline.conftest import Witness
from tests.pipeline.test_run import LEASE, Drop

ARRIVAL = Arrival("a.pdf", "a.pdf", 9, "0" * 64, staging="new-1")


@pytest.mark.parametrize("private", [False, True])
def test_a_long_document_is_told_of_every_ten_seconds(private: bool) -> None:
    clock, witness = [0.0], Witness()
    inside = Inside(witness, private, lambda: clock[0])
    for second in range(25):
        clock[0] = float(second)
        inside.reads(ARRIVAL, second, 300)
        inside.waits_for(ARRIVAL)
    name = None if private else "a.pdf"
    assert witness.notes == [(READING, {"document": name, "pages": pages, "of": 300}) for pages in (10, 20)]
    inside.ended(ARRIVAL)
    clock[0] += EVERY_SECONDS
    inside.waits_for(ARRIVAL)  # nobody has read anything of it
    assert len(witness.notes) == 2
    assert inside.computes(500, 0)
    assert not inside.computes(501, 0)
    assert witness.notes[2:] == [(COMPUTING, {"tokens": 500, "of": None})]


def test_documents_that_end_one_after_another_are_not_told_of() -> None:
    clock, witness = [0.0], Witness()
    inside = Inside(witness, False, lambda: clock[0])
    for second in range(100):
        clock[0] = float(second)
        assert not inside.computes(second, 100)
        inside.ended(ARRIVAL)
    assert not witness.notes


@dataclass
class Slow:
    """Reads three pages, and the fourth when somebody knows of the third."""

    known: threading.Event
    ocr = False

    def __call__(
        self, document: int, name: str, options: Options, scratch: Scratch, stop: Stop, far: Far = nowhere
    ) -> Read:
        for page in range(1, 4):
            far(page, 4)
        assert self.known.wait(60)
        return Parsed("text", "text/plain", "txt"), None

    def close(self) -> None:
        """Nothing is kept open."""


def test_a_run_tells_of_the_document_that_it_waits_for(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", LEASE)
    (plan.archive / ".staging").mkdir(parents=True)
    witness, known = Witness(), threading.Event()
    clock = [0.0]
    inside = Inside(witness, False, lambda: clock[0])
    clock[0] = 1e9

    def waits_for(arrival: Arrival) -> None:
        inside.waits_for(arrival)
        if witness.notes:
            known.set()

    reader = Reader(plan, Slow(known), far=inside.reads)
    feed = Feed(plan, Decisions(plan, History()), reader, 2, waits_for=waits_for)
    (item,) = feed(pipeline.scan(plan.input).ready, lambda: False)
    assert item.arrival.path == "a.txt"
    assert witness.notes[0] == (READING, {"document": "a.txt", "pages": 3, "of": 4})


def test_a_run_tells_how_many_tokens_it_has_computed(
    plan: RunPlan, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EVERY_SECONDS", 0.0)
    seen: list[pipeline.outbox.Running] = []
    drop("a.txt", LEASE * 1000)

    class Looking(Witness):
        def note(self, event: str, **facts: str | int | float | None) -> None:
            super().note(event, **facts)
            if event == COMPUTING and (told := pipeline.running(plan.site)):
                seen.append(told)

    monkeypatch.setattr("pipeline.outbox.running._EVERY_SECONDS", 0.0)
    witness = Looking()
    pipeline.run(plan, observer=witness)
    tokens = [facts for event, facts in witness.notes if event == COMPUTING]
    done = [each["tokens"] for each in tokens]
    assert done == sorted(done, key=int)  # type: ignore[arg-type]
    assert len(done) >= 2
    whole = tokens[0]["of"]
    assert isinstance(whole, int)
    assert whole > int(done[-1] or 0)
    assert [each.inside for each in seen] == [
        {"document": None, "counts": "tokens", "done": number, "of": whole} for number in done
    ]
    assert seen[0].to_json()["inside"] == seen[0].inside
