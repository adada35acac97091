"""Whether risks that are stated of fields hold on contracts, and how many answers are accepted.

    python -m tests.benchmarks.bench_field_risk MODEL.gguf [SPLITS]

Reads extraction/cuad below CLOISTER_DATA: 50 contracts with the fields of configs/contract-fields.yaml.

*As the product does it:* a head is learned from 40 contracts, their five folds bear the promises, and the other 10
contracts judge them. *By draws:* 50 contracts are few for small risks, so what five folds found in all of them is taken
for all contracts that there are: many are drawn from it (with repetition), they bear a promise, and how many accepted
answers are wrong is known for certain. The second table says what a promise about values and nulls together would do
to each kind. *By splits:* the fields of 25 contracts together bear one promise, those of the other 25 judge it: what a
rule for all answers of a document would be worth. Values are given from the scores on that heads learned. The oracle
knows the answers: it accepts as many as it can.
"""

import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import engine
from pipeline.tasks import ExtractSettings
from pipeline.tasks.extract import fit
from pipeline.tasks.extract.fit import agreements_with
from pipeline.tasks.extract.head import THRESHOLD, FieldsHead, Least, Vectors
from pipeline.tasks.extract.learn import head_of
from pipeline.tasks.extract.promises import FLOOR, RIGHT, Finding, Scored, nulls_of, sureness, values_of
from pipeline.tasks.risk import NoPromiseError, Unseen, promise
from tests.benchmarks.bench_learned_fields import Labelled, Nobody, meanings_of, read, sought, task
from tests.benchmarks.contracts import contracts

SPLITS, HELD_OUT, HALVES = 10, 10, 200
DRAWS, DRAWN = 100, (60, 120, 250)
SMALL, LARGE = (0.05, 0.1), (0.2, 0.3)
SEVERAL = "parties"
Found = Mapping[str, list[Finding]]
Kind = Callable[[Sequence[Finding], Least], Unseen]


@dataclass
class Kept:
    """How a stated risk was kept: for each promise the share of the others' answers that was accepted, of it the share
    that was wrong, and the share that the oracle accepts; and how often nothing was promised."""

    accepted: list[float] = field(default_factory=list)
    wrong: list[float] = field(default_factory=list)
    oracle: list[float] = field(default_factory=list)
    refused: int = 0

    def told(self, risk: float) -> str:
        """Write a line."""
        every = len(self.wrong) + self.refused
        if not self.wrong:
            return f"    risk {risk:4.0%}   promised in 0 of {every}"
        held = sum(wrong <= risk for wrong in self.wrong)
        return (
            f"    risk {risk:4.0%}   promised in {len(self.wrong)} of {every}, held in {held}   accepted "
            f"{np.mean(self.accepted):.3f}   oracle {np.mean(self.oracle):.3f}   wrong {np.mean(self.wrong):.4f}"
        )

    def judge(self, risk: float, bears: Unseen, others: Unseen, least: float, given: float = 0.0) -> None:
        """Promise by some answers, and look at others."""
        try:
            bar = promise(bears, risk, least, given).score
        except NoPromiseError:
            self.refused += 1
            return
        over = others.scores >= bar
        self.accepted.append(float(over.mean()) if over.size else 0.0)
        self.wrong.append(share_wrong(others, over))
        wrong = np.cumsum(~others.right[np.argsort(-others.scores, kind="stable")])
        fits = np.flatnonzero(wrong <= risk * np.arange(1, wrong.size + 1))
        self.oracle.append((int(fits[-1]) + 1) / wrong.size if fits.size else 0.0)


def share_wrong(unseen: Unseen, over: "np.ndarray") -> float:
    """The share of the accepted answers that is wrong."""
    return float((~unseen.right[over]).mean()) if over.any() else 0.0


def together(found: Sequence[Finding], least: Least) -> Unseen:
    """Values and nulls, each as sure as it is."""
    both = values_of(found, least), nulls_of(found, least)
    return Unseen(np.concatenate([one.scores for one in both]), np.concatenate([one.right for one in both]), None)


def least_of(head: FieldsHead, names: Sequence[str]) -> Mapping[str, Least]:
    """From which scores on values are given."""
    return {name: head.least(number, None, name == SEVERAL) for number, name in enumerate(names)}


def bounds(kind: Kind, least: Least) -> tuple[float, float]:
    """The lowest score that is tried of a kind of answers, and that from which on they are given."""
    return (sureness(least.further), sureness(least.best)) if kind is nulls_of else (least.further, least.best)


def unseen_of(names: Sequence[str], learned: fit.Learned) -> Found:
    """What the folds found, by the names of the fields."""
    return {name: [one.finding for one in learned.unseen if one.field == i] for i, name in enumerate(names)}


def found_by(head: fit.Learned, settings: ExtractSettings, asked: Sequence[Labelled]) -> Found:
    """What a head finds in other contracts, as its file answers a job."""
    every = replace(settings, fields=tuple(replace(one, many=True, threshold=FLOOR) for one in settings.fields))
    on_head, out = every.on_head(Nobody(), head_of(head)), dict[str, list[Finding]]()
    for one in asked:
        its = on_head.found(one.taught.document, one.taught.passages, one.taught.vectors)
        for number, (asked_for, found) in enumerate(zip(every.fields, its, strict=True)):
            answers = one.taught.answers[number] or ()
            right = agreements_with(answers, asked_for.type, [each.value.value for each in found]) >= RIGHT
            scored = [Scored(each.score, bool(its)) for each, its in zip(found, right, strict=True)]
            ranked = tuple(sorted(scored, key=lambda each: -each.score))
            out.setdefault(asked_for.name, []).append(Finding(number, ranked, bool(answers)))
    return out


def by_product(settings: ExtractSettings, meanings: Vectors, every: Sequence[Labelled], splits: int) -> Iterator[str]:
    """Heads of 40 contracts, whose folds bear the promises, and 10 others that judge them."""
    names = [one.name for one in settings.fields]
    kept = {(name, risk): Kept() for name in names for risk in (*SMALL, *LARGE)}
    for seed in range(splits):
        mixed = random.Random(seed).sample(range(len(every)), len(every))
        rest = [every[number].taught for number in sorted(mixed[HELD_OUT:])]
        learned = fit.learn(rest, sought(settings), meanings)
        unseen = unseen_of(names, learned)
        judges = found_by(learned, settings, [every[number] for number in sorted(mixed[:HELD_OUT])])
        enough = least_of(learned.head, names)
        for (name, risk), its in kept.items():
            bears, others = values_of(unseen[name], enough[name]), values_of(judges[name], enough[name])
            its.judge(risk, bears, others, *bounds(values_of, enough[name]))
    for name in names:
        yield f"  {name}"
        yield from (kept[name, risk].told(risk) for risk in (*SMALL, *LARGE))


def by_draws(found: Found, enough: Mapping[str, Least], kind: Kind, risks: Sequence[float]) -> Iterator[str]:
    """Promises by contracts that are drawn from those that there are, each field by itself."""
    for drawn in DRAWN:
        yield f"  {drawn} contracts, {DRAWS} draws of each field"
        kept = {risk: Kept() for risk in risks}
        for name, its in found.items():
            every = kind(its, enough[name])
            for seed in range(DRAWS if every.scores.size else 0):
                bears = kind(random.Random(seed).choices(its, k=drawn), enough[name])
                for risk in risks:
                    kept[risk].judge(risk, bears, every, *bounds(kind, enough[name]))
        yield from (one.told(risk) for risk, one in kept.items())


def by_kind(found: Found, enough: Mapping[str, Least], risk: float) -> Iterator[str]:
    """Of promises about both kinds of answers together: how often more of the accepted ones of a kind were wrong."""
    for name, its in found.items():
        least, shares = enough[name], list[tuple[float, float]]()
        for seed in range(DRAWS):
            bears = together(random.Random(seed).choices(its, k=DRAWN[-1]), least)
            try:
                bar = promise(bears, risk, *bounds(together, least)).score
            except NoPromiseError:
                continue
            each = values_of(its, least), nulls_of(its, least)
            shares.append((share_wrong(each[0], each[0].scores >= bar), share_wrong(each[1], each[1].scores >= bar)))
        over = [sum(share[kind] > risk for share in shares) for kind in range(2)]
        means = [np.mean([share[kind] for share in shares]) if shares else 0.0 for kind in range(2)]
        yield (f"    {name}: promised in {len(shares)}; more than {risk:.0%} of values wrong in {over[0]} "
               f"(mean {means[0]:.3f}), of nulls in {over[1]} (mean {means[1]:.3f})")  # fmt: skip


def by_splits(found: Found, enough: Mapping[str, Least], risks: Sequence[float]) -> Iterator[str]:
    """The values of all fields of half of the contracts bear one promise, those of the other half judge it."""
    kept, count = {risk: Kept() for risk in risks}, len(next(iter(found.values())))
    for seed in range(HALVES):
        mixed = random.Random(seed).sample(range(count), count)
        halves = [_all_values(found, enough, half) for half in (mixed[: count // 2], mixed[count // 2 :])]
        for risk, one in kept.items():
            one.judge(risk, halves[0], halves[1], THRESHOLD)
    yield from (one.told(risk) for risk, one in kept.items())


def _all_values(found: Found, enough: Mapping[str, Least], numbers: Sequence[int]) -> Unseen:
    each = [values_of([its[number] for number in numbers], enough[name]) for name, its in found.items()]
    return Unseen(np.concatenate([one.scores for one in each]), np.concatenate([one.right for one in each]), None)


def main() -> int:
    """Print the lines; 0."""
    data = os.environ.get("CLOISTER_DATA")
    if not data or len(sys.argv) not in (2, 3):
        print("CLOISTER_DATA is not set, or no model is named: nothing is measured")
        return 0
    settings, model = task(), engine.load(Path(sys.argv[1]))
    every, meanings = read(model, settings, list(contracts(Path(data)))), meanings_of(settings, model)
    names = [one.name for one in settings.fields]
    learned = fit.learn([one.taught for one in every], sought(settings), meanings)
    found, enough = unseen_of(names, learned), least_of(learned.head, names)
    for kind, what in ((values_of, "values"), (nulls_of, "nulls")):
        print(f"Promises about {what}, by contracts drawn from {len(every)}")
        print(*by_draws(found, enough, kind, SMALL), sep="\n", flush=True)
    print(f"One promise about values and nulls together, {DRAWN[-1]} contracts drawn")
    print(*by_kind(found, enough, SMALL[-1]), sep="\n", flush=True)
    print(f"One promise about the values of all fields, by half of {len(every)} contracts, {HALVES} splits")
    print(*by_splits(found, enough, (*SMALL, *LARGE)), sep="\n", flush=True)
    splits = int(sys.argv[2]) if len(sys.argv) == 3 else SPLITS
    print(f"As the product does it: {len(every) - HELD_OUT} contracts bear, {HELD_OUT} judge, {splits} splits")
    print(*by_product(settings, meanings, every, splits), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
