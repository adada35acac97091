"""What is learned for a model that writes: the mean shares of labels, a temperature, a threshold."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.document import Parsed
from pipeline.learn.reading import Read
from pipeline.tasks import Label, Writing
from pipeline.tasks.classify import learn
from pipeline.tasks.examples import Example, ExamplesRefusedError
from tests.pipeline.tasks.scribe import Scribe, document_of

NAMES = ("lease", "letter")


def told_apart(number: int, label: int, seed: int = 0) -> list[list[float]]:
    """Shares of documents of one label: the model likes the first label eight times as much, whatever it reads."""
    chance = np.random.default_rng(seed + label)
    weights = np.array([8.0, 1.0, 1.0]) * np.exp(chance.normal(0, 0.5, (number, 3)))
    weights[:, label] *= 4
    shares: list[list[float]] = (weights / weights.sum(1, keepdims=True)).tolist()
    return shares


def test_the_prior_is_the_mean_over_the_labels_of_the_mean_over_their_documents() -> None:
    shares = [[0.6, 0.2, 0.2], [0.6, 0.2, 0.2], [0.2, 0.3, 0.5]]
    prior = learn.prior_of(NAMES, shares, [0, 0, 1])
    assert prior.shares.tolist() == pytest.approx([(0.75 + 0.4) / 2, (0.25 + 0.6) / 2])
    prior = learn.prior_of(NAMES, shares, [None] * 3)
    assert prior.shares.tolist() == pytest.approx([(0.75 * 2 + 0.4) / 3, (0.25 * 2 + 0.6) / 3])
    assert learn.prior_of(NAMES, [[0.0, 0.0, 1.0]], [0]).shares.tolist() == [0.5, 0.5]


def test_more_are_right_with_what_was_learned_and_scores_are_as_often_right_as_they_say() -> None:
    shares, numbers = told_apart(40, 0) + told_apart(40, 1), [0] * 40 + [1] * 40
    prior, found = learn.learned_from(NAMES, shares, numbers)
    assert found.before is not None
    assert found.right is not None
    assert found.right > 0.9 > found.before
    assert found.calibration_error is not None
    assert found.calibration_error < 0.1
    new = told_apart(500, 0, 7) + told_apart(500, 1, 7)
    scores = np.array([prior.scores(one)[:2] for one in new])
    right = scores.argmax(1) == np.repeat([0, 1], 500)
    assert abs(float(scores.max(1).mean()) - float(right.mean())) < 0.05


def test_without_labels_the_prior_is_learned_and_nothing_is_promised() -> None:
    shares = told_apart(20, 0) + told_apart(20, 1)
    prior, found = learn.learned_from(NAMES, shares, [None] * 40)
    assert (found.right, found.threshold, prior.temperature) == (None, None, 1.0)
    assert sum(np.argmax(prior.scores(one)[:2]) == int(at >= 20) for at, one in enumerate(shares)) >= 36


def test_the_order_of_documents_makes_no_difference() -> None:
    shares = told_apart(30, 0) + told_apart(30, 1)
    turned = shares[::-1]
    first, second = (learn.prior_of(NAMES, one, [None] * 60) for one in (shares, turned))
    assert first.shares.tobytes() == second.shares.tobytes()


@pytest.mark.parametrize(
    ("scores", "right", "threshold"),
    [
        ([0.9, 0.8, 0.7, 0.6], [True, True, False, False], 0.8),
        ([0.9, 0.8, 0.8, 0.6], [True, True, False, True], 0.6),
        ([0.9, 0.8], [False, True], None),
        ([0.999, 0.315, 0.2], [False, True, True], 0.2),
    ],
)
def test_the_threshold_is_where_right_answers_outnumber_wrong_ones_by_most(
    scores: list[float], right: list[bool], threshold: float | None
) -> None:
    assert learn.threshold_of(scores, right) == threshold


def lesson(texts: list[str], labels: list[str | None]) -> learn.PriorLesson:
    read = [
        Read(Example(str(at), label, text=text), Parsed(text, "text/plain", "none"))
        for at, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    labelled = [Label(name) for name in NAMES]
    return learn.PriorLesson(labels=labelled, writing=Writing(), read=read, given=len(read))


def test_a_document_that_is_read_in_parts_counts_once() -> None:
    """Its share is the mean of its parts by their tokens."""

    def weigh(told: str, label: str) -> float:
        return 0.0 if label in document_of(told) else -3.0

    texts = ["A lease. " * 600, *(f"A letter {at}." for at in range(9))]
    learned = lesson(texts, [None] * 10).learn(Scribe(weigh=weigh, context=3000), lambda done, total: None)  # type: ignore[arg-type]
    like = np.exp(-3.0) / (1 + np.exp(-3.0))
    assert learned.head.arrays["shares"].tolist() == pytest.approx(
        [(1 - like + 9 * like) / 10, (9 * (1 - like) + like) / 10]
    )
    assert [name for _, name in learned.measured.told()][-1].startswith("not known")


def test_examples_may_have_no_label(tmp_path: Path) -> None:
    file = tmp_path / "examples.csv"
    file.write_text("text,label\na lease,lease\nwhatever,\n")
    assert [one.taught for one in learn.read_labelled(file, NAMES, free=True)] == ["lease", None]
    file.write_text("text\na lease\n")
    assert [one.taught for one in learn.read_labelled(file, NAMES, free=True)] == [None]
    folder = tmp_path / "folder"
    (folder / "letter").mkdir(parents=True)
    (folder / "letter" / "a.txt").write_text("a letter")
    (folder / "b.txt").write_text("whatever")
    assert [(one.place[-5:], one.taught) for one in learn.read_labelled(folder, NAMES, free=True)] == [
        ("b.txt", None), ("a.txt", "letter"),
    ]  # fmt: skip
    file.write_text("text,label\na lease,lodger\n")
    with pytest.raises(ExamplesRefusedError, match="the label 'lodger'"):
        learn.read_labelled(file, NAMES, free=True)
