"""What the documents of tests/corpus cost: the numbers of costs.json, from which nights are simulated.

    python -m tests.nights.measure MODEL.gguf > tests/nights/costs.json

Runs a job that classifies all of them with this model, once to warm up and then six times, and takes from the log what
each document took in the three quickest of these runs, for others may use the machine too: its path in tests/corpus,
the sha256 of its text, its tokens, and the seconds of the three runs, so that they sum up to what the run worked on
them. Documents without text cost next to nothing and are left out.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pipeline
from pipeline.records.entries import read_entries
from pipeline.records.types import Document, RunFinished
from tests.pipeline.conftest import Witness, make_plan, make_site

CORPUS = Path(__file__).parent.parent / "corpus"
RUNS, QUICKEST = 6, 3


def documents() -> list[Path]:
    """The files of the corpus, without the programs that made them."""
    files = (path for path in CORPUS.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(path for path in files if path.suffix != ".py")


def main() -> None:
    """The command."""
    with tempfile.TemporaryDirectory() as folder:
        made = make_plan(make_site(Path(folder) / "ws"), Path(sys.argv[1]))
        plan = replace(made, input=replace(made.input, duplicates="process"))
        for _ in range(1 + RUNS):
            for path in documents():
                target = plan.input.folder / path.relative_to(CORPUS)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
            pipeline.run(plan, observer=Witness())
        found: dict[str, list[Document]] = {}
        worked = []
        for entry in read_entries(plan.site):
            if isinstance(entry, RunFinished):
                worked.append(entry.seconds - (entry.ready_seconds or 0.0))
            if isinstance(entry, Document) and entry.tokens:
                found.setdefault(entry.path, []).append(entry)
    totals = [sum(rows[run].seconds or 0.0 for rows in found.values()) for run in range(1 + RUNS)]
    quick = sorted(range(1, 1 + RUNS), key=worked.__getitem__)[:QUICKEST]
    rows = [
        [
            path,
            rows[0].text_sha256,
            rows[0].tokens,
            [round(rows[run].seconds * worked[run] / totals[run], 4) for run in quick],
        ]
        for path, rows in found.items()
    ]
    print("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]")


if __name__ == "__main__":
    main()
