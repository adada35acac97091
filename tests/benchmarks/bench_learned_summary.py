"""How much the sentence that `summarize` chooses shares with what people wrote, with and without a learned head.

    python -m tests.benchmarks.bench_learned_summary MODEL.gguf

Reads summarization/scitldr below CLOISTER_DATA: abstracts with summaries of one sentence. A head is learned from
dev.jsonl and asked about test.jsonl; where that is not there, dev.jsonl is asked in five parts, each by a head that was
learned from the others.
"""

import json
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import engine
from pipeline.document import Parsed
from pipeline.heads.file import HeadFile
from pipeline.learn import summarizing
from pipeline.learn.agreement import rouge_l, words_of
from pipeline.learn.reading import plain, vectors_of
from pipeline.learn.summarizing import Taught
from pipeline.tasks import SummarizeSettings
from pipeline.tasks.base import EmbeddingTask
from pipeline.tasks.embedding.passages import passages
from pipeline.tasks.embedding.prose import candidates

FOLDS = 5


@dataclass(frozen=True)
class Abstract:
    """An abstract with its passages and their vectors, and what is learned from it; None where it is one sentence."""

    document: Parsed
    summaries: list[str]
    passages: Sequence[object]
    vectors: object
    taught: Taught | None


def read(model: engine.Model, file: Path) -> list[Abstract]:
    """The abstracts of a file."""
    said = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    documents = [plain(" ".join(one["source"])) for one in said]
    spans = [passages(document, model) for document in documents]
    vectors = vectors_of(documents, spans, model, lambda done, total: None)
    found = list[Abstract]()
    for one, document, its, rows in zip(said, documents, spans, vectors, strict=True):
        offered = candidates(document.text, its)
        sentences = [candidate.span for candidate in offered]
        of = rows[[candidate.vector for candidate in offered]]
        taught = Taught(document, sentences, of, one["target"]) if len(offered) > 1 else None
        found.append(Abstract(document, one["target"], its, rows, taught))
    return found


def rouge(task: EmbeddingTask, asked: Sequence[Abstract]) -> Iterator[float]:
    """The best ROUGE-L of what the task answers with one of the summaries."""
    for one in asked:
        said = words_of(task.answer(one.document, one.passages, one.vectors).columns["summary"])  # type: ignore[arg-type]
        yield max(rouge_l(said, words_of(summary)) for summary in one.summaries)


def learned(given: Sequence[Abstract]) -> HeadFile:
    """The head that is learned from abstracts."""
    return summarizing.learn([one.taught for one in given if one.taught]).head.to_file({})


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
        with_head = list(rouge(task.on_head(model, learned(given)), asked))
    else:
        asked, name, count = given, "dev, each abstract by a head without it", len(given) - len(given) // FOLDS
        with_head = [
            each
            for fold in range(FOLDS)
            for each in rouge(
                task.on_head(model, learned([one for n, one in enumerate(given) if n % FOLDS != fold])),
                given[fold::FOLDS],
            )
        ]
    without = list(rouge(task.on_embedding(model), asked))
    print(f"SciTLDR ({name}), {len(asked):,} abstracts, one sentence, ROUGE-L")
    for label, its in (("without a head", without), (f"learned from {count:,}", with_head)):
        error = 196 * statistics.stdev(its) / len(its) ** 0.5
        print(f"  {label:<20} {100 * statistics.fmean(its):.1f} ± {error:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
