"""How much the sentence that `summarize` chooses shares with what people wrote, with and without a learned head.

    python -m tests.benchmarks.bench_learned_summary MODEL.gguf

Reads summarization/scitldr below CLOISTER_DATA: abstracts with summaries of one sentence. A head is learned from
dev.jsonl and asked about test.jsonl; where that is not there, dev.jsonl is asked in five parts, each by a head that was
learned from the others. ROUGE-L is counted in three ways (`rouge.py`), and once more over the abstracts with three
summaries or more: those of the test set have 3.2 on average, those of the dev set 2.3, and the best one counts.
"""

import json
import os
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import engine
from pipeline.document import Parsed
from pipeline.heads import HeadFile
from pipeline.learn.reading import work_of
from pipeline.tasks import SummarizeSettings
from pipeline.tasks.base import EmbeddingTask
from pipeline.tasks.examples import vectors_of
from pipeline.tasks.passages import passages
from pipeline.tasks.summarize import learn
from pipeline.tasks.summarize.answers import candidates
from pipeline.tasks.summarize.learn import Taught
from tests.benchmarks.rouge import WAYS, Points, points

FOLDS = 5
MANY = 3  # summaries of an abstract


@dataclass(frozen=True)
class Abstract:
    """An abstract with its first sentence, its passages and their vectors, and what is learned from it; None where it
    is one sentence."""

    first: str
    document: Parsed
    summaries: list[str]
    passages: Sequence[object]
    vectors: object
    taught: Taught | None


def read(model: engine.Model, file: Path) -> list[Abstract]:
    """The abstracts of a file."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    documents = [work_of(str(number), " ".join(row["source"])).parsed for number, row in enumerate(rows)]
    spans = [passages(document, model) for document in documents]
    vectors = vectors_of(documents, spans, model, lambda done, total: None)
    found = list[Abstract]()
    for row, document, its, of in zip(rows, documents, spans, vectors, strict=True):
        offered = candidates(document.text, its)
        sentences, own = [candidate.span for candidate in offered], of[[candidate.vector for candidate in offered]]
        taught = Taught(document, sentences, own, row["target"]) if len(offered) > 1 else None
        found.append(Abstract(row["source"][0], document, row["target"], its, of, taught))
    return found


def said(task: EmbeddingTask, asked: Sequence[Abstract]) -> Iterator[str]:
    """What the task answers."""
    for one in asked:
        yield task.answer(one.document, one.passages, one.vectors).columns["summary"] or ""  # type: ignore[arg-type]


def learned(given: Sequence[Abstract]) -> HeadFile:
    """The head that is learned from abstracts."""
    return learn.fit_sentences([one.taught for one in given if one.taught])[0].to_file()


def by_others(task: SummarizeSettings, model: engine.Model, given: Sequence[Abstract]) -> list[str]:
    """What is answered to each abstract by a head that was learned from those of the other folds."""
    answers = [""] * len(given)
    for fold in range(FOLDS):
        head = learned([one for number, one in enumerate(given) if number % FOLDS != fold])
        answers[fold::FOLDS] = said(task.on_head(model, head), given[fold::FOLDS])
    return answers


def told(label: str, each: Sequence[Points], asked: Sequence[Abstract]) -> Iterator[str]:
    """A line of figures, and the same of the abstracts with many summaries."""
    yield f"  {label:<22}" + "".join(f"{_mean(getattr(one, way) for one in each):>15}" for way in WAYS)
    many = [one for one, its in zip(each, asked, strict=True) if len(its.summaries) >= MANY]
    if many:
        yield f"    {f'{MANY} summaries or more':<20}" + "".join(
            f"{_mean(getattr(one, way) for one in many):>15}" for way in WAYS
        )


def _mean(values: Iterable[float]) -> str:
    """In hundredths, with half of the interval of 95%."""
    its = list(values)
    return f"{100 * statistics.fmean(its):.1f} ± {196 * statistics.stdev(its) / len(its) ** 0.5:.1f}"


def main() -> int:
    """Print the lines; 0."""
    data = os.environ.get("CLOISTER_DATA")
    if not data or len(sys.argv) != 2:
        print("CLOISTER_DATA is not set, or no model is named: nothing is measured")
        return 0
    model, folder = engine.load(Path(sys.argv[1])), Path(data) / "summarization" / "scitldr"
    task = SummarizeSettings(sentences=1)
    given = read(model, folder / "dev.jsonl")
    if (folder / "test.jsonl").is_file():
        asked, name, count = read(model, folder / "test.jsonl"), "test", len(given)
        with_head = list(said(task.on_head(model, learned(given)), asked))
    else:
        asked, name, count = given, "dev, each abstract by a head without it", len(given) - len(given) // FOLDS
        with_head = by_others(task, model, given)
    print(f"SciTLDR ({name}), {len(asked):,} abstracts, one sentence, ROUGE-L")
    print(" " * 24 + "".join(f"{way:>15}" for way in WAYS))
    for label, its in (
        ("first sentence", [one.first for one in asked]),
        ("without a head", said(task.on_embedding(model), asked)),
        (f"learned from {count:,}", with_head),
    ):
        each = [points(summary, one.summaries) for summary, one in zip(its, asked, strict=True)]
        print("\n".join(told(label, each, asked)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
