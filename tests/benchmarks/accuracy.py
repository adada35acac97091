"""How near the vectors of a GGUF file are to the original float32 model's, over real texts of 3 to 500 tokens.

Contracts, questions of bank customers, abstracts, texts in scripts that the vocabulary hardly knows, odd strings.

CLOISTER_MODEL=… CLOISTER_MINILM=… CLOISTER_DATA=… python -m tests.benchmarks.accuracy [COUNT]
"""

import csv
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import engine
from tests.reference.bert import Reference

ENCODINGS = ["utf-8", "KOI8-R", "Big5", "SHIFT_JIS", "EUC-KR", "iso-8859-1"]


class Accuracy(NamedTuple):
    """Cosines of the vectors with the original's, and the text of each."""

    cosines: NDArray[np.float64]
    texts: list[str]

    def __str__(self) -> str:
        c = self.cosines
        return f"{c.size} texts: mean {c.mean():.5f}, 1st percentile {np.percentile(c, 1):.5f}, least {c.min():.5f}"


def sources(data: Path) -> list[list[str]]:
    """Whole texts of each kind."""
    with (data / "classification/banking77/banking_data/test.csv").open(newline="") as file:
        questions = [row["text"] for row in csv.DictReader(file)]
    abstracts = (data / "summarization/scitldr/dev.jsonl").read_text().splitlines()
    scripts = [
        path.read_text(encoding, errors="ignore")
        for encoding in ENCODINGS
        for path in sorted((data / "documents/encodings" / encoding).iterdir())
    ]
    return [
        [path.read_text(errors="replace") for path in sorted((data / "extraction/cuad/txt").iterdir())],
        questions,
        [" ".join(json.loads(line)["source"]) for line in abstracts],
        scripts,
        json.loads((data / "vectors/naughty-strings/blns.json").read_text()),
    ]


def sample(kinds: list[list[str]], count: int, tokens: Callable[[str], int]) -> list[str]:
    """Pieces of 10 to 2,300 characters, short ones as likely as long ones, of 3 to 500 tokens."""
    chance = random.Random(11)
    found: list[str] = []
    while len(found) < count:
        text = chance.choice(kinds[len(found) % len(kinds)])
        start = chance.randrange(max(1, len(text) - 400))
        piece = text[start : start + int(10 * 230 ** chance.random())]
        if 3 <= tokens(piece) <= 500:
            found.append(piece)
    return found


def measure(model: engine.Model, original: Path, data: Path, count: int) -> Accuracy:
    """Of so many texts, the same ones each time; `original` is the Hugging Face folder."""
    texts = sample(sources(data), count, lambda text: model.count_tokens([text])[0])
    reference = Reference(original)
    expected = np.stack([reference.embed(ids) for ids in model._tokenizer.encode_many(texts)])
    return Accuracy((model.embed(texts).astype(np.float64) * expected).sum(1), texts)


if __name__ == "__main__":
    model, minilm, folder = (os.environ[f"CLOISTER_{name}"] for name in ("MODEL", "MINILM", "DATA"))
    found = measure(engine.load(model), Path(minilm), Path(folder), int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    print(found)
    for i in np.argsort(found.cosines)[:5]:
        print(f"  {found.cosines[i]:.5f}  {found.texts[i][:100]!r}")
