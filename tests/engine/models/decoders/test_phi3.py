"""Phi 3: queries, keys and values in one matrix, gate and up in one; a window; factors for long contexts."""

from pathlib import Path

from engine.gguf import read
from engine.models.decoders import examine, read_shape
from tests.decoders import write_decoder


def test_matrices_of_several_parts_and_a_window(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "phi3")
    file = read(path)
    assert "blk.0.attn_qkv.weight" in file.tensors
    assert "blk.0.ffn_gate.weight" not in file.tensors
    assert read_shape(file).windows == (10, 10, 10)
    examine(file)


def test_factors_of_a_long_context(tmp_path: Path) -> None:
    rotation = read_shape(read(write_decoder(tmp_path / "f", "phi3 long"))).rotation
    assert rotation.factors == tuple(1 + i / 4 for i in range(8))
    assert rotation.grown > 1


def test_factors_of_a_short_context(tmp_path: Path) -> None:
    metadata = {"phi3.rope.scaling.original_context_length": 256}
    rotation = read_shape(read(write_decoder(tmp_path / "f", "phi3 long", metadata=metadata))).rotation
    assert rotation.factors == (1.0,) * 8
