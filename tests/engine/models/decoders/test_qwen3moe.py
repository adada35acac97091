"""Qwen 3 with experts: as Qwen 3, with experts in every layer."""

from pathlib import Path

import pytest

from engine.errors import UnsupportedModel
from engine.gguf import read
from engine.models.decoders import examine, read_shape
from tests.decoders import write_decoder


def test_experts(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "qwen3moe")
    shape = read_shape(read(path))
    assert shape.qk_norm
    assert (shape.experts, shape.experts_used, shape.d_ff) == (6, 2, 32)
    examine(read(path))


@pytest.mark.parametrize(
    ("key", "value"), [("expert_shared_count", 1), ("expert_gating_func", 2), ("expert_weights_norm", False)]
)
def test_other_experts_are_refused(key: str, value: int, tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "qwen3moe", metadata={f"qwen3moe.{key}": value})
    with pytest.raises(UnsupportedModel, match=key):
        read_shape(read(path))
