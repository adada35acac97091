"""Learn the head of a job from examples, and put its file into models/."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import audit
import engine
from pipeline.answer.models import Loaded, check_machine, check_model, kept_before, load_model, writing_of
from pipeline.answer.vectors import kept_vectors
from pipeline.errors import ModelRefusedError
from pipeline.heads import HeadFile, write_head
from pipeline.learn import reading
from pipeline.learn.seen import Seen
from pipeline.paths.names import file_sha256
from pipeline.plan import RunPlan
from pipeline.tasks import EMBEDDING, TASKS, TEXT, TaskRefusedError
from pipeline.tasks.examples import Example, Lesson, Measured, Mistake, Read, Taught
from pipeline.tasks.examples import Progress as Reading
from pipeline.tasks.meanings import reading_documents

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class LearnReport:
    """The head that was learned, and how good it is. `again`: examples whose text was there before;
    `skipped`: values that were left out; `measured`: what was found on examples that it had not seen."""

    name: str
    path: Path
    sha256: str
    examples: int
    again: int
    skipped: Sequence[Mistake]
    measured: Measured
    seconds: float


def learn_head(plan: RunPlan, source: Path, progress: Progress, *, skip_missing: bool = False) -> LearnReport:
    """Learn from the examples of a file or folder, and write models/JOB.head; one that was there is kept under another
    name, for rows that it answered can be computed again with it only. Raises ExamplesRefusedError, ModelRefusedError,
    MachineRefusedError and OSError; the old head then stays. `skip_missing`: values of fields that do not stand in
    their document are left out, and reported."""
    begun = time.monotonic()
    check_machine()
    if not plan.task.learned_on:
        raise ModelRefusedError(f"heads are learned for the tasks {_learned_on(None)}")
    sha256 = check_model(plan)
    plan = replace(plan, writing=writing_of(plan))
    lesson = _lesson_of(plan, source, lambda done, total: progress(done, total, "reading examples"), skip_missing)
    model = load_model(plan, sha256, lambda fact: progress(0, 1, fact))
    if isinstance(model, engine.Model) and model.head != EMBEDDING:
        raise ModelRefusedError(f"model {plan.model.name}: heads are learned on models that give embeddings")
    doing = "reading documents" if plan.writing else "embedding passages"
    with _reading(plan, model) as reader:
        learned = lesson.learn(reader, lambda done, total: progress(done, total, doing))
    seen = Seen.of([*(one.document.text for one in lesson.read), *plan.task.own_examples()])
    texts = (one.document.text_sha256 for one in lesson.read)
    facts = facts_of(plan.job, plan.model.name, sha256, zip(texts, lesson.teaches(), strict=True))
    head = HeadFile({**facts, **seen.facts(), **learned.head.facts}, {**learned.head.arrays, **seen.arrays()})
    path = plan.site.models / f"{plan.job}.head"
    with kept_before(path):
        write_head(path, head)
    return LearnReport(
        name=plan.job,
        path=path,
        sha256=file_sha256(path),
        examples=len(lesson.read),
        again=lesson.given - len(lesson.read),
        skipped=lesson.skipped,
        measured=learned.measured,
        seconds=time.monotonic() - begun,
    )


@contextmanager
def _reading(plan: RunPlan, model: Loaded) -> Iterator[Any]:
    """The model as lessons read documents with it; the vectors of one that embeds are kept."""
    if isinstance(model, engine.Model):
        with kept_vectors(plan, model, "examples") as kept:
            yield reading_documents(kept)
    else:
        yield model


def _lesson_of(plan: RunPlan, source: Path, progress: Reading, skip: bool) -> Lesson[Any]:
    """The examples, as the task is learned on the model. ExamplesRefusedError, ModelRefusedError, OSError."""
    if plan.writing is not None and TEXT not in plan.task.learned_on:
        here = f"model {plan.model.name} writes text; on such a model heads are learned for the task"
        raise ModelRefusedError(f"{here} {_learned_on(TEXT)}, for others on one that gives embeddings")

    def read(examples: Sequence[Example[Taught]], told: Callable[[Taught], str]) -> list[Read[Taught]]:
        return reading.read_documents(plan, examples, told, progress)

    try:
        return plan.task.lesson(source, read, plan.writing, skip=skip)
    except TaskRefusedError as error:
        raise ModelRefusedError(str(error)) from error


def _learned_on(kind: str | None) -> str:
    """The tasks for which heads are learned, on this kind of model or on any, in words."""
    names = [name for name, task in TASKS.items() if (kind in task.learned_on if kind else task.learned_on)]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def facts_of(job: str, model: str, model_sha256: str, taught: Iterable[tuple[str, Any]]) -> dict[str, str | int]:
    """Return the facts about the making of a head: the model, the arithmetic, and the digest of the examples in their
    order, each the sha256 of its text with what it teaches."""
    its = [list(pair) for pair in taught]
    return {
        "job": job, "model_name": model, "model_sha256": model_sha256, "numerics": engine.NUMERICS,
        "examples": len(its), "examples_sha256": hashlib.sha256(audit.canonical(its)).hexdigest(),
    }  # fmt: skip
