"""Is a night unlike the ones before? Counts of the same kind (labels, scores, states) of several nights are compared.

Documents of one night come in batches that are alike, so nights differ by more than chance would have single documents
differ. How much more is taken from the earlier nights themselves: with `k` of them and `c` kinds, the statistic is

    F = X² / (φ (c - 1)),    X² = 1 / (1 + n / N) · Σ (o - e)² / e,    φ = max(1, Σ X²(earlier) / ((k - 1)(c - 1)))

where `o` are tonight's `n` counts, `e` those that the `N` of all earlier nights let expect, and X²(earlier) is the same
of each earlier night. F is judged by the normal approximation of its distribution with c - 1 and (k - 1)(c - 1) degrees
of freedom (Paulson 1942). A night is unlike the others if three things hold: that is above BOUND, so it is not chance;
the population stability index, Σ (o/n - e/n) ln(o/e), is above LEAST, so it is not too little to matter; and it is more
than FARTHER times that of any earlier night against the others, so it is not what happens now and then.
tests/benchmarks/bench_drift.py says how often that is wrong, and what it finds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Final

BOUND: Final = 3.0
LEAST: Final = 0.1
FARTHER: Final = 2.0
NIGHTS: Final = 4
"""Earlier nights that there must be, at least."""
DOCUMENTS: Final = 30
"""Counts of a night that is compared, at least."""
_EXPECTED: Final = 5.0
"""Kinds of which fewer are expected are taken together."""
_FLOOR: Final = 0.5
_RARE: Final = ""

Counts = Mapping[str, int]


@dataclass(frozen=True)
class Compared:
    """Tonight against the nights before: the index, the deviation by which it is judged, and whether it is unlike them.
    `kind` changed most: its share before and tonight. `before`: the index of each earlier night against the others,
    None of one that is too small."""

    index: float
    deviation: float
    unlike: bool
    kind: str
    was: float
    now: float
    before: tuple[float | None, ...]


def compare(tonight: Counts, earlier: Sequence[Counts]) -> Compared | None:
    """Compare a night with those before it, of which small ones do not count. None where there are too few."""
    nights = [counts for counts in earlier if _is_large(counts)]
    if not _is_large(tonight) or len(nights) < NIGHTS:
        return None
    pool = _added(nights)
    kinds = _kinds(pool, tonight)
    whole, now, *each = (_gathered(counts, kinds) for counts in (pool, tonight, *nights))
    if len(kinds) < 2:
        return Compared(0.0, 0.0, False, kinds[0], 1.0, 1.0, tuple(0.0 if _is_large(one) else None for one in earlier))
    deviation = _deviation(whole, now, each)
    index = _index(whole, now)
    kind = max(kinds, key=lambda name: abs(_share(now, name) - _share(whole, name)))
    indices = [_index(_less(whole, one), one) for one in each]
    unlike = deviation > BOUND and index > max(LEAST, FARTHER * max(indices))
    told = iter(indices)
    before = tuple(next(told) if _is_large(counts) else None for counts in earlier)
    return Compared(index, deviation, unlike, kind, _share(whole, kind), _share(now, kind), before)


def _is_large(counts: Counts) -> bool:
    return sum(counts.values()) >= DOCUMENTS


def _added(nights: Sequence[Counts]) -> dict[str, int]:
    pool: dict[str, int] = {}
    for counts in nights:
        for name, count in counts.items():
            pool[name] = pool.get(name, 0) + count
    return pool


def _kinds(pool: Counts, tonight: Counts) -> list[str]:
    """The kinds that are counted by themselves, in their order; the others are taken together as _RARE."""
    share = sum(tonight.values()) / sum(pool.values())
    often = sorted(name for name, count in pool.items() if count * share >= _EXPECTED and name != _RARE)
    return [*often, _RARE] if pool.keys() | tonight.keys() > set(often) else often


def _gathered(counts: Counts, kinds: Sequence[str]) -> dict[str, float]:
    gathered = dict.fromkeys(kinds, 0.0)
    for name, count in counts.items():
        gathered[name if name in gathered else _RARE] += count
    return gathered


def _deviation(whole: Mapping[str, float], now: Mapping[str, float], each: Sequence[Mapping[str, float]]) -> float:
    """By how many standard deviations F lies above what chance alone gives."""
    freedom = len(whole) - 1
    second = freedom * (len(each) - 1)
    spread = max(1.0, sum(_chi_square(whole, one, 0.0) for one in each) / second)
    ratio = _chi_square(whole, now, 1.0) / (spread * freedom)
    a, b, root = 2 / (9 * freedom), 2 / (9 * second), float(ratio ** (1 / 3))
    return ((1 - b) * root - (1 - a)) / sqrt(b * root * root + a)


def _chi_square(whole: Mapping[str, float], one: Mapping[str, float], apart: float) -> float:
    """X²; `apart` is 1 where `one` is no part of the whole."""
    scale = sum(one.values()) / sum(whole.values())
    terms = ((one[name] - count * scale) ** 2 / max(count * scale, _FLOOR) for name, count in whole.items())
    return sum(terms) / (1 + apart * scale)


def _less(whole: Mapping[str, float], one: Mapping[str, float]) -> dict[str, float]:
    return {name: count - one[name] for name, count in whole.items()}


def _index(whole: Mapping[str, float], one: Mapping[str, float]) -> float:
    """The population stability index, with half a document more of each kind, so that none has a share of 0."""
    whole_of, one_of = (sum(counts.values()) + _FLOOR * len(counts) for counts in (whole, one))
    shares = [((one[name] + _FLOOR) / one_of, (count + _FLOOR) / whole_of) for name, count in whole.items()]
    return sum((now - was) * log(now / was) for now, was in shares)


def _share(counts: Mapping[str, float], name: str) -> float:
    return counts[name] / sum(counts.values())
