"""Values that a person gives: how one of each type may be written."""

import pytest

from pipeline.review.refused import ReviewRefusedError
from pipeline.review.values import EXAMPLES, Given, settled


@pytest.mark.parametrize(("kind", "example"), EXAMPLES.items())
def test_what_a_refusal_proposes_is_taken(kind: str, example: str) -> None:
    assert settled("field", kind, None, Given(example), None, None).value.replace(" ", "") == example.replace(" ", "")
    with pytest.raises(ReviewRefusedError, match=r"or like ") as refused:
        settled("field", kind, None, Given("a b c"), None, None)
    assert str(refused.value).endswith(example)
