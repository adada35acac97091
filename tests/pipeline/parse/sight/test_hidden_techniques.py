"""No word that a rendered page does not show reaches the model, and none that it shows is lost."""

from collections import Counter

import pytest

from tests.hidden import FAMILIES
from tests.hidden.base import Technique

ALL = [pytest.param(one, id=f"{family}: {one.name}") for family, build in FAMILIES.items() for one in build()]


@pytest.mark.parametrize("technique", ALL)
def test_the_model_reads_what_a_page_shows(parse, technique: Technique) -> None:
    parsed = parse(technique.data, technique.file_name)
    assert technique.reached(parsed.text) == []
    assert technique.lost(parsed.text) == []
    if not technique.hidden:
        assert parsed.hidden == ()


@pytest.mark.parametrize("family", FAMILIES)
def test_techniques_say_what_they_hide(family: str) -> None:
    techniques = FAMILIES[family]()
    assert [name for name, count in Counter(one.name for one in techniques).items() if count > 1] == []
    assert any(one.hidden for one in techniques)
    assert any(not one.hidden for one in techniques), "a family has controls"
    assert all(not one.name.startswith("control:") for one in techniques if one.hidden)
    assert all(one.shown for one in techniques)
