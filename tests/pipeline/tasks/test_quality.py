"""Answers to real data do not get worse. Needs CLOISTER_MODEL and CLOISTER_DATA; figures: pipeline/DECISIONS.md."""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from pipeline.document import Parsed
from pipeline.tasks import Answer, ClassifySettings, Embedder, Label, SummarizeSettings, Task


@pytest.fixture(scope="module")
def model(real_model: Path) -> Embedder:
    import engine

    return engine.load(real_model)


def ask_all(settings: Task, texts: list[str], model: Embedder) -> list[Answer]:
    task, documents = settings.on_embedding(model), [Parsed(text, "text/plain", "none") for text in texts]
    answers = []
    for document in documents:
        spans = task.spans(document)
        vectors = model.embed([document.text[span.start : span.end] for span in spans])
        answers.append(task.answer(document, spans, vectors))
    return answers


def test_bank_questions_by_the_names_of_77_classes(model: Embedder, data_folder: Path) -> None:
    with (data_folder / "classification/banking77/banking_data/test.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    settings = ClassifySettings(tuple(Label(name) for name in sorted({row["category"] for row in rows})), threshold=0.0)
    rows = rows[::15]
    answers = ask_all(settings, [row["text"] for row in rows], model)
    right = sum(answer.columns["label"] == row["category"] for answer, row in zip(answers, rows, strict=True))
    assert right / len(rows) > 0.57


def overlap(summary: str, reference: str) -> float:
    """ROUGE-1 F: twice the words in common by the words of both."""
    a, b = (Counter(text.lower().split()) for text in (summary, reference))
    return 2 * (a & b).total() / (a.total() + b.total())


def test_one_sentence_summaries_of_papers_beat_the_first_sentence(model: Embedder, data_folder: Path) -> None:
    with (data_folder / "summarization/scitldr/dev.jsonl").open() as file:
        papers = [json.loads(line) for line in file][::6]
    answers = ask_all(SummarizeSettings(sentences=1), [" ".join(paper["source"]) for paper in papers], model)
    ours = lead = 0.0
    for paper, answer in zip(papers, answers, strict=True):
        ours += max(overlap(answer.columns["summary"], target) for target in paper["target"])
        lead += max(overlap(paper["source"][0], target) for target in paper["target"])
    assert ours > 1.05 * lead
