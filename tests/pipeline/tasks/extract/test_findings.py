"""`findings`: what a head found in unseen documents comes back from its file, and bears promises by kind of answer."""

import random

import numpy as np
import pytest

from pipeline.heads import HeadFile, read_head, write_head
from pipeline.tasks.extract.head import Least
from pipeline.tasks.extract.promises import (
    FLOOR,
    Finding,
    Scored,
    arrays_of,
    by_field,
    findings_of,
    nulls_of,
    promise_nulls,
    promise_values,
    sureness,
    values_of,
)
from pipeline.tasks.risk import NoPromiseError
from tests.pipeline.tasks.extract.made import learned

BOTH = Finding(0, (Scored(0.9, True), Scored(0.6, False), Scored(0.2, True)), True)
NONE = Finding(1, (), False)
LOW = Finding(1, (Scored(0.3, False),), True)
ONE = Least(0.35, 0.35, many=False)


def test_a_file_gives_back_what_it_keeps(tmp_path) -> None:
    path = tmp_path / "a.head"
    write_head(path, HeadFile({"kind": "extract"}, arrays_of([BOTH, NONE, LOW])))
    head = read_head(path)
    assert findings_of(head) == [BOTH, NONE, LOW]
    assert by_field(findings_of(head)) == {0: [BOTH], 1: [NONE, LOW]}
    assert findings_of(HeadFile({}, arrays_of([]))) == []
    for name in head.arrays:
        with pytest.raises((KeyError, ValueError)):
            findings_of(HeadFile({}, {key: array for key, array in head.arrays.items() if key != name}))
        with pytest.raises((KeyError, ValueError)):
            findings_of(HeadFile({}, {**head.arrays, name: np.append(head.arrays[name], head.arrays[name][:1])}))


def test_an_answer_of_several_values_is_as_sure_and_as_right_as_its_worst() -> None:
    one = values_of([BOTH, NONE, LOW], ONE)
    assert (one.scores.tolist(), one.right.tolist()) == ([0.9], [True])
    several = values_of([BOTH, NONE, LOW], Least(0.35, 0.35, many=True))
    assert (several.scores.tolist(), several.right.tolist()) == ([0.6], [False])
    lower = values_of([BOTH], Least(0.1, 0.1, many=True))
    assert (lower.scores.tolist(), lower.right.tolist()) == ([0.2], [False])


def test_a_learned_threshold_is_for_the_best_value_alone() -> None:
    for best, scores in ((0.7, [0.6]), (0.9, [0.6]), (0.91, [])):
        assert values_of([BOTH, LOW], Least(best, 0.35, many=True)).scores.tolist() == scores
        assert nulls_of([BOTH], Least(best, 0.35, many=True)).scores.tolist() == ([] if scores else [0.1])
    low = values_of([BOTH, LOW], Least(0.3, 0.35, many=True))
    assert (low.scores.tolist(), low.right.tolist()) == ([0.6, 0.3], [False, False])


def test_a_learned_threshold_moves_no_score_that_is_tried() -> None:
    """It leaves out the scores below it; what a promise needs stays, and so do the scores above it."""
    surest = [Finding(0, (Scored(0.97, True),), True)] * 60
    values = [*surest, *[Finding(0, (Scored(0.5, True),), True)] * 20]
    assert promise_values(values, 0.1, Least(0.31, 0.35, many=False)).score == 0.35
    made = promise_values(values, 0.1, Least(0.45, 0.35, many=False))
    assert (made.score, made.accepted, made.examples) == (0.6, 60, 80)
    assert promise_values(surest, 0.5, Least(0.55, 0.35, many=False)).score == 0.55, "all that are tried are lower"
    needed = set[tuple[int, int]]()
    for best in (0.05, 0.2, 0.35, 0.5, 0.6):
        with pytest.raises(NoPromiseError) as refused:
            promise_values(surest[:10], 0.1, Least(best, 0.35, many=False))
        with pytest.raises(NoPromiseError) as too:
            promise_nulls([NONE] * 10, 0.1, Least(best, 0.35, many=False))
        needed.add((refused.value.needed, too.value.needed))
    assert needed == {(47, 44)}
    assert promise_nulls([NONE] * 60, 0.1, Least(0.6, 0.35, many=False)).score == 0.65
    assert promise_nulls([NONE] * 60, 0.1, Least(0.22, 0.35, many=False)).score == 0.8


def test_null_is_right_where_there_is_nothing_and_sure_where_nothing_is_near() -> None:
    found = nulls_of([BOTH, NONE, LOW], ONE)
    assert (found.scores.tolist(), found.right.tolist()) == ([1.0, 0.7], [True, False])
    assert (sureness(None), sureness(0.123456)) == (1.0, 0.876544)
    assert nulls_of([LOW], Least(0.3, 0.3, many=False)).scores.size == 0, (
        "a value that scores as much as the threshold is given"
    )


def test_promises_of_values_and_of_nulls_rest_on_answers_of_their_kind_alone() -> None:
    values = [Finding(0, (Scored(0.95, True),), True)] * 60
    absent = [Finding(0, (Scored(0.02, False),), False)] * 10
    made = promise_values([*values, *absent], 0.1, ONE)
    assert (made.accepted, made.examples, made.wrong) == (60, 60, 0)
    with pytest.raises(NoPromiseError) as refused:
        promise_nulls([*values, *absent], 0.1, ONE)
    assert refused.value.examples == 10 < refused.value.needed
    made = promise_nulls([*values, *absent * 6], 0.1, ONE)
    assert (made.accepted, made.examples, made.wrong) == (60, 60, 0)
    missed = [Finding(0, (Scored(0.02, False),), True)] * 30
    with pytest.raises(NoPromiseError):
        promise_nulls([*values, *absent * 6, *missed], 0.1, ONE)
    assert promise_values([*values, *absent * 6, *missed], 0.1, ONE).wrong == 0


def test_a_stated_risk_holds() -> None:
    """Scores that are true: of 300 promises by 600 documents no more than 5% and some chance are broken."""
    chance, broken, made = random.Random(1), 0, 0
    for _ in range(300):
        shares = [chance.random() ** 0.12 for _ in range(600)]
        found = [Finding(0, (Scored(round(share, 6), chance.random() < share),), True) for share in shares]
        try:
            bar = promise_values(found, 0.1, ONE).score
        except NoPromiseError:
            continue
        made += 1
        over = [share for share in (chance.random() ** 0.12 for _ in range(4000)) if share >= bar]
        broken += 1 - sum(over) / len(over) > 0.1
    assert made > 200
    assert broken <= 0.05 * made


def test_what_is_learned_keeps_every_document_and_the_values_of_a_job(tmp_path) -> None:
    unseen = learned().unseen
    found = [one.finding for one in unseen]
    assert len(found) == 48
    assert [one.is_there for one in found if one.field == 1] == [bool(number % 4) for number in range(24)]
    for one, its in zip(unseen, found, strict=True):
        assert its.values[0] == (round(one.score, 6), one.right)
        scores = [value.score for value in its.values]
        assert scores == sorted(scores, reverse=True)
        assert all(score >= FLOOR for score in scores[1:])
    assert any(len(one.values) > 1 for one in found)
    path = tmp_path / "a.head"
    write_head(path, HeadFile({}, arrays_of(found)))
    assert findings_of(read_head(path)) == found
