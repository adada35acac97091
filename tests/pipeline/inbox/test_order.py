"""The order of a run: what a place weighs, and whether what was parsed ahead still holds when its turn comes."""

from concurrent.futures import Future

import pytest

from pipeline import Failure, State
from pipeline.document import Member, Parsed
from pipeline.inbox.intake import Again, Arrival
from pipeline.inbox.order import Ended, Left, Node, Outcome, Room, Work, depth_of, ended_row, now

ARRIVAL = Arrival("post.zip", "post.zip", 100, "a" * 64)


def work(*sizes: int, text: str = "") -> Work:
    """A parsed container of documents of these sizes."""
    members = tuple(Member(f"{number}.txt", size, 0) for number, size in enumerate(sizes))
    return Work(ARRIVAL, Parsed(text, "application/zip", "test", members=members), 0.1)


def node(room: Room | None, left: Room, source: Again | None = None) -> Node:
    return Node(source, Left(left), room=room)


def test_an_outcome_takes_the_room_of_its_documents() -> None:
    assert Outcome(work(3, 4)).taken == Room(2, 7)
    assert Outcome(Ended(ARRIVAL, State.FAILED, "broken")).taken == Room(0, 0)


@pytest.mark.parametrize(("taken", "fits"), [(Room(2, 7), True), (Room(3, 7), False), (Room(2, 8), False)])
def test_a_room_holds_what_is_no_larger_in_both(taken: Room, fits: bool) -> None:
    assert Room(2, 7).holds(taken) is fits


def test_what_is_taken_is_gone_for_those_that_follow() -> None:
    left = Left(Room(5, 10))
    left.take(Room(2, 7))
    assert left.room == Room(3, 3)


def test_a_container_parsed_ahead_stands_if_it_still_fits() -> None:
    given = Room(10, 1000)
    assert node(given, given).is_settled(Outcome(work(3, 4)))
    assert node(given, Room(2, 7)).is_settled(Outcome(work(3, 4)))
    assert not node(given, Room(1, 7)).is_settled(Outcome(work(3, 4)))
    assert not node(given, Room(2, 6)).is_settled(Outcome(work(3, 4)))


def test_a_failure_parsed_ahead_stands_unless_the_room_may_have_caused_it() -> None:
    given, less, more = Room(10, 1000), Room(5, 500), Room(20, 2000)
    bomb = Outcome(Ended(ARRIVAL, State.FAILED, "too much", Failure.BOMB), written=10)
    corrupt = Outcome(Ended(ARRIVAL, State.FAILED, "broken", Failure.CORRUPT))
    half_written = Outcome(Ended(ARRIVAL, State.FAILED, "broken", Failure.CORRUPT), written=10)
    assert not node(given, more).is_settled(bomb)
    assert node(given, given).is_settled(bomb)
    assert node(given, less).is_settled(corrupt)
    assert not node(given, less).is_settled(half_written)  # with less room it would have been a bomb
    assert node(given, more).is_settled(half_written)


def test_a_place_weighs_its_file_until_its_text_is_known() -> None:
    source = Again("a.txt", 100, "a" * 64, None)
    place = Node(source, Left(Room(1, 1)))
    assert place.weight() == 0
    place.outcome = Future()
    assert place.weight() == 100
    place.outcome = now(Outcome(work(text="x" * 1000)))
    assert place.weight() == 4000
    place = Node(source, Left(Room(1, 1)), outcome=now(Outcome(Ended(ARRIVAL, State.FAILED, "broken"))))
    assert place.weight() == 100


def test_the_depth_of_a_document_taken_up_again_is_that_of_its_containers() -> None:
    assert depth_of(Again("a.zip!/b.zip!/c.txt", 1, "a" * 64, "b" * 64)) == 2
    assert depth_of(Again("a!/b.txt", 1, "a" * 64, None)) == 0


def test_a_row_of_a_document_that_needed_no_computing() -> None:
    copy = ended_row(Ended(ARRIVAL, State.DUPLICATE, "the same bytes as a.zip", duplicate_of="a.zip"))
    assert (copy["state"], copy["duplicate_of"], copy["tokens"]) == ("duplicate", "a.zip", 0)
    failed = ended_row(Ended(ARRIVAL, State.FAILED, None, Failure.CORRUPT))
    assert (failed["failure"], failed["reason"]) == ("corrupt", Failure.CORRUPT.sentence)
