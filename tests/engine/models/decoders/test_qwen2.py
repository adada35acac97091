"""Qwen 2: biases of queries, keys and values are needed."""

from pathlib import Path

import pytest

from engine.errors import BadModelFile
from engine.gguf import read
from engine.models.decoders import examine, read_shape
from tests.decoders import write_decoder


def test_biases_of_queries_keys_and_values(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "qwen2")
    shape = read_shape(read(path))
    assert shape.qkv_bias
    assert not any((shape.qk_norm, shape.interleaved))
    assert shape.rotation.base == 1e6
    examine(read(path))


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_a_missing_bias_is_refused(name: str, tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "qwen2", tensors={f"blk.1.attn_{name}.bias": None})
    with pytest.raises(BadModelFile, match=rf"there is no tensor blk\.1\.attn_{name}\.bias"):
        examine(read(path))
