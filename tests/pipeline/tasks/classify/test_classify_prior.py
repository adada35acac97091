"""Classify on a model that writes with what was learned of its habits, and the default threshold."""

from math import log

import numpy as np
import pytest

from pipeline.answer.converse import Conversing
from pipeline.document import Parsed
from pipeline.heads import HeadFile
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Row, Work
from pipeline.tasks import ClassifySettings, Label, TaskRefusedError, Writing
from pipeline.tasks.classify.head import Prior
from tests.pipeline.tasks.scribe import Scribe

LABELS = (Label("lease"), Label("letter"))
HEAD = Prior(("lease", "letter"), np.array([0.9, 0.1], np.float32)).to_file()
SHARES = {"lease": 0.6, "letter": 0.2, "none of these": 0.2}


def rows_of(settings: ClassifySettings, head: HeadFile, *texts: str, context: int = 8192) -> list[Row]:
    scribe = Scribe(lambda told, spec: {"quote": "A"}, lambda told, text: log(SHARES[text]), context=context)
    task = settings.on_prior(scribe, Writing(), head)
    works = [
        Work(Arrival(str(at), "a.txt", 1), Parsed(text, "text/plain", "none"), 0.0) for at, text in enumerate(texts)
    ]
    return [row for group in Conversing(task, scribe)(works, lambda done, of: None) for _, row in group if row]


def test_a_label_that_the_model_answers_to_anything_counts_for_less() -> None:
    (row,) = rows_of(ClassifySettings(LABELS), HEAD, "A document.")
    weights = {"letter": 0.2 / 0.2, "lease": 0.6 / 1.8}
    total = sum(weights.values()) + 0.2
    assert (row["label"], row["state"]) == ("letter", "done")
    assert {one["label"]: one["score"] for one in row["scores"]} == {
        name: pytest.approx(weight / total, abs=1e-6) for name, weight in weights.items()
    }


def test_parts_and_neighbours_make_no_difference() -> None:
    """Each part has the same shares, so the whole document has them too."""
    long = "A document of some words. " * 300
    rows = rows_of(ClassifySettings(LABELS), HEAD, "A document.", long, "A document.", context=3000)
    assert len(rows[1]["chunks"]) > 1
    assert rows[0]["scores"] == rows[1]["scores"] == rows[2]["scores"]


def test_what_is_under_the_threshold_is_not_given() -> None:
    (row,) = rows_of(ClassifySettings(LABELS, threshold=0.9), HEAD, "A document.")
    assert (row["state"], row["label"]) == ("abstained", None)


def test_a_head_that_the_task_cannot_use_is_refused() -> None:
    settings = ClassifySettings(LABELS)
    settings.check_head(HEAD)
    with pytest.raises(TaskRefusedError, match="learned for other labels"):
        ClassifySettings((*LABELS, Label("more"))).check_head(HEAD)
    with pytest.raises(TaskRefusedError, match=r"remove task\.calibrate"):
        ClassifySettings(LABELS, calibrate=True).check_head(HEAD)
    with pytest.raises(TaskRefusedError, match="its head cannot be used"):
        settings.on_prior(Scribe(), Writing(), HeadFile({**HEAD.facts, "kind": "classify"}, HEAD.arrays))


@pytest.mark.parametrize(
    ("labels", "keys", "threshold"),
    [
        (2, {}, 0.3),
        (76, {}, 0.3),
        (2, {"calibrate": True}, 0.3),
        (76, {"calibrate": True}, 0.019),
        (76, {"calibrate": True, "threshold": 0.3}, 0.3),
        (76, {"calibrate": False}, 0.3),
    ],
)
def test_the_default_threshold_of_calibrated_scores_is_for_as_many_labels_as_there_are(
    labels: int, keys: dict[str, object], threshold: float
) -> None:
    named = [{"name": str(number)} for number in range(labels)]
    settings = ClassifySettings.from_keys({"labels": named, **keys}, "model")
    assert settings.threshold == threshold
    assert ClassifySettings.from_json(settings.to_json()) == settings
