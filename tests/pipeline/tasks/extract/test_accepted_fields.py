"""`accepted_fields`: of several values the least sure one counts, and of null the nearest that was not given."""

import pytest

from pipeline.heads import BUILTIN, read_head
from pipeline.tasks import ExtractSettings, TaskRefusedError
from pipeline.tasks.extract.answers import Found
from pipeline.tasks.extract.head import Least, given
from pipeline.tasks.extract.promises import PromisedField
from pipeline.tasks.risk import NoPromiseError, Promise
from pipeline.text.values import Value

VALUES, NULLS = Promise(0.8, 0.05, 110, 130, 1), Promise(0.9, 0.05, 104, 105, 0)

LEAST = Least(0.35, 0.35, many=True)


def found(*scores: float) -> list[Found]:
    return [Found(Value(number, number + 1, "x", "x"), score) for number, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ((0.8, 0.95), None),
        ((0.95, 0.79), "parties scored 0.790; at most 5.00% are wrong from 0.800 on"),
        ((0.95, 0.3), "parties scored 0.300; at most 5.00% are wrong from 0.800 on"),
        ((), None),
        ((0.1,), None),
        ((0.101,), "parties has no value, and the nearest scored 0.101; at most 5.00% of such are wrong up to 0.100"),
    ],
)
def test_an_answer_that_is_not_accepted_is_told_with_its_field(scores: tuple[float, ...], told: str | None) -> None:
    its = found(*scores)
    assert PromisedField("parties", VALUES, NULLS, None).review(its, given(its, LEAST)) == told


def test_the_head_for_contracts_bears_promises() -> None:
    """Its 50 contracts bear 10% of the field that each of them has, and say so of one that few have."""
    head = read_head(BUILTIN / "contracts.head")
    title = {"name": "document_name", "type": "title", "accept": {"risk": 0.1}}
    (told,) = ExtractSettings.from_json({"fields": [title]}).promises(head)
    assert told.startswith("document_name from a score of 0.600 on, at most 10.00% of its values wrong: 50 of 50")
    term = {"name": "renewal_term", "type": "text", "accept": {"risk": 0.1}}
    with pytest.raises(TaskRefusedError, match="cannot be promised by 12 values in unseen examples; it needs 47"):
        ExtractSettings.from_json({"fields": [term]}).check_head(head)


def test_without_a_promise_each_null_is_for_review() -> None:
    one = PromisedField("parties", VALUES, None, NoPromiseError(0.05, 12, 97))
    assert one.review([], []) == one.review(found(0.01), []) == "parties has no value, of which nothing is promised"
    assert one.review(found(0.9), found(0.9)) is None
    assert one.in_words().endswith("null is for review: 12 unseen do not bear the promise, which needs 97 at least")
    wrong = PromisedField("parties", VALUES, None, NoPromiseError(0.05, 120, 97)).in_words()
    assert wrong.endswith("null is for review: of 120 unseen too many were wrong")
