"""How often `classify` is right on a model that writes: by its own probabilities, calibrated by an empty document, and
by a prior that was learned; and how many answers fall under the default threshold.

    python -m tests.benchmarks.bench_prior MODEL.gguf [KEPT.json]

Reads classification/ below CLOISTER_DATA: Banking77 with all 77 labels and with the first ten, and film reviews, of
which others are learned from than are measured. KEPT.json keeps what the model said, which takes minutes.
"""

import json
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed
from pipeline.tasks import ClassifySettings, Label, Writing
from pipeline.tasks.classify.answers import Options, mean_shares
from pipeline.tasks.classify.learn import learned_from
from pipeline.tasks.passages import cut
from tests.benchmarks.bench_classify import banking, films

FILMS = 40  # of each label, of which 15 are learned from
Labelled = Sequence[tuple[str, int]]
ROUNDS = 5


@dataclass(frozen=True)
class Case:
    """A set of labels, with documents to learn from and others to measure on; `foreign` have none of the labels."""

    name: str
    labels: tuple[str, ...]
    learn: Labelled
    test: Labelled
    foreign: Sequence[str]


def some(rows: Labelled, labels: Sequence[int], number: int, seed: int = 0) -> list[tuple[str, int]]:
    """So many of the documents of each of these labels, which are numbered anew."""
    chance = random.Random(seed)
    return [
        (text, new)
        for new, label in enumerate(labels)
        for text, _ in chance.sample([row for row in rows if row[1] == label], number)
    ]


def cases(data: Path) -> Iterator[Case]:
    """The three sets."""
    names, (train, test) = banking(data)
    spoken = tuple(name.replace("_", " ") for name in names)
    _, reviews = films(data, FILMS)
    other = [text[:600] for text, _ in reviews[::5]]
    every, ten = range(len(names)), range(10)
    yield Case("Banking77, its first 10 labels", spoken[:10], some(train, ten, 5), some(test, ten, 10), other)
    told = ("negative film review", "positive film review")
    halves = [[row for at, row in enumerate(reviews) if (at % FILMS < 15) is learn] for learn in (True, False)]
    yield Case("Film reviews, 2 labels", told, halves[0], halves[1], [text for text, _ in some(test, every, 1)[::5]])
    yield Case("Banking77, 77 labels", spoken, some(train, every, 1), some(test, every, 1), other)


def said_of(model: engine.LanguageModel, labels: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
    """The share that the model gives to each label, and to none of them, for each text."""
    settings = ClassifySettings(tuple(map(Label, labels)))
    options = Options(settings.labels, model, Writing())
    windows = [cut(Parsed(text, "text/plain", "bench"), model, options.room) for text in texts]
    asked = [
        options.request(text[window.span.start : window.span.end])
        for text, its in zip(texts, windows, strict=True)
        for window in its
    ] or [options.request("")]
    heard = dict(model.generate(asked))
    shares = iter([options.exact_shares(heard[number]) for number in range(len(asked))])
    if not any(windows):
        return [next(shares)]
    return [mean_shares([next(shares) for _ in its], [window.tokens for window in its]) for its in windows]


@dataclass(frozen=True)
class Said:
    """What the model said of a case's documents: float64 [documents, labels and none]."""

    empty: NDArray[np.float64]
    learn: NDArray[np.float64]
    test: NDArray[np.float64]
    foreign: NDArray[np.float64]

    @classmethod
    def of(cls, model: engine.LanguageModel, case: Case) -> "Said":
        """Ask the model."""
        texts = [""], [text for text, _ in case.learn], [text for text, _ in case.test], case.foreign
        return cls(*(np.array(said_of(model, case.labels, its)) for its in texts))


def divided(shares: NDArray[np.float64], by: NDArray[np.float64]) -> NDArray[np.float64]:
    """As `calibrate: true` does: each label by its share for an empty document, none of them by nothing."""
    liked = by[:-1] / by[:-1].sum() * (by.size - 1)
    weights: NDArray[np.float64] = shares / np.append(np.maximum(liked, 1e-9), 1.0)
    return weights / weights.sum(1, keepdims=True)


def error_of(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """The calibration error over tenths of the score."""
    bins = np.minimum((scores * 10).astype(int), 9)
    return float(
        sum(abs(right[bins == b].mean() - scores[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins))
    )


Scoring = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def line(name: str, case: Case, said: Said, scores_of: Scoring, threshold: float) -> str:
    """How good one way of scoring is."""
    truth = np.array([label for _, label in case.test])
    scores, foreign = scores_of(said.test)[:, :-1], scores_of(said.foreign)[:, :-1].max(1)
    best, right = scores.max(1), scores.argmax(1) == truth
    given = best >= threshold
    answered, of_them = (foreign >= threshold).mean(), right[given].mean() if given.any() else float("nan")
    return (
        f"  {name:<32} right {right.mean():.3f}   score {np.median(best):.3f}, off by {error_of(best, right):.3f}   "
        f"under {threshold:.2f}: {1 - given.mean():.2f}, right of others {of_them:.2f}, foreign given {answered:.2f}"
    )


def told(case: Case, said: Said) -> Iterator[str]:
    """The lines of a case."""
    yield f"{case.name}: {len(case.test)} documents, {len(case.foreign)} foreign ones, learned from {len(case.learn)}"
    yield line("its own probabilities", case, said, lambda shares: shares, 0.3)
    labels = tuple(Label(name) for name in case.labels)
    keys = {"labels": [{"name": label.name} for label in labels], "calibrate": True}
    default = ClassifySettings.from_keys(keys, "bench").threshold
    for name, threshold in (("calibrate: true, threshold as 0.3", 0.3), ("calibrate: true, its default", default)):
        yield line(name, case, said, lambda shares: divided(shares, said.empty[0]), threshold)
    for unlabelled in (True, False):
        numbers = [None if unlabelled else label for _, label in case.learn]
        prior, found = learned_from(case.labels, said.learn.tolist(), numbers)
        scores = lambda shares, prior=prior: np.array([prior.scores(row) for row in shares.tolist()])  # noqa: E731
        yield line(f"prior, {'no labels' if unlabelled else 'labels'}, 0.3", case, said, scores, 0.3)
        if found.threshold is not None:
            yield line("prior, labels, its threshold", case, said, scores, found.threshold)


def main() -> int:
    """Print the lines; 0."""
    data = os.environ.get("CLOISTER_DATA")
    if not data or len(sys.argv) < 2:
        print("CLOISTER_DATA is not set, or no model is named: nothing is measured")
        return 0
    kept = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    have = json.loads(kept.read_text()) if kept and kept.is_file() else {}
    model = engine.load_decoder(Path(sys.argv[1])) if len(have) < 3 else None
    for case in cases(Path(data)):
        if case.name in have:
            said = Said(*map(np.array, have[case.name]))
        else:
            assert model is not None
            said = Said.of(model, case)
            have[case.name] = [one.tolist() for one in (said.empty, said.learn, said.test, said.foreign)]
            if kept:
                kept.write_text(json.dumps(have))
        for each in told(case, said):
            print(each, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
