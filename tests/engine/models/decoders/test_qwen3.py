"""Qwen 3: queries and keys of each head are normed."""

from pathlib import Path

import pytest

from engine.errors import BadModelFile
from engine.gguf import read
from engine.models.decoders import examine, read_shape
from tests.decoders import write_decoder


def test_queries_and_keys_are_normed(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "qwen3")
    shape = read_shape(read(path))
    assert shape.qk_norm
    assert not any((shape.qkv_bias, shape.interleaved, shape.post_norms))
    examine(read(path))


@pytest.mark.parametrize("name", ["q", "k"])
def test_a_missing_norm_is_refused(name: str, tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "qwen3", tensors={f"blk.2.attn_{name}_norm.weight": None})
    with pytest.raises(BadModelFile, match=rf"there is no tensor blk\.2\.attn_{name}_norm\.weight"):
        examine(read(path))
