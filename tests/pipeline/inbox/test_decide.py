"""What a document is by what stands before it: known, a copy by the rule of the job, or more than may be unpacked."""

from dataclasses import replace

import pytest

from pipeline import Failure, RunPlan, State
from pipeline.document import Member, Parsed
from pipeline.inbox.decide import Decisions
from pipeline.inbox.discover import Candidate
from pipeline.inbox.intake import Again, Arrival
from pipeline.inbox.order import Ended, Left, Node, Outcome, Room, Source, Work
from pipeline.records.history import History

DOCUMENT, OTHER = "a" * 64, "b" * 64
ROOM = Room(10, 1000)


def candidate(path: str) -> Candidate:
    return Candidate(path, 10, 0, 0, 0, 0o600)


def arrived(path: str, sha256: str = DOCUMENT) -> Arrival:
    return Arrival(path, path, 10, sha256)


def outcome(path: str, sha256: str = DOCUMENT, members: tuple[Member, ...] = ()) -> Outcome:
    return Outcome(Work(arrived(path, sha256), Parsed("text", "text/plain", "test", members=members), 0.1))


def node(source: Source | str, **changes: object) -> Node:
    source = candidate(source) if isinstance(source, str) else source
    return replace(Node(source, Left(ROOM)), **changes)  # type: ignore[arg-type]


def ruled(plan: RunPlan, **rules: object) -> RunPlan:
    return replace(plan, input=replace(plan.input, **rules))  # type: ignore[arg-type]


def test_bytes_with_an_answer_are_a_duplicate_at_once(plan: RunPlan) -> None:
    decisions = Decisions(ruled(plan, duplicates="skip"), History(done={DOCUMENT: "first.txt"}))
    known = decisions.known(arrived("second.txt"), candidate("second.txt"))
    assert known is not None
    assert (known.state, known.duplicate_of, known.reason) == (
        State.DUPLICATE,
        "first.txt",
        "the same bytes as first.txt",
    )
    again = decisions.known(arrived("first.txt"), candidate("first.txt"))
    assert again is not None
    assert again.reason == "it came again, and was known"


@pytest.mark.parametrize("rule", ["warn", "process"])
def test_other_rules_answer_copies(plan: RunPlan, rule: str) -> None:
    decisions = Decisions(ruled(plan, duplicates=rule), History(done={DOCUMENT: "first.txt"}))
    assert decisions.known(arrived("second.txt"), candidate("second.txt")) is None
    item = decisions.decided(node("second.txt"), outcome("second.txt"))
    assert isinstance(item, Work)
    assert item.parsed.notes == (("the same bytes as first.txt",) if rule == "warn" else ())


def test_a_kept_input_that_was_processed_is_ignored(plan: RunPlan) -> None:
    history = History(paths={("a.txt", DOCUMENT): 0})
    kept = Decisions(ruled(plan, afterwards="keep"), history)
    known = kept.known(arrived("a.txt"), candidate("a.txt"))
    assert known is not None
    assert known.state == State.IGNORED
    assert kept.known(arrived("b.txt"), candidate("b.txt")) is None
    assert kept.known(arrived("a.txt", OTHER), candidate("a.txt")) is None


def test_the_first_in_the_order_is_answered_and_the_next_is_its_copy(plan: RunPlan) -> None:
    decisions = Decisions(ruled(plan, duplicates="skip"), History())
    assert isinstance(decisions.decided(node("b.txt"), outcome("b.txt")), Work)
    copy = decisions.decided(node("c.txt"), outcome("c.txt"))
    assert isinstance(copy, Ended)
    assert (copy.state, copy.duplicate_of) == (State.DUPLICATE, "b.txt")


def test_a_document_that_failed_is_no_first(plan: RunPlan) -> None:
    decisions = Decisions(ruled(plan, duplicates="skip"), History())
    failed = Ended(arrived("a.pdf"), State.FAILED, "broken", Failure.CORRUPT)
    assert decisions.decided(node("a.pdf"), Outcome(failed)) is failed
    assert isinstance(decisions.decided(node("b.txt"), outcome("b.txt")), Work)


def test_a_container_inside_itself_is_a_copy_whatever_the_rule(plan: RunPlan) -> None:
    decisions = Decisions(ruled(plan, duplicates="process"), History())
    item = decisions.decided(node("x.zip", within={DOCUMENT: "a.zip"}), outcome("x.zip"))
    assert isinstance(item, Ended)
    assert item.duplicate_of == "a.zip"


def test_a_container_takes_its_room_or_is_a_bomb(plan: RunPlan) -> None:
    decisions, left = Decisions(plan, History()), Left(Room(3, 100))
    two = (Member("a", 40, 0), Member("b", 40, 40))
    assert isinstance(decisions.decided(node("a.zip", left=left), outcome("a.zip", members=two)), Work)
    assert left.room == Room(1, 20)
    bomb = decisions.decided(node("b.zip", left=left), outcome("b.zip", OTHER, two))
    assert isinstance(bomb, Ended)
    assert bomb.failure == Failure.BOMB
    assert left.room == Room(1, 20)


def test_containers_are_opened_to_a_depth(plan: RunPlan) -> None:
    deepest = plan.site.limits.unpacked_depth
    one = (Member("a", 1, 0),)
    decisions = Decisions(plan, History())
    within = decisions.decided(node("a.zip", depth=deepest - 1), outcome("a.zip", members=one))
    assert isinstance(within, Work)
    beyond = decisions.decided(node("b.zip", depth=deepest), outcome("b.zip", OTHER, one))
    assert isinstance(beyond, Ended)
    assert beyond.failure == Failure.BOMB


def test_what_came_with_its_container_is_not_taken_up_a_second_time(plan: RunPlan) -> None:
    decisions = Decisions(replace(plan, retry=frozenset(Failure)), History(), brought={(DOCUMENT, "a.zip!/b.txt")})
    source = Again("a.zip!/b.txt", 10, DOCUMENT, OTHER)
    item = decisions.decided(node(source), outcome("a.zip!/b.txt"))
    assert isinstance(item, Ended)
    assert item.state == State.IGNORED
