"""Granite: Llama with scales of embeddings, scores, what each part adds, and logits."""

from pathlib import Path

import pytest

from engine.errors import UnsupportedModel
from engine.gguf import read
from engine.models.decoders import examine, read_shape
from tests.decoders import write_decoder


def test_scales(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "granite")
    shape = read_shape(read(path))
    assert shape.interleaved
    found = shape.embedding_scale, shape.residual_scale, shape.logit_scale, shape.scale
    assert found == pytest.approx((3.0, 0.4, 2.0, 0.1))
    examine(read(path))


def test_without_scales_it_is_llama(tmp_path: Path) -> None:
    keys = ("attention.scale", "embedding_scale", "residual_scale", "logit_scale")
    path = write_decoder(tmp_path / "f", "granite", metadata={f"granite.{key}": None for key in keys})
    shape = read_shape(read(path))
    assert (shape.embedding_scale, shape.residual_scale, shape.logit_scale, shape.scale) == (1.0, 1.0, 1.0, 0.25)


def test_positions_that_are_not_rotated_are_refused(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "granite", metadata={"granite.rope.scaling.finetuned": False})
    with pytest.raises(UnsupportedModel, match="finetuned"):
        read_shape(read(path))
