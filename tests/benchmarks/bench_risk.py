"""Whether stated risks hold, how much is accepted, and what 10,003 examples cost each night.

    python -m tests.benchmarks.bench_risk MODEL.gguf

Reads Banking77 in classification/ below CLOISTER_DATA. A risk holds in a split if no more than that share of the
accepted answers to documents that were neither learned from nor used for the promise is wrong; where nothing is
promised, nothing is accepted. The oracle knows the answers: it accepts as many as it can.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.answer.vectors import KeptVectors
from pipeline.heads import read_head, write_head
from pipeline.tasks import ClassifySettings, Label
from pipeline.tasks.classify.fit import Examples, Learned, learn
from pipeline.tasks.classify.head import Vectors
from pipeline.tasks.classify.learn import head_of
from pipeline.tasks.risk import Accept, NoPromiseError, Unseen, promise
from tests.benchmarks.bench_classify import Documents, banking, picked, read

SPLITS, DRAWS, DRAWN = 200, 60, 20
RISKS = (0.01, 0.02, 0.05, 0.1)
LEAST = 0.3


@dataclass
class Kept:
    """How a stated risk was kept: in each split the share that was accepted, of it the share that was wrong, and the
    share that the oracle accepts."""

    accepted: list[float] = field(default_factory=list)
    wrong: list[float] = field(default_factory=list)
    oracle: list[float] = field(default_factory=list)

    def told(self, risk: float) -> str:
        """A line."""
        made = [share for share in self.accepted if share]
        held = sum(wrong <= risk for wrong in self.wrong)
        return (
            f"  risk {risk:5.0%}   held in {held} of {len(self.wrong)}   promised in {len(made)}   accepted "
            f"{np.mean(self.accepted):.3f}   oracle {np.mean(self.oracle):.3f}   wrong {np.mean(self.wrong):.4f}"
        )


def judge(kept: dict[float, Kept], unseen: Unseen, others: Unseen) -> None:
    """Promise by some answers, and look at others."""
    order = np.argsort(-others.scores, kind="stable")
    shares = np.cumsum(~others.right[order]) / np.arange(1, order.size + 1)
    for risk in RISKS:
        try:
            over = others.scores >= promise(unseen, risk, LEAST).score
        except NoPromiseError:
            over = np.zeros(order.size, bool)
        its = kept.setdefault(risk, Kept())
        its.accepted.append(float(over.mean()))
        its.wrong.append(float((~others.right[over]).mean()) if over.any() else 0.0)
        its.oracle.append(float(np.flatnonzero(shares <= risk).max(initial=-1) + 1) / order.size)


def answers(learned: Learned, documents: Documents) -> Unseen:
    """Answer documents by a head."""
    return _unseen(learned.classifier.probabilities(documents.means, documents.texts), documents.labels)


def _unseen(shares: NDArray[np.float32], labels: NDArray[np.int32]) -> Unseen:
    scores = np.array([round(score, 6) for score in shares.max(1).tolist()])
    return Unseen(scores, shares.argmax(1) == labels, None)


def taught(names: list[str], said: Documents, documents: Documents) -> Learned:
    """Learn from documents and the names of their labels."""
    means: Vectors = np.concatenate([said.means, documents.means])
    labels: NDArray[np.int32] = np.concatenate([said.labels, documents.labels])
    return learn(Examples(means, [*said.texts, *documents.texts], labels, len(names)), names)


def by_splits(learned: Learned, test: Documents) -> Iterator[str]:
    """One head; half of the documents that it never saw bear the promise, the other half judges it."""
    kept: dict[float, Kept] = {}
    found = answers(learned, test)
    for seed in range(SPLITS):
        mixed = np.random.default_rng(seed).permutation(found.scores.size)
        halves = mixed[: mixed.size // 2], mixed[mixed.size // 2 :]
        judge(kept, *(Unseen(found.scores[half], found.right[half], None) for half in halves))
    return (its.told(risk) for risk, its in kept.items())


def by_draws(names: list[str], said: Documents, every: Documents, number: int) -> Iterator[str]:
    """As the product does it: a head from each draw of examples, whose five folds bear the promise; all other documents
    judge it."""
    kept: dict[float, Kept] = {}
    for seed in range(DRAWS):
        rows = picked(every.labels, number, seed)
        learned = taught(names, said, every.some(rows))
        others = every.some(sorted(set(range(every.labels.size)) - set(rows)))
        judge(kept, _unseen(learned.unseen, learned.labels), answers(learned, others))
    return (its.told(risk) for risk, its in kept.items())


def nights(model: engine.Model, names: list[str], train: Documents, learned: Learned) -> Iterator[str]:
    """Measure the cost of examples before the first document: in a head, and as those of labels, two nights long."""
    labels = tuple(
        Label(name, examples=tuple(train.texts[row] for row in np.flatnonzero(train.labels == label)))
        for label, name in enumerate(names)
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.head"
        write_head(file, head_of(learned))
        task, begun = ClassifySettings(labels, accept=Accept(0.05)), time.process_time()
        task.check_head(read_head(file))
        task.on_head(model, read_head(file))
        yield f"  in a head of {file.stat().st_size:,} bytes: {time.process_time() - begun:.2f} CPU-s"
        for which in ("first", "second"):
            begun = time.process_time()
            kept = KeptVectors(model, Path(folder) / "vectors", {}, b"of the benchmark")
            ClassifySettings(labels).on_embedding(kept)
            kept.save()
            yield f"  as examples of labels, the {which} night: {time.process_time() - begun:.2f} CPU-s"


def main() -> int:
    """Print the lines; 0."""
    data = os.environ.get("CLOISTER_DATA")
    if not data or len(sys.argv) != 2:
        print("CLOISTER_DATA is not set, or no model is named: nothing is measured")
        return 0
    model = engine.load(Path(sys.argv[1]))
    names, parts = banking(Path(data))
    said = read(model, [(name.replace("_", " "), label) for label, name in enumerate(names)])
    train, test = (read(model, part) for part in parts)
    learned = taught(names, said, train)
    print(f"Banking77, learned from {len(train.texts):,}, {SPLITS} splits of its test set into halves")
    print(*by_splits(learned, test), sep="\n", flush=True)
    print(f"Cost of {len(train.texts):,} examples before the first document")
    print(*nights(model, names, train, learned), sep="\n", flush=True)
    every = Documents(
        np.concatenate([train.means, test.means]), train.texts + test.texts, np.concatenate([train.labels, test.labels])
    )
    print(f"Banking77, {DRAWS} draws of {DRAWN} examples a label, each judged on all other documents")
    print(*by_draws(names, said, every, DRAWN), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
