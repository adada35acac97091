"""How often `extract` is right on contracts with a head that was learned from others.

    python -m tests.benchmarks.bench_learned_fields MODEL.gguf

Reads extraction/cuad below CLOISTER_DATA: 50 contracts with the fields of configs/contract-fields.yaml. The numbers in
pipeline/tasks/extract was chosen on the first 25 of them; "unseen" are the other 25. A value is given from
the score on that the head has learned for its field.
"""

import os
import random
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ruamel.yaml import YAML

import engine
from pipeline.document import Span
from pipeline.learn.reading import Read, work_of
from pipeline.tasks import Embedder, ExtractSettings
from pipeline.tasks.base import EmbeddingTask
from pipeline.tasks.examples import Example, f1, tokens_of, vectors_of
from pipeline.tasks.extract import fit
from pipeline.tasks.extract.fit import Taught
from pipeline.tasks.extract.head import FieldsHead, Sought, Vectors
from pipeline.tasks.extract.learn import Values, answers_of
from pipeline.tasks.meanings import Meanings, called
from pipeline.tasks.passages import OVERLAP, passages
from tests.benchmarks.contracts import Contract, contracts

CONFIG = Path(__file__).parents[2] / "configs" / "contract-fields.yaml"
DRAWS, FOLDS, LABELLED = 5, 5, 10


@dataclass(frozen=True)
class Labelled:
    """A contract as it is learned from."""

    contract: Contract
    taught: Taught


@dataclass(frozen=True)
class Result:
    """What was found for a field of a contract: the token F1 of the best candidate with the best of the right answers,
    whether the contract has the field, the score, and the score from which on the head gives a value."""

    contract: str
    field: str
    f1: float
    is_there: bool
    score: float
    threshold: float

    @property
    def given(self) -> bool:
        """Whether the candidate is given where the job names no threshold."""
        return self.score >= self.threshold

    @property
    def point(self) -> float:
        """The token F1 of what is given; 1 where the contract lacks the field and none is given."""
        return self.f1 * self.given if self.is_there else float(not self.given)


def task() -> ExtractSettings:
    """The task of the example job, with the best candidate for each field, whatever its score."""
    said = YAML(typ="safe").load(CONFIG.read_text())["task"]
    made = ExtractSettings.from_json({key: value for key, value in said.items() if key != "type"})
    assert isinstance(made, ExtractSettings)
    return replace(made, fields=tuple(replace(field, many=False, threshold=0.0) for field in made.fields))


def read(model: engine.Model, settings: ExtractSettings, every: Sequence[Contract]) -> list[Labelled]:
    """The contracts with the vectors of their passages."""
    fields = sought(settings)
    given = [_read(one) for one in every]
    spans = [passages(one.document, model, OVERLAP) for one in given]
    vectors = vectors_of([one.document for one in given], spans, model, lambda done, total: None)
    return [Labelled(*each) for each in zip(every, taught(given, spans, vectors, fields), strict=True)]


def taught(
    given: Sequence[Read[Values]], spans: Sequence[Sequence[Span]], vectors: Sequence[Vectors], fields: Sequence[Sought]
) -> Iterator[Taught]:
    """Contracts with what they teach."""
    for one, its, rows in zip(given, spans, vectors, strict=True):
        yield Taught(one.document, its, rows, answers_of(one, fields, []))


def _read(contract: Contract) -> Read[Values]:
    values: Values = {name: tuple(map(tuple, its)) for name, its in contract.places.items()}
    return Read(Example(contract.name, values, contract.text), work_of(contract.name, contract.text).parsed)


def sought(settings: ExtractSettings) -> list[Sought]:
    """The fields of the task."""
    return [Sought(field.name, field.type, field.pattern) for field in settings.fields]


def meanings_of(settings: ExtractSettings, model: Embedder) -> Vectors:
    """The vectors of the names and descriptions of the fields."""
    return Meanings([[called(field.name, field.description)] for field in settings.fields], model).firsts


def results(task: EmbeddingTask, head: FieldsHead, settings: ExtractSettings, one: Labelled) -> Iterator[Result]:
    """What the task answers to a contract by a head."""
    rows = task.answer(one.taught.document, one.taught.passages, one.taught.vectors).columns["fields"]
    for field, threshold in zip(settings.fields, head.thresholds, strict=True):
        first = next(row for row in rows if row["name"] == field.name)
        answers = one.contract.answers[field.name]
        said = Counter(tokens_of(first["verbatim"] or ""))
        best = max((f1(said, Counter(tokens_of(answer))) for answer in answers), default=0.0)
        yield Result(one.contract.name, field.name, best, bool(answers), first["score"] or 0.0, threshold)


def learned_and_asked(
    settings: ExtractSettings, meanings: Vectors, learned_from: Sequence[Labelled], asked: Sequence[Labelled]
) -> Iterator[Result]:
    """What a head that was learned from some contracts says of others."""
    head = fit.learn([one.taught for one in learned_from], sought(settings), meanings).head
    on_head = settings.on_head(Nobody(), head.to_file())
    for one in asked:
        yield from results(on_head, head, settings, one)


class Nobody:
    """The vectors are there already."""

    context = 512

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        raise NotImplementedError

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise NotImplementedError


def told(name: str, its: Sequence[Result], fields: Sequence[str]) -> Iterator[str]:
    """Lines: the mean point over the fields, each field, and what makes it."""
    each = {field: [one for one in its if one.field == field] for field in fields}
    means = {field: statistics.fmean(one.point for one in every) for field, every in each.items()}
    there = {field: [one for one in every if one.is_there] for field, every in each.items()}
    given = statistics.fmean(statistics.fmean(one.f1 * one.given for one in every) for every in there.values())
    best = statistics.fmean(statistics.fmean(one.f1 for one in every) for every in there.values())
    absent = [one for one in its if not one.is_there]
    wrong = sum(one.given for one in absent)
    error = abs(statistics.fmean(one.score for one in its) - statistics.fmean(one.f1 >= 0.5 for one in its))
    yield f"{name}: {statistics.fmean(means.values()):.3f}"
    yield "    " + "   ".join(f"{field} {mean:.3f}" for field, mean in means.items())
    yield (
        f"    where the field is there {given:.3f}, best candidates {best:.3f}   absent fields answered {wrong} of "
        f"{len(absent)} ({wrong / max(1, len(absent)):.0%})   mean score off by {error:.3f}"
    )


def main() -> int:
    """Print the lines; 0."""
    data = os.environ.get("CLOISTER_DATA")
    if not data or len(sys.argv) != 2:
        print("CLOISTER_DATA is not set, or no model is named: nothing is measured")
        return 0
    settings = task()
    names = [field.name for field in settings.fields]
    model = engine.load(Path(sys.argv[1]))
    every, meanings = read(model, settings, list(contracts(Path(data)))), meanings_of(settings, model)
    half = len(every) // 2
    few = list[Result]()
    for seed in range(DRAWS):
        drawn = random.Random(seed).sample(every[:half], LABELLED)
        few += learned_and_asked(settings, meanings, drawn, every[half:])
    for line in told(f"{LABELLED} labelled contracts, {len(every) - half} unseen, {DRAWS} draws", few, names):
        print(line, flush=True)
    crossed = list[Result]()
    for fold in range(FOLDS):
        rest = [one for number, one in enumerate(every) if number % FOLDS != fold]
        crossed += learned_and_asked(settings, meanings, rest, every[fold::FOLDS])
    unseen = {one.contract.name for one in every[half:]}
    for name, its in (
        ("as the head of the package, all contracts, each by a head without it", crossed),
        ("the same, unseen contracts alone", [one for one in crossed if one.contract in unseen]),
    ):
        for line in told(name, its, names):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
