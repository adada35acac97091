"""`qualify`: a job answers documents whose answers are known, on one model or several, and is measured."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import audit
import engine
from pipeline.answer.heads import load_head, with_head
from pipeline.answer.models import check_machine, check_model, examine_model, writing_of
from pipeline.heads import HeadFile, head_path
from pipeline.learn.seen import Seen
from pipeline.plan import HeadRef, ModelRef, RunPlan
from pipeline.quality.documents import (
    Answered,
    Documents,
    Progress,
    answer,
    eval_digest,
    overlaps,
    read_documents,
    read_truths,
)
from pipeline.quality.gate import metrics_of, missed
from pipeline.records.settings import job_digest
from pipeline.records.types import Qualified
from pipeline.states import OF_RUNS
from pipeline.tasks import name_of
from pipeline.tasks.examples import ExamplesRefusedError
from pipeline.tasks.judging import Figure, Judgement


@dataclass(frozen=True)
class Variant:
    """A plan whose model and head are there and checked. `own`: it is the job as its file has it; `bytes`: of the files
    of model and head together."""

    plan: RunPlan
    model_sha256: str
    job_digest: str
    bytes: int
    own: bool

    @property
    def name(self) -> str:
        """The names of the model and of the head, for people."""
        head = self.plan.model.head
        return f"{self.plan.model.name} + {head.name}" if head else self.plan.model.name

    @property
    def head_file(self) -> HeadFile | None:
        """The learned head, read from its file."""
        return load_head(self.plan.model.head) if self.plan.model.head else None


def variants(plan: RunPlan, models: Sequence[str], heads: Sequence[str]) -> list[Variant]:
    """The job as it is, then on each of the models without a head, then with each of the heads on the model that it was
    learned on; the same settings once. ModelRefusedError for one that cannot be used, before anything is computed."""
    found = dict[str, Variant]()
    for number, one in enumerate(_plans(plan, models, heads)):
        own = number == 0
        bare = one if own else replace(one, writing=None)
        sha256 = check_model(bare)
        writing = writing_of(bare)
        if writing is not None and one.writing is not None:
            writing = one.writing
        checked = replace(with_head(bare, sha256), writing=writing)
        examine_model(checked)
        files = [checked.model.path, *([checked.model.head.path] if checked.model.head else [])]
        size = sum(path.stat().st_size for path in files)
        variant = Variant(checked, sha256, job_digest(checked, sha256), size, own)
        found.setdefault(variant.job_digest, variant)
    return list(found.values())


def _plans(plan: RunPlan, models: Sequence[str], heads: Sequence[str]) -> Iterator[RunPlan]:
    yield plan
    for name in models:
        yield replace(plan, model=_model(plan, name))
    for name in heads:
        ref = HeadRef(name, head_path(plan.site.models, name), None)
        of = str(load_head(ref).facts.get("model_name"))
        yield replace(plan, model=replace(_model(plan, of), head=ref))


def _model(plan: RunPlan, name: str) -> ModelRef:
    """The model of this name, computed as the job says where it is the job's own."""
    if name == plan.model.name:
        return replace(plan.model, head=None)
    return ModelRef(name, plan.site.models / f"{name}.gguf", None)


@dataclass(frozen=True)
class Prices:
    """The price of an hour of this machine, and what a million tokens cost from a service and on a rented GPU; None:
    not asked for. All are in the same currency, which is not named."""

    hour: float
    api: float | None = None
    gpu: float | None = None


@dataclass(frozen=True)
class BreakEven:
    """The tokens and documents a day from which this machine is cheaper; `reached`: whether it can do so many."""

    tokens: float
    documents: float
    reached: bool


@dataclass(frozen=True)
class Costs:
    """The costs of 1,000 documents and 1,000,000 tokens, and the load from which on this machine is the cheaper one."""

    documents: float
    tokens: float
    api: BreakEven | None
    gpu: BreakEven | None


def costs(prices: Prices, documents_an_hour: float, tokens_an_hour: float) -> Costs:
    """The costs at this speed, which is more than 0.

    A machine that is paid day and night costs 24 p a day at a price of p an hour, whatever it does. From
    1,000,000 * 24 p / q tokens a day on it is cheaper than a service that takes q for a million; if they are more than
    it can do in a day, it never is.
    """
    per_document = tokens_an_hour / documents_an_hour

    def even(price: float | None) -> BreakEven | None:
        if not price:
            return None
        tokens = 1e6 * 24 * prices.hour / price
        return BreakEven(tokens, tokens / per_document, tokens <= 24 * tokens_an_hour)

    return Costs(
        documents=1e3 * prices.hour / documents_an_hour,
        tokens=1e6 * prices.hour / tokens_an_hour,
        api=even(prices.api),
        gpu=even(prices.gpu),
    )


_HOUR: Final = 3600


@dataclass(frozen=True)
class Measured:
    """A model, perhaps with a learned head, as the job uses it: how good its answers are, how fast, and how large it
    is. `own`: it is the one of the job. `seconds`: to read and to answer all documents. `missed`: what is below the
    floor. `frontier`: no other is at least as good, as fast and as small, and better in one of these."""

    name: str
    own: bool
    model: str
    model_sha256: str
    head: str | None
    head_sha256: str | None
    job_digest: str
    bytes: int
    judgement: Judgement
    states: Mapping[str, int]
    tokens: int
    seconds: float
    documents_an_hour: float
    tokens_an_hour: float
    peak_bytes: int | None
    missed: tuple[str, ...]
    costs: Costs | None
    frontier: bool = False

    def figure(self, name: str) -> Figure:
        """The figure of this name."""
        return next(figure for figure in self.judgement.figures if figure.name == name)


@dataclass(frozen=True)
class Qualification:
    """A job measured on an evaluation file. `compared`: the name of the figure by which models are compared; `again`:
    examples that were there before; `files`: how many documents were files, which were read by parsers; `notes`: what
    a reader of the figures should know."""

    job: str
    task: str
    eval: Path
    eval_sha256: str
    examples_sha256: str
    documents: int
    again: int
    files: int
    compared: str
    floor: Mapping[str, float]
    prices: Prices | None
    numerics: str
    threads: int
    isa: str
    notes: tuple[str, ...]
    measured: tuple[Measured, ...]

    @property
    def passed(self) -> bool:
        """Whether the job as it is reaches the floor."""
        return not self.measured[0].missed

    def records(self, told: str) -> list[Qualified]:
        """The records for the log, one for each that was measured; `told`: the evaluation file as it is told there."""
        return [self._record(one, told) for one in self.measured]

    def _record(self, one: Measured, told: str) -> Qualified:
        return Qualified(
            of_job=self.job, task=self.task, eval=told, eval_sha256=self.eval_sha256, examples=self.documents,
            examples_sha256=self.examples_sha256, job_digest=one.job_digest, model=one.model,
            model_sha256=one.model_sha256, head=one.head, head_sha256=one.head_sha256, numerics=self.numerics,
            metrics=metrics_of(one.judgement.figures), floor=dict(self.floor), passed=not one.missed,
        )  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """The order for a qualification: the evaluation file, other models and heads, the floor, and prices."""

    source: Path
    models: Sequence[str] = ()
    heads: Sequence[str] = ()
    floor: Mapping[str, float] | None = None
    prices: Prices | None = None


def qualify(plan: RunPlan, asked: Asked, progress: Progress) -> Qualification:
    """Measure a job; nothing is committed. ExamplesRefusedError for examples that cannot be used, also where they were
    learned from; ModelRefusedError, MachineRefusedError and OSError."""
    check_machine()
    compared = variants(plan, asked.models, asked.heads)
    truths = read_truths(asked.source, plan.task)
    documents = read_documents(plan, truths, progress)
    notes = [*_refuse_overlaps(plan, documents, compared), *plan.task.unmeasured(documents.truths)]
    texts = [work.parsed.text for work in documents.works]
    judge, name = plan.task.judge(documents.truths, texts), name_of(plan.task)
    floor = dict(asked.floor or {})
    measured = list[Measured]()
    for variant in compared:
        answered = answer(variant.plan, variant.model_sha256, documents.works, progress)
        measured.append(_measured(variant, documents, answered, judge(answered.rows), floor, asked.prices))
    digests = sorted(work.parsed.text_sha256 for work in documents.works)
    return Qualification(
        job=plan.job,
        task=name,
        eval=asked.source,
        eval_sha256=eval_digest(asked.source, truths),
        examples_sha256=hashlib.sha256(audit.canonical(digests)).hexdigest(),
        documents=len(documents.works),
        again=documents.again,
        files=documents.files,
        compared=plan.task.measures[0],
        floor=floor,
        prices=asked.prices,
        numerics=engine.NUMERICS,
        threads=engine.threads(),
        isa=engine.isa(),
        notes=tuple(notes),
        measured=tuple(with_frontier(measured, plan.task.measures[0])),
    )


def _refuse_overlaps(plan: RunPlan, documents: Documents, compared: Sequence[Variant]) -> list[str]:
    """Refuse documents that something was learned from, with ExamplesRefusedError; returns notes on heads of which that
    cannot be told."""
    known = {"the examples of labels in the job": Seen.of(texts) if (texts := plan.task.own_examples()) else None}
    notes = list[str]()
    for variant in compared:
        if (head := variant.head_file) and variant.plan.model.head:
            name = variant.plan.model.head.name
            known[f"the examples that the head {name} was learned from"] = seen = Seen.of_head(head)
            if seen is None:
                notes.append(
                    f"the head {name} does not tell what it was learned from, so that its examples may be among these "
                    "documents; learn it again to be sure"
                )
    mistakes = [one for whose, seen in known.items() if seen for one in overlaps(documents, seen, whose)]
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return notes


def _measured(
    variant: Variant,
    documents: Documents,
    answered: Answered,
    judgement: Judgement,
    floor: Mapping[str, float],
    prices: Prices | None,
) -> Measured:
    seconds = max(documents.seconds + answered.seconds, 1e-6)
    hourly, tokens = _HOUR * len(documents.works) / seconds, _HOUR * answered.tokens / seconds
    head = variant.plan.model.head
    states = {state.value: sum(row.state == state for row in answered.rows) for state in OF_RUNS}
    return Measured(
        name=variant.name,
        own=variant.own,
        model=variant.plan.model.name,
        model_sha256=variant.model_sha256,
        head=head.name if head else None,
        head_sha256=head.sha256 if head else None,
        job_digest=variant.job_digest,
        bytes=variant.bytes,
        judgement=judgement,
        states={state: count for state, count in states.items() if count},
        tokens=answered.tokens,
        seconds=seconds,
        documents_an_hour=hourly,
        tokens_an_hour=tokens,
        peak_bytes=answered.peak_bytes,
        missed=tuple(missed(metrics_of(judgement.figures), floor)),
        costs=costs(prices, hourly, tokens) if prices and tokens else None,
    )


def with_frontier(measured: Sequence[Measured], compared: str) -> list[Measured]:
    """All of them, with those on the frontier (Pareto) of quality, speed and size marked."""

    def ranks(one: Measured) -> tuple[float, float, float]:
        value = one.figure(compared).value
        return (-1.0 if value is None else value, one.documents_an_hour, -one.bytes)

    points = [ranks(one) for one in measured]
    beaten = [
        any((other != point and all(a >= b for a, b in zip(other, point, strict=True))) for other in points)
        for point in points
    ]
    return [replace(one, frontier=not lost) for one, lost in zip(measured, beaten, strict=True)]
