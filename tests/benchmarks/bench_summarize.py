"""How much of a one-sentence summary that a person wrote is in the sentence that `summarize` chooses: ROUGE-L.

    python -m tests.benchmarks.bench_summarize MODEL.gguf

Reads summarization/ below CLOISTER_DATA: abstracts of papers (SciTLDR, the best of its summaries counts) and clauses of
terms in small letters (legal_summarization), beside the first sentence, with the 95% interval of the difference over
2,000 bootstrap samples.
"""

import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import engine
from pipeline.document import Parsed
from pipeline.tasks import Embedder, SummarizeSettings
from pipeline.tasks.meanings import reading_documents
from pipeline.text.sentences import split_sentences

ROUNDS = 2_000
_TOKEN = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class Summarized:
    """A text, and the summaries that people wrote of it."""

    text: str
    said: tuple[str, ...]


def rouge_l(summary: str, reference: str) -> float:
    """F1 of the longest common subsequence of two texts' words in lower case (Lin 2004), without stemming."""
    a, b = (_TOKEN.findall(text.lower()) for text in (summary, reference))
    row = [0] * (len(b) + 1)
    for word in a:
        before = 0
        for index, other in enumerate(b, 1):
            kept = row[index]
            row[index] = before + 1 if word == other else max(row[index], row[index - 1])
            before = kept
    return 2 * row[-1] / (len(a) + len(b)) if row[-1] else 0.0


def papers(data: Path) -> list[Summarized]:
    """The abstracts of SciTLDR's dev set, a sentence a line there."""
    with (data / "summarization" / "scitldr" / "dev.jsonl").open() as lines:
        rows = [json.loads(line) for line in lines]
    return [Summarized(" ".join(row["source"]), tuple(row["target"])) for row in rows]


def clauses(data: Path) -> list[Summarized]:
    """Clauses of licences and terms of service."""
    rows = json.loads((data / "summarization" / "legal_summarization" / "all_v1.json").read_text())
    return [Summarized(row["original_text"], (row["reference_summary"],)) for row in rows.values()]


def points(texts: Sequence[Summarized], summary: Callable[[str], str]) -> list[float]:
    """ROUGE-L of each summary with the reference most like it, in hundredths."""
    return [100 * max(rouge_l(summary(one.text), said) for said in one.said) for one in texts]


def chosen(model: Embedder) -> Callable[[str], str]:
    """What the task answers to a text."""
    task = SummarizeSettings(sentences=1).on_embedding(model)

    def summary(text: str) -> str:
        document = Parsed(text, "text/plain", "bench")
        spans = task.spans(document)
        vectors = model.embed([text[span.start : span.end] for span in spans])
        return task.answer(document, spans, vectors).columns["summary"] or ""

    return summary


def first(text: str) -> str:
    """The first sentence."""
    spans = split_sentences(text)
    return text[spans[0].start : spans[0].end] if spans else ""


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """The middle 95% of the means of samples with replacement."""
    chance = random.Random(0)
    means = sorted(sum(chance.choices(differences, k=len(differences))) / len(differences) for _ in range(ROUNDS))
    return means[ROUNDS // 40], means[-ROUNDS // 40]


def report(name: str, texts: Sequence[Summarized], model: Embedder) -> Iterator[str]:
    """The lines of one set."""
    ours, lead = points(texts, chosen(model)), points(texts, first)
    low, high = interval([a - b for a, b in zip(ours, lead, strict=True)])
    yield f"{name}, {len(texts)} texts, ROUGE-L of one sentence"
    yield f"  chosen {sum(ours) / len(ours):.1f}   first sentence {sum(lead) / len(lead):.1f}"
    yield f"  difference between {low:+.2f} and {high:+.2f}"
    whole = sum(len(split_sentences(text.text)) == 1 for text in texts)
    yield f"  texts of one sentence: {whole}"


def main() -> int:
    """Print the lines; 0."""
    data = os.environ.get("CLOISTER_DATA")
    if not data or len(sys.argv) != 2:
        print("CLOISTER_DATA is not set, or no model is named: nothing is measured")
        return 0
    model = reading_documents(engine.load(Path(sys.argv[1])))
    for name, texts in (("SciTLDR", papers(Path(data))), ("Clauses of law", clauses(Path(data)))):
        print("\n".join(report(name, texts, model)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
