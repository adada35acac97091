"""Values of examples: what people give for a value that stands in a document."""

from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.tasks.extract import learn
from pipeline.tasks.extract.fields import Sought

TEXT = "Invoice 2007\nNet: EUR 1,800.00\nTotal due: EUR 2,007.00 until 5 March 2026, 19 % of it VAT. Room 12."


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("money", "2,007.00 EUR", "2007.00 EUR"),
        ("money", "EUR 2,007.00", "2007.00 EUR"),
        ("money", "2007.00 EUR", "2007.00 EUR"),
        ("money", "2,007.00", "2007.00 EUR"),
        ("money", "1,800.00", "1800.00 EUR"),
        ("percent", "19", "19%"),
        ("date", "5 March", "2026-03-05"),
        ("number", "12", "12"),
        ("money", "2007.00", "2007.00 EUR"),
        ("money", "2007", "2007.00 EUR"),
        ("money", "3,000.00", None),
        ("text", "room 12", "room 12"),
    ],
)
def test_a_part_of_a_value_means_the_value(kind: str, said: str, value: str | None) -> None:
    field = Sought("value", kind)
    read: Any = SimpleNamespace(document=SimpleNamespace(text=TEXT))
    answer = learn._answer(said, field, read)
    assert (answer and answer.text) == value
