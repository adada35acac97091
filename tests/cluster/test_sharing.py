"""Which worker gets which documents: the rules by themselves, and nights that are simulated with them."""

import pytest

from pipeline.cluster.sharing import AT_A_TIME, CHARACTERS, DOCUMENTS, FIRST, READING, WRITING, Sharing
from tests.cluster.simulation import simulate


def filled(count: int = 100, size: int = 10_000) -> Sharing:
    sharing = Sharing()
    for number in range(count):
        sharing.add(number, size)
    return sharing


def numbers(sharing: Sharing, worker: str, now: float = 0.0, *, more: bool = True, workers: int = 2) -> list[int]:
    """What a worker is given."""
    group = sharing.next_for(worker, workers, now, more=more)
    return [piece.number for piece in group.pieces] if group else []


def test_a_new_worker_gets_little_and_then_by_its_speed() -> None:
    sharing = filled()
    assert numbers(sharing, "a") == list(range(FIRST // 10_000))
    assert sharing.done("a", 0, now=10.0)  # 60,000 characters in 10 seconds
    assert len(numbers(sharing, "a", 10.0)) == int(6_000 * READING.seconds / 10_000)


def test_a_model_that_writes_gets_many_documents_together() -> None:
    sharing = Sharing(WRITING)
    for number in range(100):
        sharing.add(number, FIRST)
    assert len(numbers(sharing, "a")) == WRITING.least
    assert len(numbers(sharing, "b", more=False)) == 68 // 4, "of the last ones each worker gets some"


def test_a_worker_has_two_groups_at_most() -> None:
    sharing = filled()
    assert [bool(numbers(sharing, "a")) for _ in range(AT_A_TIME + 1)] == [True] * AT_A_TIME + [False]


def test_a_document_that_is_larger_than_all_goes_alone() -> None:
    sharing = filled(3, 10 * FIRST)
    assert [numbers(sharing, "a"), numbers(sharing, "b")] == [[0], [1]]


def test_many_small_documents_are_no_endless_group() -> None:
    assert len(numbers(filled(1000, 1), "a")) == DOCUMENTS


def test_what_is_computed_at_once_waits_a_moment_for_more() -> None:
    sharing = filled(2, 100)
    sharing.speeds["a"] = 10_000.0
    assert numbers(sharing, "a", 1.0) == [0, 1]
    sharing.done("a", 0, now=1.01)
    sharing.add(2, 100)
    assert numbers(sharing, "a", 1.1) == []
    assert numbers(sharing, "a", 1.1, more=False) == [2], "nothing more will come"
    sharing.add(3, 100)
    assert numbers(sharing, "a", 1.4) == [3]
    sharing.add(4, 10_000)
    assert numbers(sharing, "b", 1.4) == [4], "nothing is known of it yet"


def test_what_is_under_way_is_bounded_however_many_workers_there_are() -> None:
    sharing = filled(2000, CHARACTERS // 1000)
    sharing.speeds["a"] = 1e9
    assert len(numbers(sharing, "a", workers=100)) == 1000 // (2 * AT_A_TIME * 100)


def test_what_a_lost_worker_had_comes_first() -> None:
    sharing = filled()
    had = numbers(sharing, "a")
    numbers(sharing, "b")
    sharing.lost("a")
    assert numbers(sharing, "c")[: len(had)] == had


def test_documents_whose_workers_die_go_out_one_by_one_and_then_to_the_head() -> None:
    sharing = filled(3)
    for number in range(2):
        assert len(numbers(sharing, f"w{number}")) == 3
        sharing.lost(f"w{number}")
    for number in range(2, 5):
        assert numbers(sharing, f"w{number}") == [0]
        assert sharing.for_head() is None
        sharing.lost(f"w{number}")
    assert numbers(sharing, "w5") == []
    piece = sharing.for_head()
    assert piece
    assert piece.number == 0
    assert numbers(sharing, "w5") == [1]


def test_a_group_that_is_overdue_goes_out_once_more_and_counts_once() -> None:
    sharing = filled(12)
    slow = numbers(sharing, "slow")
    assert numbers(sharing, "fast") != slow
    assert sharing.done("fast", 1, now=1.0)
    assert numbers(sharing, "fast", 19.0, more=False) == [], "it must come soon"
    assert numbers(sharing, "fast", 1000.0, more=False) == slow
    assert sharing.done("fast", 0, now=1001.0)
    assert not sharing.done("slow", 0, now=1002.0), "it came before"
    assert not sharing.groups
    assert not any(sharing.has.values())


def test_at_the_end_a_fast_worker_takes_what_a_slow_one_would_have_for_long() -> None:
    sharing = filled(12)
    sharing.speeds.update(slow=100.0, fast=10_000.0)
    numbers(sharing, "slow", more=True)
    had = [piece.number for group in sharing.groups.values() for piece in group.pieces]
    while sharing.waiting:
        numbers(sharing, "fast", 1.0)
        sharing.done("fast", sharing.names - 1, now=2.0)
    assert numbers(sharing, "fast", 3.0, more=False) == had
    assert numbers(sharing, "fast", 3.0, more=False) == [], "once more, and not again"


def test_what_a_lost_worker_had_twice_is_not_given_a_third_time() -> None:
    sharing = filled(12)
    numbers(sharing, "slow")
    numbers(sharing, "fast")
    assert sharing.done("fast", 1, now=1.0)
    assert numbers(sharing, "fast", 1000.0, more=False)
    sharing.lost("slow")
    assert not sharing.waiting
    assert sharing.done("fast", 0, now=1001.0)


@pytest.mark.parametrize("machines", [1, 4, 40])
def test_no_machine_waits_long(machines: int) -> None:
    """Machines of which the slowest has a fifth of the fastest one's speed."""
    night = simulate(machines, 1000 * machines)
    assert night.over < 0.05, night
    assert night.again == 0 or night.again < night.messages / 100


def test_a_night_ends_though_machines_are_lost() -> None:
    night = simulate(8, 4_000, failing=0.05)
    assert night.lost > 5
    assert night.over < 0.15, night
    assert night.characters <= CHARACTERS + 2_000_000


def test_who_says_that_he_lives_and_never_answers_is_given_up() -> None:
    sharing = filled(6)
    had = numbers(sharing, "a", now=100.0)
    assert sharing.hopeless(700.0) == set()
    assert sharing.hopeless(10_000.0) == {"a"}
    sharing.lost("a")
    assert sharing.hopeless(10_000.0) == set()
    assert numbers(sharing, "b", now=10_000.0) == had


def test_who_never_answers_gets_no_more_though_others_answer_what_it_has() -> None:
    sharing, now = filled(0), 0.0
    sharing.speeds.update(hangs=10_000.0, works=10_000.0)
    for number in range(20):
        sharing.add(number, 10_000)
        numbers(sharing, "hangs", now)
        while (group := sharing.next_for("works", 2, now + 100.0, more=True)) is not None:
            sharing.done("works", group.name, now + 101.0)
        now += 200.0
    assert not sharing.waiting
    assert not sharing.groups
    assert len(sharing.has["hangs"]) == AT_A_TIME
    assert sharing.hopeless(now) == {"hangs"}


def test_a_small_night_is_for_all_workers() -> None:
    sharing = Sharing(WRITING)
    for number in range(20):
        sharing.add(number, 2_000)
    given = {worker: len(numbers(sharing, worker, more=False)) for worker in ("a", "b")}
    assert given == {"a": 5, "b": 3}


def test_one_that_has_just_come_takes_what_would_be_long_in_coming() -> None:
    sharing = filled(6)
    had = numbers(sharing, "slow")
    assert numbers(sharing, "new", 1.0, more=False) == []
    assert numbers(sharing, "new", 100.0, more=False) == had
