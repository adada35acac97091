"""Areas of cells, in which conditional formats hold."""

from pipeline.parse.office.sheets.conditions import Areas, read_areas


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
