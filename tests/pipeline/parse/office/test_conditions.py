"""Conditional formats: which hold, which do not, and which cannot be told."""

import pytest

from pipeline.parse.office.sheets.cell_styles import PLAIN
from pipeline.parse.office.sheets.conditions import Areas, Rule, read_areas


@pytest.mark.parametrize(
    ("kind", "operator", "formulas", "holds"),
    [
        ("expression", "", ("TRUE",), True),
        ("expression", "", ("=TRUE()",), True),
        ("expression", "", ("0",), False),
        ("expression", "", ("1=2",), False),
        ("expression", "", ("A1>0",), None),
        ("expression", "", (), None),
        ("cellIs", "greaterThan", ("41",), True),
        ("cellIs", "greaterThan", ("A1",), None),
        ("cellIs", "lessThan", ('"a"',), True),
        ("cellIs", "equal", ("42",), True),
        ("cellIs", "between", ("50", "40"), True),
        ("cellIs", "notBetween", ("40", "50"), False),
        ("cellIs", "between", ("40",), None),
        ("cellIs", "none such", ("40",), None),
        ("notContainsBlanks", "", ("LEN(TRIM(A1))>0",), True),
        ("containsErrors", "", ("ISERROR(A1)",), False),
        ("colorScale", "", (), None),
        ("top10", "", (), None),
    ],
)
def test_whether_a_rule_holds_for_42(kind: str, operator: str, formulas: tuple[str, ...], holds: bool | None) -> None:
    assert Rule(1, kind, operator, formulas, PLAIN).holds("42", 42.0) is holds


def test_texts_are_compared_as_texts_and_come_after_numbers() -> None:
    def holds(operator: str, formula: str) -> bool | None:
        return Rule(1, "cellIs", operator, (formula,), PLAIN).holds("Note", None)

    assert holds("equal", '"note"')
    assert holds("greaterThan", "1000000")
    assert not holds("equal", "1")


def test_values_in_areas() -> None:
    areas = Areas[str]()
    areas.add("B2:C3 $E$5", "small")
    areas.add("A1:A1048576", "tall")
    assert list(read_areas("B:B 2:2")) == [(1, 2, 1_048_576, 2), (2, 1, 2, 16_384)]
    found = {(row, column): areas.at(row, column) for row in range(1, 7) for column in range(1, 7)}
    small = {place for place, values in found.items() if values and any(value == "small" for _, value in values)}
    tall = {place for place, values in found.items() if values and any(value == "tall" for _, value in values)}
    assert small == {(2, 2), (2, 3), (3, 2), (3, 3), (5, 5)}
    assert tall == {(row, 1) for row in range(1, 7)}


def test_too_many_areas_are_not_looked_at_for_ever() -> None:
    areas = Areas[int]()
    for number in range(5000):
        areas.add("A1:A1048576", number)
    found = [areas.at(row, 2) for row in range(1, 3001)]
    assert found[0] == []
    assert found[-1] is None
