"""Gemma 2: norms after each part, windows in every other layer, caps, and scaled embeddings."""

from pathlib import Path

from engine.gguf import read
from engine.models.decoders import examine, read_shape
from tests.decoders import write_decoder


def test_what_gemma_2_does_differently(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "gemma2")
    shape = read_shape(read(path))
    assert shape.post_norms
    assert shape.gelu
    assert not shape.qk_norm
    assert shape.windows == (10, 0, 10)
    assert (shape.attention_cap, shape.final_cap) == (2.0, 3.0)
    assert (shape.embedding_scale, shape.scale) == (8.0, 0.25)
    examine(read(path))


def test_defaults_of_what_the_file_does_not_say(tmp_path: Path) -> None:
    keys = ("attention.sliding_window", "attn_logit_softcapping", "final_logit_softcapping")
    path = write_decoder(tmp_path / "f", "gemma2", metadata={f"gemma2.{key}": None for key in keys})
    shape = read_shape(read(path))
    assert shape.windows == (4096, 0, 4096)
    assert (shape.attention_cap, shape.final_cap) == (50.0, 30.0)


def test_queries_of_the_largest_model_are_scaled_by_its_width(tmp_path: Path) -> None:
    metadata = {"gemma2.block_count": 46, "gemma2.attention.key_length": 32, "gemma2.attention.value_length": 32}
    assert read_shape(read(write_decoder(tmp_path / "f", "gemma2", metadata=metadata))).scale == 0.25
