"""How often a night is taken to be unlike the others though it is not, and how often one that is, is found.

    python -m tests.benchmarks.bench_drift

Nights of made-up kinds: documents drawn by themselves, or with shares that vary from night to night as a Dirichlet
distribution of that concentration does (200: a share of 0.30 varies by 0.03; 30: by 0.08, as where a batch of the same
kind comes every few nights). Of nights that are unlike the others, 30% of the documents were made to be
of one kind.
"""

import itertools
import random
from collections import Counter
from collections.abc import Mapping

from pipeline.reports.drift import compare

_TRIALS = 250


def one_night(
    chance: random.Random, shares: Mapping[str, float], documents: int, spread: float | None
) -> dict[str, int]:
    """The kinds of the documents of a night."""
    weights = [chance.gammavariate(share * spread, 1) if spread else share for share in shares.values()]
    return dict(Counter(chance.choices(list(shares), weights, k=documents)))


def nights_of(
    chance: random.Random, shares: Mapping[str, float], nights: int, documents: int, spread: float | None
) -> list[dict[str, int]]:
    """Several nights, of half to one and a half times so many documents."""
    sizes = [max(30, int(documents * chance.uniform(0.5, 1.5))) for _ in range(nights)]
    return [one_night(chance, shares, size, spread) for size in sizes]


def _shares(chance: random.Random, kinds: int) -> dict[str, float]:
    drawn = [chance.gammavariate(2, 1) for _ in range(kinds)]
    return {f"kind {at}": one / sum(drawn) for at, one in enumerate(drawn)}


def _changed(chance: random.Random, shares: Mapping[str, float]) -> dict[str, float]:
    more = chance.choice(list(shares))
    return {name: 0.7 * share + 0.3 * (name == more) for name, share in shares.items()}


def main() -> None:
    """Print a line for each kind of night."""
    chance = random.Random(7)
    print("kinds  nights  documents  concentration  false warnings  found")
    for spread, kinds, nights, documents in itertools.product((None, 200.0, 30.0), (3, 8, 20), (4, 7, 14), (400, 2000)):
        wrong = right = 0
        for _ in range(_TRIALS):
            shares = _shares(chance, kinds)
            earlier = nights_of(chance, shares, nights, documents, spread)
            same, other = (
                compare(one_night(chance, each, documents, spread), earlier)
                for each in (shares, _changed(chance, shares))
            )
            wrong += same is not None and same.unlike
            right += other is not None and other.unlike
        told = "none" if spread is None else f"{spread:.0f}"
        print(
            f"{kinds:5} {nights:7} {documents:10} {told:>14} {wrong / _TRIALS:15.3f} {right / _TRIALS:6.2f}", flush=True
        )


if __name__ == "__main__":
    main()
