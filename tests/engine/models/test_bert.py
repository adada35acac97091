"""A BERT from a GGUF file: the arithmetic against the reference, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import gguf
from engine.gguf import GgmlType, TensorSource
from tests.models import WORDS, write_bert_folder
from tests.reference.bert import Reference

Change = Callable[..., Path]
TEXTS = ["", "the", *(" ".join(WORDS[:n] * 7) for n in (2, 5, 16)), "rechnung 17, total due: 3,40 of 9.99!"]
NAN = np.full(64, np.nan, np.float32)


def array_source(name: str, values: np.ndarray) -> TensorSource:
    return TensorSource(name, GgmlType.F32, values.shape, lambda: [values.reshape(-1).view(np.uint8)])


@pytest.fixture
def change(tiny_model: Path, tmp_path: Path) -> Change:
    """Writes the tiny model with other metadata and tensors (None removes one)."""

    def write(metadata: dict[str, Any] | None = None, tensors: dict[str, np.ndarray | None] | None = None) -> Path:
        file = gguf.read(tiny_model)
        sources = {name: TensorSource(name, t.type, t.shape, lambda t=t: [t.data]) for name, t in file.tensors.items()}
        for name, values in (tensors or {}).items():
            sources.pop(name)
            if values is not None:
                sources[name] = array_source(name, values)
        merged = {key: value for key, value in (file.metadata | (metadata or {})).items() if value is not None}
        gguf.write(tmp_path / "changed.gguf", merged, list(sources.values()))
        return tmp_path / "changed.gguf"

    return write


@pytest.mark.parametrize(("file_type", "least"), [("f32", 1 - 1e-6), ("f16", 0.9995), ("q8_0", 0.9995)])
@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"width": 96, "inner": 160, "heads": 3, "layers": 1},
        {"width": 128, "heads": 2, "seed": 3},
        {"width": 60, "inner": 100, "heads": 5, "seed": 4},
    ],
)
def test_the_arithmetic_is_that_of_bert(tmp_path: Path, file_type: Any, least: float, shape: dict[str, int]) -> None:
    folder = write_bert_folder(tmp_path / "hf", **shape)
    engine.import_model(folder, tmp_path / "m.gguf", file_type=file_type, name="m")
    model, reference = engine.load(tmp_path / "m.gguf"), Reference(folder, np.float64)
    vectors = model.embed(TEXTS)
    assert model._network.exact == (file_type == "f32")
    assert np.abs(np.linalg.norm(vectors.astype(np.float64), axis=1) - 1).max() < 1e-6
    for text, vector in zip(TEXTS, vectors, strict=True):
        expected = reference.embed(model._tokenizer.encode(text))
        assert vector @ expected > least, text
        assert file_type != "f32" or np.abs(vector - expected).max() < 1e-6, text


def test_first_token_and_no_normalisation_as_the_file_states(change: Change, tiny_model: Path, tmp_path: Path) -> None:
    reference = Reference(write_bert_folder(tmp_path / "hf"), np.float64)
    model = engine.load(change({"bert.pooling_type": 2, "cloister.normalize": False}))
    for text, vector in zip(TEXTS, model.embed(TEXTS), strict=True):
        expected = reference.states(model._tokenizer.encode(text))[0]
        assert np.abs(vector - expected).max() < 0.05 * np.abs(expected).max()
        assert abs(np.linalg.norm(vector) - np.linalg.norm(expected)) < 0.01 * np.linalg.norm(expected)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"bert.pooling_type": 3}, "pooling type 3, expected 1 .mean. or 2"),
        ({"bert.attention.causal": True}, "causal"),
        ({"general.architecture": "mamba"}, "architecture 'mamba', expected one of bert"),
        ({"general.architecture": "llama"}, "writes text; engine.load_decoder loads it"),
        ({"tokenizer.ggml.model": "rwkv"}, "tokenizer.ggml.model"),
    ],
)
def test_models_that_are_not_computed(change: Change, metadata: dict[str, Any], message: str) -> None:
    with pytest.raises(engine.UnsupportedModel, match=message):
        engine.load(change(metadata))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"bert.block_count": 0}, "found 0 blocks"),
        ({"bert.attention.head_count": 0}, "with 0 heads"),
        ({"bert.attention.head_count": 5}, "with 5 heads"),
        ({"bert.block_count": 2**32 - 1}, "found 4294967295 blocks"),
        ({"bert.block_count": 3}, "no tensor blk.2.attn_q.weight"),
        ({"bert.block_count": None}, "no metadata key bert.block_count"),
        ({"bert.block_count": "2"}, "expected int"),
        ({"bert.context_length": 2**32 - 1}, "position_embd.weight has the shape"),
        ({"bert.feed_forward_length": 64}, "ffn_up.weight has the shape"),
        ({"bert.embedding_length": 32, "bert.attention.head_count": 1}, "has the shape"),
        ({"cloister.normalize": "false"}, "cloister.normalize: found str"),
    ],
)
def test_metadata_that_does_not_fit(change: Change, metadata: dict[str, Any], message: str) -> None:
    with pytest.raises(engine.BadModelFile, match=message):
        engine.load(change(metadata))


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"blk.1.attn_k.bias": None}, "no tensor blk.1.attn_k.bias"),
        ({"token_types.weight": None}, "no tensor token_types.weight"),
        ({"blk.0.ffn_up.bias": np.zeros(64, np.float32)}, r"ffn_up.bias has the shape \(64,\), expected \(128,\)"),
        ({"blk.0.attn_output.bias": NAN}, "attn_output.bias holds values that are not finite"),
        ({"blk.0.attn_v.weight": np.full((64, 64), np.inf, np.float32)}, "attn_v.weight holds values"),
        ({"blk.1.layer_output_norm.weight": NAN}, "layer_output_norm.weight holds values"),
    ],
)
def test_tensors_that_do_not_fit(change: Change, tensors: dict[str, np.ndarray | None], message: str) -> None:
    with pytest.raises(engine.BadModelFile, match=message):
        engine.load(change(tensors=tensors))


@pytest.mark.parametrize(
    "tensors",
    [
        {"token_types.weight": np.full((2, 64), np.nan, np.float32)},
        {"blk.0.attn_output_norm.weight": np.full(64, 3e38, np.float32)},
        {"blk.1.attn_v.bias": np.full(64, 3.4e38, np.float32)},
        {"blk.0.ffn_up.bias": np.full(128, 3.4e38, np.float32)},
    ],
    ids=lambda tensors: next(iter(tensors)),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, as plain Python: threads do not share its settings
def test_an_overflow_on_the_way_is_never_an_answer(change: Change, tensors: dict[str, np.ndarray]) -> None:
    with pytest.raises(engine.EngineError, match="not finite"):
        engine.load(change(tensors=tensors)).embed(["the lease"])
