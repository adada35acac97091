"""Texts of mixed lengths as token ids, in a file that every contender reads.

With CLOISTER_DATA half of them are questions of bank customers, half paragraphs of contracts of up to 512 tokens; else
ids are random, and the lengths are like those.
"""

import csv
import os
import random
import re
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LONGEST = 512
QUESTIONS, CONTRACTS = "classification/banking77/banking_data/test.csv", "extraction/cuad/txt"


def write_sets(file: Path, count: int) -> str:
    """Writes the sets `mixed`, as texts come, and `sorted`, by length; returns what they are."""
    data = os.environ.get("CLOISTER_DATA")
    ids = _real(Path(data), count) if data else _synthetic(count)
    by_length = sorted(ids, key=len)
    sets = {"mixed": ids, "sorted": by_length}
    arrays = {f"{name}.{part}": values for name, texts in sets.items() for part, values in _flat(texts).items()}
    np.savez(file, **arrays)  # type: ignore[arg-type]
    lengths = np.array([each.size for each in ids])
    kind = "questions and contract paragraphs" if data else "random ids"
    return (
        f"{count} texts ({kind}), {lengths.sum():,} tokens; lengths {lengths.min()} to {lengths.max()}, "
        f"median {np.median(lengths):.0f}"
    )


@cache
def read_set(file: str, name: str) -> list[NDArray[np.int64]]:
    """The ids of each text."""
    with np.load(file) as arrays:
        return np.split(arrays[f"{name}.ids"], arrays[f"{name}.ends"][:-1])


def _flat(texts: list[NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
    return {"ids": np.concatenate(texts), "ends": np.cumsum([each.size for each in texts])}


def _real(data: Path, count: int) -> list[NDArray[np.int64]]:
    import engine

    chance = random.Random(5)
    with (data / QUESTIONS).open(newline="") as file:
        questions = [row["text"] for row in csv.DictReader(file)]
    contracts = [path.read_text(errors="replace") for path in sorted((data / CONTRACTS).iterdir())]
    paragraphs = [" ".join(each.split()) for text in contracts for each in re.split(r"\n\s*\n", text)]
    encode = engine.load(os.environ["CLOISTER_MODEL"])._tokenizer.encode_many
    chance.shuffle(questions)
    chance.shuffle(paragraphs)
    short = encode(questions[: count // 2])
    fitting = (ids for ids in encode([each for each in paragraphs if len(each) >= 40]) if ids.size <= LONGEST)
    ids = [*short, *(each for each, _ in zip(fitting, range(count - len(short)), strict=False))]
    chance.shuffle(ids)
    return [each.astype(np.int64) for each in ids]


def _synthetic(count: int) -> list[NDArray[np.int64]]:
    chance = np.random.default_rng(5)
    lengths = np.where(chance.random(count) < 0.5, chance.normal(14, 5, count), chance.lognormal(4.6, 0.8, count))
    return [chance.integers(1000, 20000, int(n)) for n in np.clip(lengths, 4, LONGEST)]
