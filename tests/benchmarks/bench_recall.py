"""How completely each format is read: a Markdown table of word recall, the acceptance of the parsers.

python -m tests.benchmarks.bench_recall         needs CLOISTER_DATA
What is counted, and against what: tests/pipeline/parse/recall.py.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from pipeline.parse import ParserPool
from tests.pipeline.parse.recall import (
    REQUIRED,
    REQUIRED_CUAD,
    REQUIRED_CUAD_EACH,
    Recall,
    contracts,
    overall,
    read,
    recalls,
)


def main() -> None:
    """Read all, print the table."""
    data = Path(os.environ["CLOISTER_DATA"])
    files = [path for path in sorted((data / "documents/docling").rglob("*")) if path.parent.name == "sources"]
    with ParserPool(2) as pool:
        measured = list(recalls((path, read(pool, path)) for path in files))
        cuad = list(contracts(pool, data))
    print("| format | files | words | recall | least of a file | required |\n|---|---|---|---|---|---|")
    for kind in sorted({one.kind for one in measured}):
        required = f"{REQUIRED[kind]:.2f}" if kind in REQUIRED else "-"
        print(row(kind.upper(), [one for one in measured if one.kind == kind], required))
    print(row("PDF, contracts of CUAD", cuad, f"{REQUIRED_CUAD}, each {REQUIRED_CUAD_EACH}"))


def row(name: str, measured: Iterable[Recall], required: str) -> str:
    """A line of the table."""
    measured = list(measured)
    words, least = sum(one.expected for one in measured), min(one.share for one in measured)
    return f"| {name} | {len(measured)} | {words:,} | {overall(measured):.4f} | {least:.3f} | {required} |"


if __name__ == "__main__":
    main()
