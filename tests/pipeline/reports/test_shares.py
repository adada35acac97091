"""Shares of a night are gathered row by row, taken back, and added up."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pipeline.document import Row
from pipeline.records.types import Pace, Shares
from pipeline.reports.shares import BINS, LISTED, OTHERS, Tally, Times, added, positive
from tests.pipeline.reports.made import START, shares

BEGIN = datetime.fromtimestamp(START, UTC)


def row(n: int, state: str = "done", label: str | None = "lease", score: float | None = 0.5, **more: Any) -> Row:
    """A row as the commit has it: without the columns that are null."""
    said = {"label": label, "score": score} if state == "done" else {}
    facts = {"failure": "corrupt", "reason": "cut"} if state == "failed" else {}
    return Row({
        "audit_index": n, "path": f"{n}.txt", "document": f"{n:064x}", "state": state, "task": "classify",
        "job_digest": "d", "finished_at": BEGIN + timedelta(seconds=n), **said, **facts, **more,
    })  # fmt: skip


def tally(*rows: Row) -> Tally:
    made = Tally("sort")
    for each in rows:
        made.take(each)
    return made


def test_rows_are_counted_by_state_class_label_and_score() -> None:
    found = tally(
        row(3), row(4, label="invoice", score=1.0), row(5, "failed"), row(6, "duplicate"), row(7, "abstained")
    ).shares(2.5, 1)
    assert found.states == {"done": 2, "failed": 1, "duplicate": 1, "abstained": 1}
    assert (found.failures, found.labels) == ({"corrupt": 1}, {"lease": 1, "invoice": 1})
    assert (found.scores[10], found.scores[BINS - 1], sum(found.scores)) == (1, 1, 2)
    assert (found.seconds, found.runs, sum(found.pace.counts)) == (2.5, 1, 5)


def test_fields_are_counted_by_their_names_and_scored_by_the_least_certain_value() -> None:
    fields = [
        {"name": "total", "type": "money", "value": "3.00", "score": 0.9},
        {"name": "date", "type": "date", "value": "2026-01-01", "score": 0.31},
        {"name": "iban", "type": "iban", "value": None, "score": 0.1},
    ]
    found = tally(row(3, label=None, score=None, task="extract", fields=fields)).shares(0, 1)
    assert found.labels == {"total": 1, "date": 1}
    assert found.scores.index(1) == 6


def test_a_correction_by_a_person_is_no_work_of_the_night() -> None:
    assert tally(row(3, review={"action": "corrected", "by": "Ann", "reason": None, "of": 1})).rows == 0


def test_what_was_tried_twice_counts_once() -> None:
    """The failure of the evening goes out when the answer of midnight comes in, also out of another run's shares."""
    evening = tally(row(3, "failed"), row(4)).shares(1.0, 1)
    again = tally(row(9, replaces=[3]))
    assert list(again.replaced) == [3]
    again.take_back(row(3, "failed"))
    both = positive(added(evening, again.shares(2.0, 1)))
    assert (both.states, both.failures, both.labels) == ({"done": 2}, {}, {"lease": 2})
    assert (sum(both.scores), sum(both.pace.counts), both.seconds, both.runs) == (2, 2, 3.0, 2)


def test_lists_have_an_end_and_the_least_certain_come_first() -> None:
    made = tally(
        *(row(n, score=(n * 37 % 100) / 100) for n in range(200)), *(row(300 + n, "failed") for n in range(40))
    )
    scores = [each.score for each in made.lists.least_certain]
    assert scores == sorted(n / 100 for n in range(100) for _ in (0, 1))[:LISTED]
    assert [each.n for each in made.lists.failed] == list(range(300, 300 + LISTED))
    made.lists.without([300, made.lists.least_certain[0].n])
    assert len(made.lists.numbers) == 2 * LISTED - 2


def test_labels_beyond_those_that_fit_are_counted_together() -> None:
    made = tally(*(row(n, label=f"label {n}") for n in range(100)))
    labels = positive(made.shares(0, 1)).labels
    assert (len(labels), labels[OTHERS], sum(labels.values())) == (61, 40, 100)
    more = positive(
        added(made.shares(0, 1), tally(*(row(n, label=f"other {n}") for n in range(100))).shares(0, 1))
    ).labels
    assert (len(more), sum(more.values())) == (61, 200)


@pytest.mark.parametrize("seconds", [0, 1, 119, 120, 4000, 86_400, 30 * 86_400])
def test_times_become_longer_and_lose_nothing(seconds: int) -> None:
    times = Times()
    for at in (0, seconds // 3, seconds, 1):
        times.add(START + at, 2)
    made = times.made()
    assert len(made.counts) <= 120
    assert sum(made.counts) == 8
    assert made.seconds & (made.seconds - 1) == 0
    assert made.start <= START
    assert START + seconds < made.start + made.seconds * len(made.counts)
    again = Times(made)
    again.join(Pace(START // 2 * 2, 2, (1, 0, 4)))
    assert sum(again.made().counts) == 13


def test_shares_of_nothing() -> None:
    assert positive(added(Shares(), Shares())).states == {}
    assert added(Shares(), shares({"done": 20})).labels == {"lease": 10, "invoice": 10}
    assert Times().made() == Pace()
