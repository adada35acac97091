"""How near the vectors of the Q8_0 file are to the original float32 model's, over real texts of 3 to 500 tokens."""

from pathlib import Path

import numpy as np
import pytest

import engine
from tests.benchmarks.accuracy import measure
from tests.thorough import ALL

COUNT = 300 if ALL else 60  # `python -m tests.benchmarks.accuracy` measures 1,000


@pytest.fixture(scope="module")
def model(real_model: Path) -> engine.Model:
    return engine.load(real_model)


def test_real_texts(model: engine.Model, minilm: Path, data_folder: Path) -> None:
    found = measure(model, minilm, data_folder, COUNT)
    print(found)
    assert found.cosines.mean() >= 0.9995, found
    assert np.percentile(found.cosines, 1) >= 0.9985, found
    assert found.cosines.min() >= 0.997, (str(found), found.texts[found.cosines.argmin()])


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
