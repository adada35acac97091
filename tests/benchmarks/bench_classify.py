"""How often `classify` is right with a head that was learned from examples, and how often its scores say so.

    python -m tests.benchmarks.bench_classify MODEL.gguf

Reads classification/ below CLOISTER_DATA: Banking77 (77 labels, questions of one line) by its own test set, and film
reviews (2 labels, whole documents), of which 250 a label are not learned from.
"""

import csv
import os
import random
import statistics
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed
from pipeline.tasks.classify.fit import Examples, Learned, learn
from pipeline.tasks.classify.head import Vectors
from pipeline.tasks.classify.learn import means_of

ROUNDS = 5
HELD = 250


@dataclass(frozen=True)
class Documents:
    """Documents with the means of their vectors, and their labels as numbers."""

    means: Vectors
    texts: list[str]
    labels: NDArray[np.int32]

    def some(self, rows: Sequence[int]) -> "Documents":
        """Those of these rows."""
        picked = np.array(rows, np.int64)
        return Documents(self.means[picked], [self.texts[row] for row in rows], self.labels[picked])


def read(model: engine.Model, labelled: Sequence[tuple[str, int]]) -> Documents:
    """Texts with their labels as documents."""
    texts, labels = zip(*labelled, strict=True)
    parsed = [Parsed(text, "text/plain", "bench") for text in texts]
    return Documents(means_of(parsed, model, lambda done, total: None), list(texts), np.array(labels, np.int32))


def banking(data: Path) -> tuple[list[str], list[list[tuple[str, int]]]]:
    """The names of the labels, and train and test."""
    folder = data / "classification" / "banking77" / "banking_data"
    rows = [list(csv.DictReader((folder / f"{part}.csv").open(newline=""))) for part in ("train", "test")]
    names = sorted({row["category"] for row in rows[0]})
    return names, [[(row["text"], names.index(row["category"])) for row in part] for part in rows]


def films(data: Path, number: int) -> tuple[list[str], list[tuple[str, int]]]:
    """The names of the labels, and `number` reviews of each."""
    archive = zipfile.ZipFile(data / "classification" / "movie_reviews" / "movie_reviews.zip")
    names = ["neg", "pos"]
    found = [[name for name in sorted(archive.namelist()) if f"/{label}/cv" in name][:number] for label in names]
    return names, [(archive.read(name).decode("latin-1"), label) for label, its in enumerate(found) for name in its]


def picked(labels: NDArray[np.int32], number: int | None, seed: int) -> list[int]:
    """So many documents of each label; all of them for None."""
    chance, rows = random.Random(seed), list[int]()
    for label in range(int(labels.max()) + 1):
        its = np.flatnonzero(labels == label).tolist()
        rows += its if number is None else chance.sample(its, number)
    return rows


def measured(learned: Learned, test: Documents) -> tuple[float, float]:
    """The share that is right, and the calibration error over fifteenths of the score."""
    found = learned.classifier.probabilities(test.means, test.texts)
    scores, right = found.max(1), found.argmax(1) == test.labels
    bins = np.minimum((scores * 15).astype(int), 14)
    error = sum(
        abs(right[bins == one].mean() - scores[bins == one].mean()) * (bins == one).mean() for one in np.unique(bins)
    )
    return float(right.mean()), float(error)


def rounds(
    names: Sequence[str], said: Documents, train: Documents, numbers: Sequence[int | None], test: Documents
) -> Iterator[str]:
    """A line for each number of examples a label: the medians over several draws."""
    for number in numbers:
        results, seconds = [], []
        for seed in range(ROUNDS if number else 1):
            its = train.some(picked(train.labels, number, seed))
            means: Vectors = np.concatenate([said.means, its.means])
            labels: NDArray[np.int32] = np.concatenate([said.labels, its.labels])
            examples = Examples(means, [*said.texts, *its.texts], labels, len(names))
            begun = time.perf_counter()
            learned = learn(examples, names)
            seconds.append(time.perf_counter() - begun)
            results.append((*measured(learned, test), learned.words))
        right, error, words = (statistics.median(column) for column in zip(*results, strict=True))
        yield (
            f"{number or 'all':>5} a label   right {right:.4f}   calibration error {error:.4f}   "
            f"{words:6.0f} words   learned in {statistics.median(seconds):.2f} s"
        )


def main() -> int:
    """Print the lines; 0."""
    data = os.environ.get("CLOISTER_DATA")
    if not data or len(sys.argv) != 2:
        print("CLOISTER_DATA is not set, or no model is named: nothing is measured")
        return 0
    model = engine.load(Path(sys.argv[1]))
    names, (train, test) = banking(Path(data))
    said = read(model, [(name.replace("_", " "), label) for label, name in enumerate(names)])
    print(f"Banking77, {len(names)} labels, {len(test):,} held out")
    for line in rounds(names, said, read(model, train), (5, 20, None), read(model, test)):
        print(line, flush=True)
    names, reviews = films(Path(data), 2 * HELD)
    documents, said = read(model, reviews), read(model, [("negative", 0), ("positive", 1)])
    held = set(picked(documents.labels, HELD, 0))
    parts = [[row for row in range(len(reviews)) if (row in held) is out] for out in (False, True)]
    print(f"Film reviews, 2 labels, {len(parts[1]):,} held out")
    for line in rounds(names, said, documents.some(parts[0]), (10, 100, HELD), documents.some(parts[1])):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
