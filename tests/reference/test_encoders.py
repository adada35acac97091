"""The references against transformers: kept results, and transformers itself where it is installed."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.convert import import_model
from tests.encoders import write_encoder
from tests.reference.encoders import Encoder
from tests.reference.make_encoders import CASES, ROWS, TARGET, compute, inputs

TOLERANCE = 2e-5
"""Of float32 there against float64 here; the values are of the size of 1."""


def of_reference(case: str, folder: Path) -> np.ndarray:
    name, head, config = CASES[case]
    write_encoder(folder / "hf", name, head, config)
    import_model(folder / "hf", folder / "f", name="x", file_type="f32")
    model, (ids, types) = Encoder(folder / "f"), inputs(name)
    if head == "embedding":
        return model.states(ids, types)[ROWS]
    return model.sequence(ids, types) if head == "sequence" else model.tokens(ids, types)


@pytest.mark.parametrize("case", CASES)
def test_kept_results_of_transformers(case: str, tmp_path: Path) -> None:
    expected = np.array(json.loads(TARGET.read_text())[case])
    found = of_reference(case, tmp_path)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < TOLERANCE
    assert np.abs(expected).max() > 0.1


@pytest.mark.parametrize("case", CASES)
def test_transformers(case: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    name, head, _ = CASES[case]
    found = of_reference(case, tmp_path)
    assert np.abs(found - compute(tmp_path / "hf", name, head)).max() < TOLERANCE


def test_embedding_is_pooled_and_normalised(tmp_path: Path) -> None:
    write_encoder(tmp_path / "hf", "modernbert")
    import_model(tmp_path / "hf", tmp_path / "f", name="x", file_type="f32")
    model, (ids, _) = Encoder(tmp_path / "f"), inputs("modernbert")
    mean = model.states(ids).mean(0)
    assert np.allclose(model.embed(ids), mean / np.linalg.norm(mean))
