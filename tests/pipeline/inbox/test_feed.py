"""Files in, documents out: in the order of the sources, whatever parser is faster, and nothing more after a stop."""

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import pipeline
from pipeline import RunPlan, State
from pipeline.inbox.decide import Decisions
from pipeline.inbox.discover import Candidate
from pipeline.inbox.feed import Feed, unpacks_ahead
from pipeline.inbox.order import Ended, Work
from pipeline.inbox.reader import Reader, ReadHere, open_parsers
from pipeline.records.history import History

Drop = Callable[[str, bytes | str], Path]
Feeds = Callable[..., list[Work | Ended]]


@pytest.fixture
def feed(plan: RunPlan) -> Iterator[Feeds]:
    """Feeds what lies in the inbox to real parsers; `stop` as for a feed, `expect` hears of inner documents."""
    (plan.archive / ".staging").mkdir(parents=True)
    with open_parsers(plan.site, 2) as pool:

        def go(
            stop: Callable[[], bool] = lambda: False,
            sources: Sequence[Candidate] | None = None,
            expect: Callable[[int], None] = lambda count: None,
        ) -> list[Work | Ended]:
            reader = Reader(plan, ReadHere(pool), stop=stop)
            feeding = Feed(plan, Decisions(plan, History()), reader, 2, expect)
            return list(feeding(pipeline.scan(plan.input).ready if sources is None else sources, stop))

        yield go


def paths(items: Sequence[Work | Ended]) -> list[str]:
    return [item.arrival.path for item in items]


def test_documents_come_in_the_order_of_the_sources(drop: Drop, feed: Feeds) -> None:
    drop("a.txt", "word " * 200_000)  # takes longer than those after it
    for name in ("b.txt", "c.txt", "d.txt"):
        drop(name, f"This is {name}.")
    items = feed()
    assert paths(items) == ["a.txt", "b.txt", "c.txt", "d.txt"]
    assert all(isinstance(item, Work) for item in items)


def test_the_documents_of_a_container_come_before_it(drop: Drop, feed: Feeds) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("one.txt", "The first letter.")
        archive.writestr("two.txt", "The second letter.")
    drop("a.zip", buffer.getvalue())
    drop("b.txt", "A third one.")
    told: list[int] = []
    items = feed(expect=told.append)
    assert paths(items) == ["a.zip!/one.txt", "a.zip!/two.txt", "a.zip", "b.txt"]
    assert told == [2]
    container = items[2]
    assert isinstance(container, Ended)
    assert container.state == State.DONE


def test_the_parsed_text_lies_beside_the_copy(plan: RunPlan, drop: Drop, feed: Feeds) -> None:
    drop("a.txt", "The landlord leases the flat.")
    (item,) = feed()
    assert isinstance(item, Work)
    staged = item.arrival.staged(plan.archive)
    assert staged.read_bytes() == b"The landlord leases the flat."
    kept = staged.parent / "text" / f"{item.parsed.text_sha256}.txt"
    assert kept.read_bytes() == b"The landlord leases the flat."


def test_a_file_that_fails_ends_itself_alone(drop: Drop, feed: Feeds) -> None:
    drop("a.pdf", b"%PDF-1.7\nbroken")
    drop("b.txt", "A letter.")
    broken, letter = feed()
    assert isinstance(broken, Ended)
    assert (broken.state, broken.failure) == (State.FAILED, pipeline.Failure.CORRUPT)
    assert isinstance(letter, Work)


def test_a_file_that_went_away_since_the_scan_stays_pending(plan: RunPlan, drop: Drop, feed: Feeds) -> None:
    drop("a.txt", "A letter.")
    drop("b.txt", "Another one.")
    found = pipeline.scan(plan.input).ready
    (plan.input.folder / "a.txt").unlink()
    gone, there = feed(sources=found)
    assert isinstance(gone, Ended)
    assert gone.state == State.PENDING
    assert isinstance(there, Work)


def test_nothing_is_given_out_after_a_stop(plan: RunPlan, drop: Drop, feed: Feeds) -> None:
    for number in range(5):
        drop(f"{number}.txt", f"Letter {number}.")
    assert feed(stop=lambda: True) == []
    assert len(list(plan.input.folder.iterdir())) == 5


def test_what_archives_may_unpack_to_ahead_does_not_grow_with_the_machines_that_read_them() -> None:
    assert unpacks_ahead(10, 32) == 32 << 20, "one machine"
    assert unpacks_ahead(10, 3_200) * 3_200 <= 32 * (32 << 20), "bombs"
    assert unpacks_ahead(1 << 20, 3_200) == 16 << 20, "an archive as people make them"
    assert unpacks_ahead(1 << 30, 3_200) == 32 << 20
