"""What people accepted and corrected teaches a job, and measures it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline import Review, RunPlan
from pipeline.document import Row
from pipeline.plan import Retention
from pipeline.review.examples import review_examples
from pipeline.tasks import ClassifySettings, Field, Label
from pipeline.tasks.examples import ExamplesRefusedError, Mistake
from pipeline.tasks.extract.decided import taught
from tests.pipeline.conftest import TASK, Witness

Drop = Callable[[str, bytes | str], Path]


def lines(plan: RunPlan) -> list[dict[str, Any]]:
    with review_examples(plan, placed=True) as file:
        return [json.loads(line) for line in file.read_text().splitlines()]


def entries(plan: RunPlan) -> dict[str, int]:
    return {row["path"]: row["audit_index"] for row in pipeline.results(plan.site)}


def text(number: int) -> str:
    return f"The landlord leases flat {number}." if number % 2 else f"Invoice {number}, total due {number}.00 EUR."


@pytest.fixture
def decided(plan: RunPlan, drop: Drop) -> RunPlan:
    """A job whose twelve rows people corrected or accepted, but for one that was rejected and one that waits."""
    for number in range(14):
        drop(f"{number:02}.txt", text(number))
    pipeline.run(plan, observer=Witness())
    rows = {row["path"]: row for row in pipeline.results(plan.site)}
    for number in range(13):
        row, right = rows[f"{number:02}.txt"], "lease" if number % 2 else "invoice"
        action = "rejected" if number == 12 else "accepted" if row["label"] == right else "corrected"
        answer = {"label": right} if action == "corrected" else None
        pipeline.decide(plan.site, Review("sort", row["audit_index"], action, "Ada", None, answer))
    return plan


def test_they_are_the_rows_that_hold_with_their_texts(decided: RunPlan) -> None:
    expected = [{"text": text(n), "label": "lease" if n % 2 else "invoice"} for n in range(12)]
    assert lines(decided) == expected
    first = entries(decided)["00.txt"]
    pipeline.decide(decided.site, Review("sort", first, "corrected", "Bob", None, {"label": "lease"}))
    assert lines(decided)[-1] == {"text": text(0), "label": "lease"}  # the last decision holds, and only it
    assert len(lines(decided)) == 12
    other = replace(decided, task=ClassifySettings(labels=(Label("lease"), Label("letter")), threshold=0.0))
    assert {each["label"] for each in lines(other)} == {"lease"}
    assert not list(decided.site.state.glob("review-*"))


def test_a_head_is_learned_from_them_and_a_job_is_measured_on_them(decided: RunPlan) -> None:
    decided.site.models.mkdir()
    with review_examples(decided, placed=True) as file:
        report = pipeline.learn_head(decided, file, lambda done, total, what: None)
    assert report.examples == 12
    with review_examples(decided, placed=False) as file:
        found = pipeline.qualify(decided, pipeline.quality.Asked(source=file), lambda done, total, what: None)
    assert found.documents == 12
    assert decided.task == TASK


def test_without_any_it_is_said_what_helps(plan: RunPlan, drop: Drop) -> None:
    drop("a.txt", text(1))
    pipeline.run(plan, observer=Witness())
    with pytest.raises(ExamplesRefusedError, match="no row of sort was accepted or corrected"), \
            review_examples(plan, placed=True):  # fmt: skip
        pass


def refuse_last_and_first(file: Path) -> None:
    last = len(file.read_text().splitlines())
    raise ExamplesRefusedError([Mistake(f"{file}:{last}", f"the text of {file}:1"), Mistake(f"{file}:1: x", "?")])


def test_mistakes_name_rows_and_no_file_that_nobody_gave(decided: RunPlan) -> None:
    decided.site.models.mkdir()
    rows = entries(decided)
    other = replace(decided, task=ClassifySettings(labels=(Label("lease"), Label("invoice"), Label("none"))))
    with pytest.raises(ExamplesRefusedError) as few, review_examples(other, placed=True) as file:
        pipeline.learn_head(other, file, lambda done, total, what: None)
    assert [one.where for one in few.value.mistakes] == ["review"]
    with pytest.raises(ExamplesRefusedError) as bad, review_examples(decided, placed=True) as file:
        refuse_last_and_first(file)
    assert [(one.where, one.found) for one in bad.value.mistakes] == [
        (f"review, row {rows['11.txt']}", f"the text of review, row {rows['00.txt']}"),
        (f"review, row {rows['00.txt']}: x", "?"),
    ]


def test_what_is_gone_is_left_out(decided: RunPlan) -> None:
    pipeline.run(replace(decided, retention=Retention(archive_days=1e-9)), observer=Witness())
    with pytest.raises(ExamplesRefusedError, match="or their texts are gone"), review_examples(decided, placed=True):
        pass


def test_values_of_fields() -> None:
    at = {"start": 3, "end": 7}
    fields = [
        {"name": "total", "value": "1 EUR", "evidence": at},
        {"name": "due", "value": None, "evidence": None},
        {"name": "party", "value": "A", "evidence": at},
        {"name": "party", "value": "B", "evidence": None},
        {"name": "gone", "value": "x", "evidence": at},
    ]
    asked, row = [Field(name) for name in ("total", "due", "party", "new")], Row({"fields": fields})
    assert dict(taught(asked, row, placed=True)) == {"total": [[3, 7]], "due": None}
    told = {"total": [[3, 7]], "due": None, "party": [[3, 7], "B"]}
    assert dict(taught(asked, row, placed=False)) == told
