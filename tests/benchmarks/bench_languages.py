"""Which encoder for which language: questions in other languages over English examples, and the demo's documents.

python -m tests.benchmarks.bench_languages MODEL.gguf ...

It prints for each model how many questions of each language get their topic, with examples and with names alone, and
how many labels and fields of the demo's documents are as tests/corpus/demo/expected.json has them, by language.
"""

import sys
import time
from collections import Counter
from pathlib import Path

import engine
from pipeline.document import Parsed
from pipeline.tasks import Embedder, Task
from pipeline.tasks.meanings import Prompted, reading_documents
from tests.languages import QUESTIONS, settings


def answers(task: Task, model: Embedder, texts: list[str]) -> list[str | None]:
    """The label of each text."""
    on = task.on_embedding(model)
    found = []
    for text in texts:
        document = Parsed(text, "text/plain", "none")
        spans = on.spans(document)
        found.append(on.answer(document, spans, model.embed([text[s.start : s.end] for s in spans])).columns["label"])
    return found


def right(model: Embedder, *, with_examples: bool) -> dict[str, int]:
    """How many questions of each language get their topic."""
    task = settings(with_examples=with_examples)
    return {
        language: sum(
            label == topic
            for label, (_, topic) in zip(answers(task, model, [text for text, _ in asked]), asked, strict=True)
        )
        for language, asked in QUESTIONS.items()
    }


def readings(model: engine.Model) -> dict[str, Embedder]:
    """The model as tasks use it, and, if it has prompts, with others."""
    if not any(model.prompts):
        return {"as it is": model}
    query = model.prompts[0]
    return {
        "documents as documents": reading_documents(model),
        "documents as queries": Prompted(model, query, query),
        "without prompts": model,
    }


def main(paths: list[str]) -> None:
    for path in paths:
        model = engine.load(path)
        for name, reading in readings(model).items():
            begun = time.perf_counter()
            counts = {kind: right(reading, with_examples=kind == "examples") for kind in ("examples", "names")}
            total = {kind: sum(Counter(its).values()) for kind, its in counts.items()}
            seconds = time.perf_counter() - begun
            print(f"{Path(path).stem}, {name}: {counts}, together {total} of 30, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
