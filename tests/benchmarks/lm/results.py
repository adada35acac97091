"""What a run measured, before anything is made of it."""

import statistics
from collections.abc import Collection
from dataclasses import dataclass, field

from tests.benchmarks.lm.accuracy import Errors
from tests.benchmarks.lm.night import Night

OURS = "cloister"
File = tuple[str, str]
"""A shape and a mix."""
Memory = dict[str, float]
"""Bytes: `resident` in RAM, of the process; `kv` and `weights`, of keys and values and of matrices among it, where
that is known; `most` while the file was loaded, which took `seconds`; `first_most`, `first_seconds`: the first time."""
Rates = dict[str, list[float | None]]
"""Contender -> what it did in each round; None where it had crashed."""


@dataclass(frozen=True)
class Point:
    """`prompt`, `decode`, `decode 16` (tokens a second) or `night`, `night, free` (documents an hour) of a file, in so
    many threads."""

    what: str
    shape: str
    mix: str
    threads: int = 1

    @property
    def file(self) -> File:
        return self.shape, self.mix


@dataclass
class Results:
    """Everything; what was not measured is empty."""

    machine: str = ""
    isa: str = ""
    rates: dict[Point, Rates] = field(default_factory=dict)
    nights: dict[Point, dict[str, Night]] = field(default_factory=dict)
    bandwidth: dict[int, float] = field(default_factory=dict)  # threads -> bytes a second
    file_bytes: dict[File, int] = field(default_factory=dict)
    token_bytes: dict[File, int] = field(default_factory=dict)  # of weights that a token needs
    memory: dict[File, dict[str, Memory]] = field(default_factory=dict)
    starts: dict[File, dict[str, list[float]]] = field(default_factory=dict)  # seconds
    errors: dict[File, dict[str, Errors]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def rate(rates: Rates, name: str) -> float | None:
    """The median; None if it did not end every round."""
    rounds = rates.get(name, [])
    whole = [each for each in rounds if each is not None]
    return statistics.median(whole) if whole and len(whole) == len(rounds) else None


def best_peer(rates: Rates, among: Collection[str] = ()) -> str | None:
    """The fastest of the others, or of some of them."""
    others = [name for name in rates if name != OURS and (not among or name in among)]
    found = {name: each for name in others if (each := rate(rates, name)) is not None}
    return max(found, key=lambda name: found[name]) if found else None


def ratio(rates: Rates, peer: str | None) -> float | None:
    """How many times as fast ours is: the median over rounds, in each of which both had their turn."""
    pairs = zip(rates.get(OURS, []), rates.get(peer or "", []), strict=False)
    found = [a / b for a, b in pairs if a is not None and b is not None]
    return statistics.median(found) if found else None


def share(results: Results, point: Point) -> float | None:
    """Of the memory's bandwidth: what decoding one sequence reads of the file's weights."""
    found = rate(results.rates.get(point, {}), OURS)
    read = results.bandwidth.get(point.threads)
    if found is None or not read or point.file not in results.token_bytes:
        return None
    return found * results.token_bytes[point.file] / read
