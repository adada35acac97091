"""The parts of learned heads: means and middles of vectors, bags of words, and checks of their files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from math import fsum, sqrt
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.heads import HeadFile
from pipeline.tasks.base import TaskRefusedError

Vectors = NDArray[np.float32]
T = TypeVar("T")
AGAIN: Final = "learn it again with `cloister learn`"
_DIGITS: Final = Context(prec=17)


def mean(vectors: Vectors) -> Vectors:
    """float32 [d]: the mean of a document's vectors, float32 [n, d] with n at least 1, summed in order."""
    total = np.zeros(vectors.shape[1])
    for vector in vectors:
        total += vector
    return (total / len(vectors)).astype(np.float32)


def middle(vectors: Sequence[Vectors]) -> Vectors:
    """float32 [d]: the middle of the vectors of all documents, each float32 [n, d], summed in order."""
    total, count = np.zeros(vectors[0].shape[1]), 0
    for its in vectors:
        for row in its:
            total += row
        count += len(its)
    return (total / max(1, count)).astype(np.float32)


def middle_and_scale(vectors: Sequence[Vectors]) -> tuple[Vectors, float]:
    """The middle of all vectors, and the factor that makes their mean distance from it 1."""
    centre = middle(vectors)
    distances = [sqrt(fsum(value * value for value in row)) for its in vectors for row in (its - centre).tolist()]
    return centre, len(distances) / (fsum(distances) or 1.0)


def bags_of(words: Iterable[Iterable[str]], numbers: Mapping[str, int]) -> "engine.Bags":
    """The known words of each candidate, each once, by their numbers."""
    starts, found = [0], list[int]()
    for its in words:
        found += sorted({numbers[word] for word in its if word in numbers})
        starts.append(len(found))
    return engine.Bags(
        np.array(starts, np.int64), np.array(found, np.int32), np.ones(len(found), np.float32), len(numbers)
    )


def size(number: int) -> int:
    """0, 1, 2, 3, 4, 6, 8, 12, 16, 24, ...: a number by the half powers of two below it."""
    if number < 4:
        return number
    power = 1 << (number.bit_length() - 1)
    return power + power // 2 if number >= power + power // 2 else power


@lru_cache(1 << 16)
def ln(number: float | Decimal) -> float:
    """The natural logarithm, rounded correctly: that of the C library has other last bits on other processors."""
    return float(_DIGITS.ln(Decimal(number)))


def check_kind(head: HeadFile, kind: str) -> None:
    """ValueError unless a head is of this kind."""
    if head.facts["kind"] != kind:
        raise ValueError(f"it is a head for the task {head.facts['kind']!r}")


def check_shapes(head: HeadFile, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """ValueError unless the arrays of a head have these shapes."""
    for name, shape in shapes.items():
        if head.arrays[name].shape != shape:
            raise ValueError(f"the array {name} has the shape {head.arrays[name].shape}, expected {shape}")


def read_as(read: Callable[[HeadFile], T], head: HeadFile) -> T:
    """A head as `read` makes it of its file. TaskRefusedError if its parts do not go together."""
    try:
        return read(head)
    except (ValueError, KeyError, TypeError) as error:
        raise TaskRefusedError(f"its head cannot be used: {error}; {AGAIN}") from error


def calibration_error(scores: NDArray[np.float32], right: NDArray[np.bool_]) -> float:
    """The mean, over tenths of the score and weighted by how many fall there, of |share that is right - mean score|."""
    tenths = np.minimum((scores * 10).astype(int), 9)
    return sum(
        abs(float(right[one].mean()) - float(scores[one].mean())) * float(one.mean())
        for one in (tenths == number for number in range(10))
        if one.any()
    )
