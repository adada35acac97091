"""How much a learned head loses on Banking77 for its vectors are not float32's: questions, 77 labels, its own test set.

    python -m tests.benchmarks.bench_banking        needs CLOISTER_MODEL, CLOISTER_MINILM, CLOISTER_DATA

One head is learned on the vectors of the GGUF file, another in the same way on those of the original model in float32,
from all questions to learn from; each is asked on vectors of its own kind. Without torch and transformers float32's are
those of `tests/reference/bert.py`, which takes five minutes more.
"""

import csv
import os
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.tasks.classify.fit import FLAT, PENALTY
from tests.benchmarks.contenders import torch_float32, usable
from tests.benchmarks.texts import BANKING
from tests.reference.bert import Reference

F32 = NDArray[np.float32]
TOGETHER = 64


class Right(NamedTuple):
    """Shares of the test set that are right."""

    ours: float
    float32: float

    @property
    def points_lost(self) -> float:
        """Less than 0 where ours is right more often."""
        return 100 * (self.float32 - self.ours)


def measure(model: engine.Model, original: Path, data: Path) -> Right:
    """Learn both heads, and ask them; `original` is the Hugging Face folder."""
    rows = {part: list(csv.DictReader((data / BANKING / f"{part}.csv").open(newline=""))) for part in ("train", "test")}
    names = sorted({row["category"] for row in rows["train"]})
    labels = {part: np.array([names.index(row["category"]) for row in its], np.int32) for part, its in rows.items()}
    texts = {part: [row["text"] for row in its] for part, its in rows.items()}
    found = []
    for embed in (model.embed, lambda its: exact(model._tokenizer.encode_many(its), original)):
        vectors = {part: embed(its) for part, its in texts.items()}
        found.append(right(vectors["train"], labels["train"], vectors["test"], labels["test"]))
    return Right(*found)


def exact(texts: list[NDArray[np.int32]], original: Path) -> F32:
    """float32 vectors of texts that are token ids."""
    if not usable("torch float32"):
        reference = Reference(original)
        return np.stack([reference.embed(ids) for ids in texts]).astype(np.float32)
    embed, order = torch_float32(engine.threads()), sorted(range(len(texts)), key=lambda i: len(texts[i]))
    batches = [order[i : i + TOGETHER] for i in range(0, len(order), TOGETHER)]
    vectors = np.concatenate([embed([texts[row].astype(np.int64) for row in rows]) for rows in batches])
    return vectors[np.argsort(order)]


def right(known: F32, labels: NDArray[np.int32], asked: F32, truth: NDArray[np.int32]) -> float:
    """The share that a head is right on; it is learned as by `cloister learn`."""
    head = engine.fit_logistic(known, labels, int(labels.max()) + 1, PENALTY / sqrt(len(labels)), flat=FLAT)
    return float((head.logits(asked).argmax(1) == truth).mean())


def main() -> None:
    """Print a line."""
    model, minilm, data = (os.environ[f"CLOISTER_{name}"] for name in ("MODEL", "MINILM", "DATA"))
    found = measure(engine.load(model), Path(minilm), Path(data))
    print(f"right {found.ours:.4f}, with float32 vectors {found.float32:.4f}: {found.points_lost:.2f} points lost")


if __name__ == "__main__":
    main()
