"""Llama: pairs of neighbours are rotated; windows of Mistral; experts of Mixtral; positions stretched in three ways."""

from pathlib import Path

from engine.gguf import read
from engine.models.decoders import read_shape
from tests.decoders import write_decoder


def test_pairs_of_neighbours_are_rotated(tmp_path: Path) -> None:
    shape = read_shape(read(write_decoder(tmp_path / "f", "llama")))
    assert (shape.d_model, shape.d_ff, shape.heads, shape.kv_heads, shape.head_dim) == (64, 96, 4, 2, 16)
    assert shape.interleaved
    assert not any((shape.qk_norm, shape.qkv_bias, shape.post_norms, shape.gelu, shape.experts))
    assert shape.windows == (0, 0, 0)
    assert shape.scale == 0.25


def test_heads_may_have_another_size(tmp_path: Path) -> None:
    shape = read_shape(read(write_decoder(tmp_path / "f", "llama tied")))
    assert (shape.head_dim, shape.head_stride, shape.group) == (12, 32, 2)


def test_every_layer_of_mistral_has_the_window(tmp_path: Path) -> None:
    assert read_shape(read(write_decoder(tmp_path / "f", "mistral"))).windows == (10, 10, 10)


def test_experts_as_in_mixtral(tmp_path: Path) -> None:
    metadata = {"llama.expert_count": 6, "llama.expert_used_count": 2}
    shape = read_shape(read(write_decoder(tmp_path / "f", "llama", metadata=metadata)))
    assert (shape.experts, shape.experts_used, shape.d_ff) == (6, 2, 96)
    none = {"llama.expert_count": 0}
    assert read_shape(read(write_decoder(tmp_path / "g", "llama", metadata=none))).experts == 0


def test_stretched_positions(tmp_path: Path) -> None:
    plain, linear, yarn, three = (
        read_shape(read(write_decoder(tmp_path / case, case))).rotation
        for case in ("llama", "llama linear", "llama yarn", "llama 3")
    )
    assert linear == plain.linear(4.0)
    assert (yarn.stretch, len(yarn.kept)) == (4.0, 8)
    assert 0.0 in yarn.kept
    assert yarn.grown > 1
    assert len(three.factors) == 8
    assert max(three.factors) == 8
