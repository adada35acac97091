"""What the job file says of its input reaches the plan."""

import pytest

import pipeline
from jobs.load import load_job
from jobs.plan import make_plan
from jobs.workspace import open_workspace
from tests.jobs.conftest import SORT, Place


@pytest.mark.parametrize(
    ("said", "ocr"),
    [
        ("", pipeline.Ocr(enabled=True, languages=())),
        (", ocr: off", pipeline.Ocr(enabled=False, languages=())),
        (", ocr: {languages: [deu, eng]}", pipeline.Ocr(enabled=True, languages=("deu", "eng"))),
    ],
)
def test_ocr(place: Place, said: str, ocr: pipeline.Ocr) -> None:
    assert _planned(place, said).ocr == ocr


def test_the_rules_of_the_input(place: Place) -> None:
    usual = _planned(place, "")
    assert (usual.duplicates, usual.hidden, usual.priority) == ("skip", "drop", ())
    other = _planned(place, ", duplicates: warn, hidden: review, priority: [urgent, '*/today']")
    assert (other.duplicates, other.hidden, other.priority) == ("warn", "review", ("urgent", "*/today"))


def _planned(place: Place, said: str) -> pipeline.Input:
    file = place.job("sort")
    text = SORT.format(name="sort", afterwards="keep")
    file.write_text(text.replace("afterwards: keep", f"afterwards: keep{said}"))
    return make_plan(open_workspace(place.root), load_job(file)).input
