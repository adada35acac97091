"""Texts of mixed lengths as token ids, in a file that every contender reads.

With CLOISTER_DATA half of them are questions of bank customers, half paragraphs of contracts of up to 512 tokens; else
ids are random, and the lengths are like those. Vectors are compared over more kinds of texts, those of `accuracy.py`.
"""

import csv
import os
import random
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST = 512
COMPARED, CALIBRATION = 1000, 200
SHORT = 40  # characters
BANKING, CONTRACTS = "classification/banking77/banking_data", "extraction/cuad/txt"
Ids = NDArray[np.int64]


def write_sets(file: Path, count: int) -> tuple[str, str]:
    """Writes the sets `mixed`, `count` texts as they come, `sorted`, the same by length, `compared`, whose vectors are
    compared, and `calibration`, other texts for those who want some; returns what the first and the third are."""
    data = os.environ.get("CLOISTER_DATA")
    mixed = _real(Path(data), count) if data else _synthetic(count, 5)
    compared, calibration = _to_compare(Path(data)) if data else (mixed, _synthetic(CALIBRATION, 6))
    sets = {"mixed": mixed, "sorted": sorted(mixed, key=len), "compared": compared, "calibration": calibration}
    arrays = {f"{name}.{part}": values for name, texts in sets.items() for part, values in _flat(texts).items()}
    np.savez(file, **arrays)  # type: ignore[arg-type]
    kinds = ("questions and contract paragraphs", "those of accuracy.py") if data else ("random ids", "random ids")
    return _described(mixed, kinds[0]), _described(compared, kinds[1])


def _described(texts: list[Ids], kind: str) -> str:
    lengths = np.array([each.size for each in texts])
    return (
        f"{len(texts):,} texts ({kind}), {lengths.sum():,} tokens; lengths {lengths.min()} to {lengths.max()}, "
        f"median {np.median(lengths):.0f}"
    )


@cache
def read_set(file: str, name: str) -> list[Ids]:
    """The ids of each text."""
    with np.load(file) as arrays:
        return np.split(arrays[f"{name}.ids"], arrays[f"{name}.ends"][:-1])


def _flat(texts: list[Ids]) -> dict[str, Ids]:
    return {"ids": np.concatenate(texts), "ends": np.cumsum([each.size for each in texts])}


def _real(data: Path, count: int) -> list[Ids]:
    chance = random.Random(5)
    asked, paragraphs = questions(data, "test"), _paragraphs(data)
    chance.shuffle(asked)
    chance.shuffle(paragraphs)
    ids = [*_fitting(asked, count // 2), *_fitting(_long(paragraphs), count - count // 2)]
    chance.shuffle(ids)
    return ids


def _to_compare(data: Path) -> tuple[list[Ids], list[Ids]]:
    """Texts of `accuracy.py` by length, and others: questions, and paragraphs that share nothing with the former."""
    from tests.benchmarks.accuracy import sample, sources

    chance, tokenizer, half = random.Random(6), _tokenizer(), CALIBRATION // 2
    texts = sample(sources(data), COMPARED, lambda text: len(tokenizer.encode_many([text])[0]))
    known = [" ".join(each.split()) for each in texts]
    asked, paragraphs = questions(data, "train"), _paragraphs(data)
    chance.shuffle(asked)
    chance.shuffle(paragraphs)
    others = (each for part in (asked, _long(paragraphs)) for each in islice(_apart(part, known), half))
    return sorted(_encoded(texts), key=len), _fitting(list(others), CALIBRATION)


def _apart(texts: Iterable[str], known: list[str]) -> Iterator[str]:
    """Those of which no known text is a part, nor they of one; a few words are in many."""
    return (each for each in texts if not any(each in one or (len(one) >= SHORT and one in each) for one in known))


def questions(data: Path, part: str) -> list[str]:
    """Of bank customers, `train` or `test`."""
    with (data / BANKING / f"{part}.csv").open(newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def _paragraphs(data: Path) -> list[str]:
    """Of contracts, in their order."""
    contracts = [path.read_text(errors="replace") for path in sorted((data / CONTRACTS).iterdir())]
    return [" ".join(each.split()) for text in contracts for each in re.split(r"\n\s*\n", text)]


def _long(texts: list[str]) -> list[str]:
    return [each for each in texts if len(each) >= SHORT]


def _fitting(texts: list[str], count: int) -> list[Ids]:
    """The ids of the first so many that are not longer than a text may be."""
    return list(islice((ids for ids in _encoded(texts[: 4 * count]) if ids.size <= LONGEST), count))


def _encoded(texts: Iterable[str]) -> list[Ids]:
    return [each.astype(np.int64) for each in _tokenizer().encode_many(list(texts))]


@cache
def _tokenizer() -> Any:
    import engine

    return engine.load(os.environ["CLOISTER_MODEL"])._tokenizer


def _synthetic(count: int, seed: int) -> list[Ids]:
    chance = np.random.default_rng(seed)
    lengths = np.where(chance.random(count) < 0.5, chance.normal(14, 5, count), chance.lognormal(4.6, 0.8, count))
    return [chance.integers(1000, 20000, int(n)) for n in np.clip(lengths, 4, LONGEST)]
