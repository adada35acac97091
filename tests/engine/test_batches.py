"""Blocks of texts, and the memory that they are computed in."""

from pathlib import Path

import numpy as np
import pytest

import engine
from engine import batches
from engine.batches import BLOCK_TOKENS, blocks
from tests.encoders import write_encoder


def test_blocks_hold_every_text_once_and_no_more_tokens_than_they_may() -> None:
    sizes = np.random.default_rng(0).integers(2, 300, 400).tolist()
    found = list(blocks(sizes, BLOCK_TOKENS))
    assert sorted(i for block in found for i in block) == list(range(400))
    for block in found:
        assert sum(sizes[i] for i in block) <= BLOCK_TOKENS or len(block) == 1
    assert list(blocks([], BLOCK_TOKENS)) == []


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> engine.Model:
    folder = tmp_path_factory.mktemp("long")
    write_encoder(folder / "hf", "modernbert", config={"max_position_embeddings": 4000})
    engine.import_model(folder / "hf", folder / "m.gguf", name="m", file_type="q8_0")
    return engine.load(folder / "m.gguf")


def kept(model: engine.Model) -> list[int]:
    return [scratch.bytes for scratch in model._batches._scratch]


def test_memory_grows_with_the_longest_text_and_not_with_the_batch(model: engine.Model) -> None:
    expected = model.embed(["the report", "a " * 90])
    small = kept(model)
    model.embed(["the report"] * 500)
    assert kept(model)[0] == small[0] < 4 << 20
    model.embed(["a " * 1500])
    assert small[0] < kept(model)[0] < batches._LARGEST_KEPT
    assert model.embed(["the report", "a " * 90]).tobytes() == expected.tobytes()


def test_large_memory_is_not_kept(model: engine.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    long = ["a " * 1900]
    expected = model.embed(long)
    monkeypatch.setattr(batches, "_LARGEST_KEPT", 1 << 20)
    assert model.embed(long).tobytes() == expected.tobytes()
    assert max(kept(model)) < 1 << 20
    assert model.embed(["the report"]).shape == (1, 32)


def test_a_text_of_the_whole_context(model: engine.Model, tmp_path: Path) -> None:
    assert np.isfinite(model.embed([" ".join("a" for _ in range(2000))[: 2 * 1999 - 1]])).all()
    with pytest.raises(engine.InputTooLong):
        model.embed(["a " * 2000])
