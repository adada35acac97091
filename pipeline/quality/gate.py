"""The gate of a job: its model must have passed on the job's evaluation file with these settings, or does not run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import engine
from pipeline.answer.models import writing_of
from pipeline.errors import ModelRefusedError
from pipeline.plan import Quality, RunPlan
from pipeline.quality.documents import eval_digest, read_truths
from pipeline.records.entries import fold, read_entries
from pipeline.records.settings import job_digest
from pipeline.records.types import Qualified, Record
from pipeline.tasks.examples import ExamplesRefusedError
from pipeline.tasks.judging import Figure


@dataclass
class Qualifications:
    """The qualifications of `job` with the settings `job_digest`: digest of the evaluation file -> the last record."""

    job: str
    job_digest: str
    by_eval: dict[str, Qualified] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        if isinstance(entry, Qualified) and (entry.of_job, entry.job_digest) == (self.job, self.job_digest):
            self.by_eval[entry.eval_sha256] = entry


def check_quality(plan: RunPlan, model_sha256: str) -> str | None:
    """Tell in words what the log says of the quality of a plan whose model and head are pinned; None for a job that
    demands none. The log is read, not held. Raises ModelRefusedError where a run would be refused, and
    audit.AuditError."""
    if plan.quality is None:
        return None
    digest = job_digest(replace(plan, writing=writing_of(plan)), model_sha256)
    known = fold(read_entries(plan.site), Qualifications(plan.job, digest)).by_eval
    try:
        passed = demand(plan, plan.quality, known)
    except ModelRefusedError as error:
        if plan.quality.require:
            raise
        return f"not demanded, and not there: {error}"
    figures = ", ".join(f"{name} {value:.4f}" for name, value in passed.metrics.items() if name in plan.quality.floor)
    return f"{figures} on {passed.examples:,} documents of {plan.quality.eval.name} (entry {passed.n})"


def refuse_unqualified(plan: RunPlan, known: Mapping[str, Qualified]) -> None:
    """ModelRefusedError for a job that demands quality which the log does not tell of; `known`: digest of an evaluation
    file -> what was last measured on it with the settings of the plan."""
    if plan.quality is not None and plan.quality.require:
        demand(plan, plan.quality, known)


def demand(plan: RunPlan, quality: Quality, known: Mapping[str, Qualified]) -> Qualified:
    """The record by which the job has passed. ModelRefusedError where there is none, with the remedy."""
    remedy = f"`cloister qualify {plan.job}` measures it"
    try:
        digest = eval_digest(quality.eval, read_truths(quality.eval, plan.task))
    except ExamplesRefusedError as error:
        first, more = error.mistakes[0], len(error.mistakes) - 1
        told = f"{first.where}: {first.found}" + (f", and {more:,} more" if more else "")
        raise _refused(plan, f"its evaluation file cannot be used ({told})", "correct it") from error
    except OSError as error:
        raise _refused(plan, f"{quality.eval} cannot be read: {error.strerror}", "allow it to be read") from error
    found = known.get(digest)
    if found is None:
        told = f"with these settings it was not measured on {quality.eval.name} as it is now"
        raise _refused(plan, told, remedy)
    if found.numerics != engine.NUMERICS:
        told = f"it was measured with the arithmetic {found.numerics}, and this version computes with {engine.NUMERICS}"
        raise _refused(plan, told, remedy)
    if below := missed(found.metrics, quality.floor):
        told = f"on {found.examples:,} documents of {quality.eval.name} (entry {found.n}) {'; '.join(below)}"
        raise _refused(plan, told, f"let the job use another model or head, then {remedy}")
    return found


def _refused(plan: RunPlan, told: str, remedy: str) -> ModelRefusedError:
    head = f" with the head {plan.model.head.name}" if plan.model.head else ""
    return ModelRefusedError(f"model {plan.model.name}{head}: quality is demanded, and {told}; {remedy}")


def missed(metrics: Mapping[str, float], floor: Mapping[str, float]) -> list[str]:
    """Tell in words which figures are below the floor, or were not measured; empty if the floor is reached."""
    told = []
    for name, least in floor.items():
        value = metrics.get(name)
        if value is None:
            told.append(f"{name} could not be measured, and must be {least:g} at least")
        elif value < least:
            told.append(f"{name} is {value:.4f}, and must be {least:g} at least")
    return told


def metrics_of(figures: Sequence[Figure]) -> dict[str, float]:
    """The figures that have a value, by their names."""
    return {figure.name: figure.value for figure in figures if figure.value is not None}
