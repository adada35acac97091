"""A random sample of the rows of a job, for a person to check, and what came of it.

The rule: of the job's rows that hold, are `done`, and were not decided by a person, those with the smallest
BLAKE2b-128 digests of "SEED ENTRY". So anyone draws the same rows again with the seed; the log has seed, size and
entries, as the record `sampled`. What is found is the share of wrong answers among rows that nobody looked at before.
"""

import hashlib
import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import exp, lgamma, log, log1p

import audit
from pipeline.index.index import Index
from pipeline.index.values import Filter, Item
from pipeline.plan import Site
from pipeline.records.entries import read_entries
from pipeline.records.types import Sampled

MOST = 2_000
"""Rows of a sample, so that its record is short."""

RIGHT, WRONG, WAITS, GONE = "right", "wrong", "waits", "gone"


@dataclass(frozen=True)
class Checked:
    """A row of a sample. `verdict`: RIGHT or WRONG, as a person decided; WAITS for one; or GONE, for another answer
    took its place, or it was deleted, before anybody looked."""

    entry: int
    verdict: str
    item: Item | None


@dataclass(frozen=True)
class Standing:
    """A sample and what became of its rows. `drawn_again`: the seed gives these rows; False where rows were deleted
    since, or where it was not drawn so."""

    sample: Sampled
    rows: tuple[Checked, ...]
    drawn_again: bool

    def count(self, verdict: str) -> int:
        """How many rows came out so."""
        return sum(row.verdict == verdict for row in self.rows)

    @property
    def looked_at(self) -> int:
        """How many rows a person decided."""
        return self.count(RIGHT) + self.count(WRONG)

    @property
    def is_complete(self) -> bool:
        """Whether all rows that are there were decided. Before, those that were need not be as the others."""
        return self.looked_at > 0 and not self.count(WAITS)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The bounds of the share of wrong answers, with 95 % confidence; None before the sample is complete."""
        return clopper_pearson(self.count(WRONG), self.looked_at) if self.is_complete else None


def draw(site: Site, index: Index, job: str, size: int, seed: str, by: str, label: str | None = None) -> Sampled:
    """Draw rows of a job; the record of it, which is not in the log yet. The index must be up to date. LookupError
    where there is no row to draw."""
    population = _population(index, job, label, None)
    if not population:
        raise LookupError(f"{job} has no row that is done and that nobody decided{f', with {label}' if label else ''}")
    entries = tuple(sorted(drawn(population, seed, min(size, MOST))))
    return Sampled(
        of_job=job, label=label, seed=seed, size=index.size, population=len(population), entries=entries, by=by
    )


def samples(site: Site, job: str | None = None) -> Iterator[Sampled]:
    """The samples that the log tells of, oldest first. audit.AuditError."""
    yield from (entry for entry in read_entries(site) if isinstance(entry, Sampled) and job in (None, entry.of_job))


def standing(index: Index, sample: Sampled) -> Standing:
    """Return what became of the rows of a sample."""
    population = _population(index, sample.of_job, sample.label, sample.size)
    again = tuple(sorted(drawn(population, sample.seed, len(sample.entries)))) == sample.entries
    return Standing(sample, tuple(_checked(index, entry) for entry in sample.entries), again)


def _population(index: Index, job: str, label: str | None, size: int | None) -> list[int]:
    labels = (label,) if label else ()
    return index.entries(Filter(jobs=(job,), states=("done",), labels=labels, review="none"), size)


def drawn(population: Iterable[int], seed: str, count: int) -> list[int]:
    """Draw so many entries, or all if there are fewer: those with the smallest digests."""

    def digest(entry: int) -> bytes:
        return hashlib.blake2b(f"{seed} {entry}".encode(), digest_size=16).digest()

    return heapq.nsmallest(count, population, key=digest)


def _checked(index: Index, entry: int) -> Checked:
    try:
        item = index.item(entry)
    except LookupError:
        return Checked(entry, GONE, None)
    decided, last = list[Item](), item
    while last.replaced_by is not None:
        try:
            last = index.item(last.replaced_by)
        except LookupError:
            break
        if not last.review_action:
            break
        decided.append(last)
    if not decided:
        return Checked(entry, WAITS if item.replaced_by is None else GONE, item)
    return Checked(entry, RIGHT if _is_right(item, decided) else WRONG, item)


def _is_right(item: Item, decided: list[Item]) -> bool:
    """Whether the answer was right by what people decided: of several decisions by the last, which may have gone back
    to it."""
    last = decided[-1]
    if len(decided) == 1 or last.state != "done":
        return last.review_action == "accepted"
    return last.label == item.label if item.label else last.answer == item.answer


def new_seed(site: Site) -> str:
    """A seed that nobody chooses: the root of the log as it is now."""
    return audit.read_checkpoint(site.audit, site.public_key).root.hex()[:16]


_STEPS = 60  # halvings, until the bounds are as exact as a float


_RARE = 0.025  # at each end


def clopper_pearson(wrong: int, looked_at: int) -> tuple[float, float]:
    """The lower and the upper bound by Clopper and Pearson (1934): all shares under which so many, or so few, would not
    be rarer than 2.5 %. They hold the true share in at least 95 % of all samples.
    ValueError without 0 <= wrong <= looked_at > 0."""
    if not 0 <= wrong <= looked_at or looked_at == 0:
        raise ValueError(f"{wrong} of {looked_at} is no share")
    low, high = 0.0, 1.0
    if wrong > 0:
        low = _solved(lambda share: _at_least(wrong, looked_at, share) > _RARE)
    if wrong < looked_at:
        high = _solved(lambda share: 1.0 - _at_least(wrong + 1, looked_at, share) < _RARE)
    return low, high


def _solved(above: Callable[[float], bool]) -> float:
    """The share from which on `above` holds."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle) else (middle, high)
    return (low + high) / 2


def _at_least(count: int, of: int, share: float) -> float:
    """The probability of `count` or more of `of`, each with probability `share`, 0 < share < 1."""
    whole, yes, no = lgamma(of + 1), log(share), log1p(-share)
    each = (whole - lgamma(k + 1) - lgamma(of - k + 1) + k * yes + (of - k) * no for k in range(count, of + 1))
    return min(1.0, sum(map(exp, each)))
