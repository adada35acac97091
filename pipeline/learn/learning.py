"""Learn the head of a job from examples, and put its file into models/."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import audit
import engine
from pipeline.answer.models import Loaded, check_machine, check_model, kept_before, load_model, writing_of
from pipeline.answer.vectors import kept_vectors
from pipeline.errors import ModelRefusedError
from pipeline.heads.file import HeadFile, write_head
from pipeline.learn import reading
from pipeline.learn.examples import Mistake
from pipeline.learn.fields import FieldLesson
from pipeline.learn.labels import LabelLesson
from pipeline.learn.lesson import Lesson, Measured
from pipeline.learn.priors import PriorLesson
from pipeline.learn.seen import Seen, examples_of
from pipeline.learn.summaries import SummaryLesson
from pipeline.paths.names import file_sha256
from pipeline.plan import RunPlan
from pipeline.tasks import EMBEDDING, ClassifySettings, ExtractSettings, SummarizeSettings, Task
from pipeline.tasks.embedding.prompted import reading_documents

LESSONS: Final[Mapping[type[Task], Callable[[RunPlan, Path, reading.Progress], Lesson[Any]]]] = {
    ClassifySettings: LabelLesson.of,
    ExtractSettings: FieldLesson.of,
    SummarizeSettings: SummaryLesson.of,
}
"""What reads the examples of a task: ExamplesRefusedError, OSError."""
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
    if type(plan.task) not in LESSONS:
        raise ModelRefusedError("heads are learned for the tasks classify, extract and summarize")
    sha256 = check_model(plan)
    plan = replace(plan, writing=writing_of(plan))
    lesson = _lesson_of(plan, source, lambda done, total: progress(done, total, "reading examples"), skip_missing)
    model = load_model(plan, sha256, lambda fact: progress(0, 1, fact))
    if isinstance(model, engine.Model) and model.head != EMBEDDING:
        raise ModelRefusedError(f"model {plan.model.name}: heads are learned on models that give embeddings")
    doing = "reading documents" if plan.writing else "embedding passages"
    with _reading(plan, model) as reader:
        learned = lesson.learn(reader, lambda done, total: progress(done, total, doing))
    seen = Seen.of([*(one.document.text for one in lesson.read), *examples_of(plan.task)])
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
        skipped=lesson.skipped if isinstance(lesson, FieldLesson) else (),
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


def _lesson_of(plan: RunPlan, source: Path, progress: reading.Progress, skip_missing: bool) -> Lesson[Any]:
    """The examples, as the task is learned on the model. ExamplesRefusedError, ModelRefusedError, OSError."""
    if plan.writing is None and isinstance(plan.task, ExtractSettings):
        return FieldLesson.of(plan, source, progress, skip_missing)
    if plan.writing is None:
        return LESSONS[type(plan.task)](plan, source, progress)
    if not isinstance(plan.task, ClassifySettings):
        here = f"model {plan.model.name} writes text; on such a model heads are learned for the task classify"
        raise ModelRefusedError(f"{here}, for others on one that gives embeddings")
    return PriorLesson.of(plan, source, progress)


def facts_of(job: str, model: str, model_sha256: str, taught: Iterable[tuple[str, Any]]) -> dict[str, str | int]:
    """Return the facts about the making of a head: the model, the arithmetic, and the digest of the examples in their
    order, each the sha256 of its text with what it teaches."""
    its = [list(pair) for pair in taught]
    return {
        "job": job, "model_name": model, "model_sha256": model_sha256, "numerics": engine.NUMERICS,
        "examples": len(its), "examples_sha256": hashlib.sha256(audit.canonical(its)).hexdigest(),
    }  # fmt: skip
