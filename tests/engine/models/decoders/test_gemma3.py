"""Gemma 3: as Gemma 2 without caps, with normed queries and keys and positions of their own in windows."""

from pathlib import Path

import pytest

from engine.errors import UnsupportedModel
from engine.gguf import read
from engine.models.decoders import examine, read_shape
from tests.decoders import write_decoder


def test_what_gemma_3_does_differently(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "gemma3")
    shape = read_shape(read(path))
    assert shape.post_norms
    assert shape.gelu
    assert shape.qk_norm
    assert shape.windows == (10, 10, 0, 10)
    assert (shape.attention_cap, shape.final_cap) == (0.0, 0.0)
    examine(read(path))


def test_layers_with_a_window_have_positions_of_their_own(tmp_path: Path) -> None:
    shape = read_shape(read(write_decoder(tmp_path / "f", "gemma3")))
    assert (shape.rotation.base, shape.rotation.stretch) == (1e6, 8.0)
    assert (shape.near_rotation.base, shape.near_rotation.stretch) == (1e4, 1.0)


def test_a_cap_of_scores_is_refused(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "gemma3", metadata={"gemma3.attn_logit_softcapping": 50.0})
    with pytest.raises(UnsupportedModel, match="attn_logit_softcapping"):
        read_shape(read(path))
