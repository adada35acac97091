"""How near the vectors of the Q8_0 file are to the original float32 model's, over 200 real texts of 3 to 500 tokens.

Contracts, questions of bank customers, abstracts, texts in scripts that the vocabulary hardly knows, odd strings.
"""

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import engine
from tests.reference.bert import Reference

ENCODINGS = ["utf-8", "KOI8-R", "Big5", "SHIFT_JIS", "EUC-KR", "iso-8859-1"]


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


@pytest.fixture(scope="module")
def model(real_model: Path) -> engine.Model:
    return engine.load(real_model)


def test_200_real_texts(model: engine.Model, minilm: Path, data_folder: Path) -> None:
    texts = sample(sources(data_folder), 200, lambda text: model.count_tokens([text])[0])
    reference = Reference(minilm)
    expected = np.stack([reference.embed(ids) for ids in model._tokenizer.encode_many(texts)])
    cosines = (model.embed(texts).astype(np.float64) * expected).sum(1)
    worst = texts[int(cosines.argmin())]
    found = f"mean {cosines.mean():.5f}, 1st percentile {np.percentile(cosines, 1):.5f}, least {cosines.min():.5f}"
    print(found)
    assert cosines.mean() >= 0.9995, found
    assert np.percentile(cosines, 1) >= 0.9985, found
    assert cosines.min() >= 0.997, (found, worst)


def test_pairs_that_mean_the_same_are_nearer(model: engine.Model) -> None:
    texts = [
        "The tenant shall pay the rent on the first day of each month.",
        "Rent is due from the lessee at the beginning of every month.",
        "How do I activate my new card?",
        "My card has arrived, what do I have to do so that I can use it?",
    ]
    vectors = model.embed(texts)
    scores = engine.similarity(vectors, vectors)
    assert min(scores[0, 1], scores[2, 3]) > 0.6
    assert max(scores[0, 2], scores[0, 3], scores[1, 2], scores[1, 3]) < 0.2
