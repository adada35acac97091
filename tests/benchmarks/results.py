"""What a run of the benchmark measured, before anything is made of it."""

import math
import statistics
from dataclasses import dataclass, field

Seconds = dict[str, list[float | None]]
"""Contender -> seconds of each round; None where it had crashed."""


@dataclass(frozen=True)
class Point:
    """So many texts, of `tokens` tokens each or of a set, in so many threads."""

    threads: int
    what: str  # 128, mixed, sorted
    texts: int


@dataclass
class Results:
    """Everything; what was not measured is empty."""

    machine: str = ""
    isa: str = ""  # the best instruction set of the CPU
    mixture: str = ""
    compared: str = ""  # the texts of `cosines`
    speeds: dict[Point, Seconds] = field(default_factory=dict)
    scaling: dict[str, Seconds] = field(default_factory=dict)  # what -> contenders "1" and "2": threads
    cosines: dict[str, list[float]] = field(default_factory=dict)  # contender -> with torch float32, of each text
    shares: dict[str, dict[str, float]] = field(default_factory=dict)  # contender -> as process.shares
    own_bytes: dict[str, int] = field(default_factory=dict)
    start_seconds: list[float] = field(default_factory=list)
    cold_seconds: float | None = None
    documents: list[tuple[str, str]] = field(default_factory=list)  # heading and text of each measurement of parsers
    jobs: list[tuple[str, int, float, float, int]] = field(default_factory=list)
    """What they are of; documents, tokens each, seconds, peak bytes."""
    banking: tuple[float, float] | None = None  # bench_banking.Right
    absent: list[str] = field(default_factory=list)


def rate(point: Point, seconds: Seconds, name: str) -> float | None:
    """Texts a second, by the median round; None if it did not end every round."""
    rounds = seconds.get(name, [])
    whole = [each for each in rounds if each is not None]
    return point.texts / statistics.median(whole) if whole and len(whole) == len(rounds) else None


def ratio(seconds: Seconds, ours: str, peer: str) -> float | None:
    """How many times as fast: the median over rounds, in each of which both had their turn."""
    pairs = zip(seconds.get(ours, []), seconds.get(peer, []), strict=False)
    found = [b / a for a, b in pairs if a is not None and b is not None]
    return statistics.median(found) if found else None


def percentile(values: list[float], share: float) -> float:
    """With linear interpolation, as numpy's."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)
