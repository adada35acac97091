"""Prints the sha256 of what is learned from made-up examples. A program of its own: the environment says how."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from engine.heads import Bags, fit_logistic

CLASSES, COUNT, WIDTH, WORDS = 37, 1500, 40, 90


def examples() -> tuple[NDArray[np.float32], NDArray[np.int32], Bags]:
    """Vectors, labels and bags of words in which the labels can be told."""
    random = np.random.default_rng(11)
    labels = random.integers(0, CLASSES, COUNT).astype(np.int32)
    centres = random.standard_normal((CLASSES, WIDTH))
    x = (centres[labels] + 3 * random.standard_normal((COUNT, WIDTH))).astype(np.float32) / np.float32(8)
    sizes = random.integers(0, 9, COUNT)
    words = np.where(random.random(sizes.sum()) < 0.5, np.repeat(labels, sizes), random.integers(0, WORDS, sizes.sum()))
    counts = random.random(sizes.sum()).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return x, labels, Bags(starts, words.astype(np.int32), counts, WORDS)


if __name__ == "__main__":
    x, labels, bags = examples()
    head = fit_logistic(x, labels, CLASSES, 0.1, bags=bags)
    parts = head.weights, head.words, head.bias, head.logits(x, bags)
    print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
