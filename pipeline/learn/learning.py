"""Learn the head of a job from examples, and put its file into models/."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import audit
import engine
from pipeline.answer.models import check_machine, check_model, load_model
from pipeline.document import Parsed
from pipeline.errors import ModelRefusedError
from pipeline.heads.file import HeadFile, write_head
from pipeline.learn.classifying import Examples, Learned, learn
from pipeline.learn.examples import ExamplesRefusedError, Mistake, read_examples
from pipeline.learn.reading import Read, means_of, read_documents
from pipeline.learn.seen import Seen
from pipeline.paths.digest import file_sha256
from pipeline.plan import RunPlan
from pipeline.tasks import ClassifySettings
from pipeline.tasks.embedding.prompted import reading_documents

LEAST = 2  # examples of a label
_BINS = 10
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class LearnReport:
    """The head that was learned, and how good it is.

    `right`: the share of the examples that got their label from a head that was learned without them;
    `calibration_error`: by how much their scores were wrong on average, by tenths of the score (Guo et al. 2017);
    `words`: how many words are looked at, 0 where they did not help; `again`: examples that were there before."""

    name: str
    path: Path
    sha256: str
    examples: int
    again: int
    labels: dict[str, int]
    right: float
    calibration_error: float
    words: int
    seconds: float


def learn_head(plan: RunPlan, source: Path, progress: Progress) -> LearnReport:
    """Learn from the examples of a file or folder, and write models/JOB.head; one that was there is kept under another
    name, for rows that it answered can be computed again with it only. Raises ExamplesRefusedError, ModelRefusedError,
    MachineRefusedError and OSError; the old head then stays."""
    begun = time.monotonic()
    check_machine()
    task = plan.task
    if not isinstance(task, ClassifySettings):
        raise ModelRefusedError("heads are learned for the task classify")
    if not task.labels:
        raise ModelRefusedError("heads are learned for the labels of a job; labels: from_model are of the model's own")
    sha256 = check_model(plan)
    names = [label.name for label in task.labels]
    given = read_examples(source, names)
    read = read_documents(plan, given)
    counts = Counter(one.example.label for one in read)
    _check_counts(str(source), counts, names)
    model = load_model(plan, sha256, lambda fact: progress(0, 1, fact))
    if not isinstance(model, engine.Model):
        raise ModelRefusedError(f"model {plan.model.name}: heads are learned on models that give embeddings")
    said = [(number, text) for number, label in enumerate(task.labels) for text in label.texts]
    documents = [*(Parsed(text, "text/plain", "label") for _, text in said), *(one.document for one in read)]
    reader = reading_documents(model)
    means = means_of(documents, reader, lambda done, total: progress(done, total, "embedding passages"))
    numbers = [*(number for number, _ in said), *(names.index(one.example.label) for one in read)]
    texts = [document.text for document in documents]
    learned = learn(Examples(means, texts, np.array(numbers, np.int32), len(said)), names)
    path = plan.site.models / f"{plan.job}.head"
    head = _file(plan, sha256, read, learned)
    _keep(path, head)
    write_head(path, head)
    return LearnReport(
        name=plan.job,
        path=path,
        sha256=file_sha256(path),
        examples=len(read),
        again=len(given) - len(read),
        labels={name: counts[name] for name in names},
        right=_right(learned),
        calibration_error=calibration_error(learned),
        words=learned.words,
        seconds=time.monotonic() - begun,
    )


def _keep(path: Path, new: HeadFile) -> None:
    """Give a head that is there already a name of its own, unless it is the same."""
    if path.is_file() and (found := file_sha256(path)) != hashlib.sha256(new.to_bytes()).hexdigest():
        path.replace(path.with_name(f"{path.stem}.{found[:12]}.head"))


def _check_counts(where: str, counts: Counter[str], names: Sequence[str]) -> None:
    mistakes = [
        Mistake(where, f"{counts[name]} different documents with the label {name!r}", f"{LEAST} at least")
        for name in names
        if counts[name] < LEAST
    ]
    if mistakes:
        raise ExamplesRefusedError(mistakes)


def _file(plan: RunPlan, model_sha256: str, read: Sequence[Read], learned: Learned) -> HeadFile:
    """The head with what made it: the model, the arithmetic, and the digest of the examples in their order."""
    seen = Seen.of(one.document.text for one in read)
    taught = [[one.document.text_sha256, one.example.label] for one in read]
    facts = {
        "job": plan.job, "model_name": plan.model.name, "model_sha256": model_sha256, "numerics": engine.NUMERICS,
        "examples": len(read), "examples_sha256": hashlib.sha256(audit.canonical(taught)).hexdigest(),
        **seen.facts(),
    }  # fmt: skip
    head = learned.classifier.to_file(facts)
    best = learned.unseen.max(1)
    right = (learned.unseen.argmax(1) == learned.labels).astype(np.uint8)
    return HeadFile(head.facts, {**head.arrays, **seen.arrays(), "unseen_scores": best, "unseen_right": right})


def _right(learned: Learned) -> float:
    return float((learned.unseen.argmax(1) == learned.labels).mean())


def calibration_error(learned: Learned) -> float:
    """The mean, over tenths of the score and weighted by how many fall there, of |share that is right - mean score|."""
    scores, right = learned.unseen.max(1), learned.unseen.argmax(1) == learned.labels
    tenths = np.minimum((scores * _BINS).astype(int), _BINS - 1)
    errors = [
        abs(float(right[one].mean()) - float(scores[one].mean())) * float(one.mean())
        for one in (tenths == number for number in range(_BINS))
        if one.any()
    ]
    return sum(errors)
