"""A Hugging Face folder becomes a GGUF file: what is in it, that it is the same each time, and what is refused."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, quants

from engine.convert import import_model
from engine.errors import BadModelFile, EngineError, UnsupportedModel
from engine.gguf import GgmlType, read
from engine.quant import to_float32
from engine.tokenizer import from_metadata

Folder = Callable[..., Path]


def source_tensors(folder: Path) -> dict[str, np.ndarray]:
    """An independent reading of the float32 tensors in model.safetensors."""
    content = (folder / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    return {
        name: np.frombuffer(content[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]], np.float32)
        for name, entry in json.loads(content[8:start]).items()
        if entry.get("dtype") == "F32"
    }


def test_tensors_and_types(tiny_folder: Folder, tmp_path: Path) -> None:
    folder = tiny_folder()
    import_model(folder, tmp_path / "f", name="tiny")
    file, source = read(tmp_path / "f"), source_tensors(folder)
    assert len(file.tensors) == len(source) == 5 + 2 * 16
    pairs = {
        "token_embd.weight": ("embeddings.word_embeddings.weight", GgmlType.Q8_0, (71, 32)),
        "position_embd.weight": ("embeddings.position_embeddings.weight", GgmlType.F32, (24, 32)),
        "token_types.weight": ("embeddings.token_type_embeddings.weight", GgmlType.F32, (2, 32)),
        "token_embd_norm.bias": ("embeddings.LayerNorm.bias", GgmlType.F32, (32,)),
        "blk.1.attn_q.weight": ("encoder.layer.1.attention.self.query.weight", GgmlType.Q8_0, (32, 32)),
        "blk.1.attn_output_norm.weight": ("encoder.layer.1.attention.output.LayerNorm.weight", GgmlType.F32, (32,)),
        "blk.0.ffn_up.weight": ("encoder.layer.0.intermediate.dense.weight", GgmlType.Q8_0, (64, 32)),
        "blk.0.ffn_up.bias": ("encoder.layer.0.intermediate.dense.bias", GgmlType.F32, (64,)),
        "blk.0.ffn_down.weight": ("encoder.layer.0.output.dense.weight", GgmlType.Q8_0, (32, 64)),
        "blk.1.layer_output_norm.bias": ("encoder.layer.1.output.LayerNorm.bias", GgmlType.F32, (32,)),
    }
    for name, (source_name, kind, shape) in pairs.items():
        tensor = file.tensors[name]
        assert (tensor.type, tensor.shape) == (kind, shape)
        expected = quants.quantize(source[source_name].reshape(shape), GGMLQuantizationType(kind))
        assert np.array_equal(tensor.data, expected.view(np.uint8).reshape(-1)), name


def test_metadata(tiny_folder: Folder, tmp_path: Path) -> None:
    facts = import_model(tiny_folder(), tmp_path / "f", name="tiny")
    fields = {key: field.contents() for key, field in GGUFReader(tmp_path / "f").fields.items()}
    expected = {
        "general.architecture": "bert", "general.name": "tiny", "general.file_type": 7,
        "general.quantization_version": 2, "bert.context_length": 24, "bert.embedding_length": 32,
        "bert.feed_forward_length": 64, "bert.block_count": 2, "bert.attention.head_count": 4,
        "bert.attention.layer_norm_epsilon": np.float32(1e-12), "bert.attention.causal": False, "bert.pooling_type": 1,
        "tokenizer.ggml.model": "bert", "tokenizer.ggml.token_type_count": 2, "tokenizer.ggml.cls_token_id": 2,
        "tokenizer.ggml.bos_token_id": 2, "tokenizer.ggml.seperator_token_id": 3, "tokenizer.ggml.eos_token_id": 3,
        "tokenizer.ggml.unknown_token_id": 1, "tokenizer.ggml.padding_token_id": 0, "tokenizer.ggml.mask_token_id": 4,
        "cloister.normalize": True, "cloister.max_seq_length": 16, "cloister.tokenizer.lower_case": True,
        "cloister.tokenizer.strip_accents": True, "cloister.tokenizer.chinese_chars": True,
    }  # fmt: skip
    assert {key: fields[key] for key in expected} == expected
    assert fields["tokenizer.ggml.tokens"][:6] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2581a"]
    assert fields["tokenizer.ggml.tokens"][-1] == "z"
    assert fields["tokenizer.ggml.token_type"][:6] == [3, 3, 3, 3, 3, 1]
    assert from_metadata(read(tmp_path / "f").metadata).encode("ab é?").tolist() == [2, 5, 46, 9, 44, 3]
    assert (facts.architecture, facts.context, facts.vocabulary, facts.tensors) == ("bert", 24, 71, 37)


def test_sources_are_recorded(tiny_folder: Folder, tmp_path: Path) -> None:
    folder = tiny_folder()
    import_model(folder, tmp_path / "f", name="tiny")
    metadata = read(tmp_path / "f").metadata
    recorded = dict(zip(metadata["cloister.source.files"], metadata["cloister.source.sha256"], strict=True))
    present = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert set(recorded) == present
    assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for name, digest in recorded.items())


def test_same_folder_same_bytes(tiny_folder: Folder, tmp_path: Path) -> None:
    import_model(tiny_folder("one"), tmp_path / "f", name="tiny")
    import_model(tiny_folder("two"), tmp_path / "g", name="tiny")
    assert (tmp_path / "f").read_bytes() == (tmp_path / "g").read_bytes()


@pytest.mark.parametrize(("file_type", "kind", "number"), [("f32", GgmlType.F32, 0), ("f16", GgmlType.F16, 1)])
def test_other_file_types(tiny_folder: Folder, tmp_path: Path, file_type: str, kind: GgmlType, number: int) -> None:
    import_model(tiny_folder(), tmp_path / "f", name="tiny", file_type=file_type)
    file = read(tmp_path / "f")
    assert file.metadata["general.file_type"] == number
    assert file.tensors["blk.0.attn_q.weight"].type is kind
    assert file.tensors["blk.0.attn_q.bias"].type is GgmlType.F32


def test_rows_that_are_no_whole_blocks_fall_back_to_f16(tiny_folder: Folder, tmp_path: Path) -> None:
    import_model(tiny_folder(config={"intermediate_size": 72}), tmp_path / "f", name="tiny")
    types = {name: tensor.type for name, tensor in read(tmp_path / "f").tensors.items()}
    assert types["blk.0.ffn_down.weight"] is GgmlType.F16
    assert types["blk.0.ffn_up.weight"] is GgmlType.Q8_0


def test_half_precision_sources(tiny_folder: Folder, tmp_path: Path) -> None:
    values = np.random.default_rng(3).standard_normal((32, 32)).astype(np.float16)
    name = "encoder.layer.0.attention.self.key.weight"
    import_model(tiny_folder(tensors={name: values}), tmp_path / "f", name="tiny", file_type="f32")
    assert np.array_equal(to_float32(read(tmp_path / "f").tensors["blk.0.attn_k.weight"]), values.astype(np.float32))


def test_cls_pooling_without_normalization(tiny_folder: Folder, tmp_path: Path) -> None:
    modules = [{"path": "", "type": "a.b.Transformer"}, {"path": "1_Pooling", "type": "a.b.Pooling"}]
    pooling = {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    files = {"modules.json": modules, "1_Pooling/config.json": pooling, "sentence_bert_config.json": None}
    import_model(tiny_folder(files=files), tmp_path / "f", name="tiny")
    metadata = read(tmp_path / "f").metadata
    assert metadata["bert.pooling_type"] == 2
    assert metadata["cloister.normalize"] is False
    assert metadata["cloister.max_seq_length"] == 24


def test_tensors_that_are_not_needed(tiny_folder: Folder, tmp_path: Path) -> None:
    extra = {"embeddings.position_ids": np.arange(24), "pooler.dense.weight": np.ones((32, 32), np.float32)}
    import_model(tiny_folder("with", tensors=extra), tmp_path / "f", name="tiny")
    assert "pooler.dense.weight" not in read(tmp_path / "f").tensors


INNER = "encoder.layer.1.output.dense.weight"
NO_TRANSFORMER = [{"path": "1_Pooling", "type": "x.Pooling"}]
DENSE = [{"path": p, "type": t} for p, t in (("", "x.Transformer"), ("1_Pooling", "x.Pooling"), ("2_Dense", "x.Dense"))]
OUTSIDE = [{"path": "", "type": "x.Transformer"}, {"path": "../1_Pooling", "type": "x.Pooling"}]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"config": {"model_type": "llama"}}, UnsupportedModel, "model_type: found 'llama', expected bert"),
        ({"config": {"hidden_act": "gelu_new"}}, UnsupportedModel, "hidden_act: found 'gelu_new', expected 'gelu'"),
        ({"config": {"position_embedding_type": "relative_key"}}, UnsupportedModel, "position_embedding_type"),
        ({"config": {"is_decoder": True}}, UnsupportedModel, "is_decoder"),
        ({"claims": {"hidden_size": "32"}}, BadModelFile, "hidden_size: found '32', expected a positive number"),
        ({"config": {"num_attention_heads": 5}}, BadModelFile, "multiple of the heads"),
        ({"config": {"layer_norm_eps": 0}}, BadModelFile, "layer_norm_eps"),
        ({"claims": {"vocab_size": 70}}, BadModelFile, "vocabulary: found 71 tokens"),
        ({"claims": {"num_hidden_layers": 3}}, BadModelFile, "num_hidden_layers: found 3, expected at most 2"),
        ({"claims": {"num_hidden_layers": 1}}, UnsupportedModel, r"found the tensors \['encoder\.layer\.1"),
        ({"files": {"config.json": None}}, BadModelFile, "config.json: cannot be read: No such file"),
        ({"files": {"config.json": "{"}}, BadModelFile, "config.json: no JSON"),
        ({"files": {"config.json": '{"a": 1, "a": 2}'}}, BadModelFile, "a key twice"),
        ({"files": {"config.json": "[" * 100_000}}, BadModelFile, "config.json: no JSON"),
        ({"files": {"config.json": "[]"}}, BadModelFile, "found list, expected a JSON object"),
        ({"files": {"modules.json": None}}, BadModelFile, "modules.json: cannot be read"),
        (
            {"files": {"modules.json": NO_TRANSFORMER}},
            UnsupportedModel,
            r"found the steps \['Pooling'\], expected Transformer",
        ),
        ({"files": {"modules.json": DENSE}}, UnsupportedModel, "'Transformer', 'Pooling', 'Dense'"),
        ({"files": {"modules.json": OUTSIDE}}, BadModelFile, "expected one inside the folder"),
        ({"files": {"modules.json": [1]}}, BadModelFile, "expected a list of objects"),
        (
            {"files": {"1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_max_tokens": True}}},
            UnsupportedModel,
            "pooling_mode_max_tokens'], expected pooling_mode_mean_tokens or",
        ),
        (
            {"files": {"1_Pooling/config.json": {"word_embedding_dimension": 64, "pooling_mode_cls_token": True}}},
            BadModelFile,
            "word_embedding_dimension: found 64, expected 32",
        ),
        ({"files": {"sentence_bert_config.json": {"max_seq_length": "x"}}}, BadModelFile, "max_seq_length"),
        (
            {"files": {"config_sentence_transformers.json": {"default_prompt_name": "query"}}},
            UnsupportedModel,
            "default_prompt_name 'query'",
        ),
        ({"files": {"tokenizer_config.json": {"do_lower_case": "yes"}}}, BadModelFile, "expected true or false"),
        ({"files": {"tokenizer_config.json": {"unk_token": "<unk>"}}}, BadModelFile, "found no \\['<unk>'\\]"),
        (
            {"files": {"tokenizer.json": {"model": {"vocab": {"a": 0}}}}},
            BadModelFile,
            "vocab.txt unlike tokenizer.json",
        ),
        ({"tensors": {INNER: None}}, BadModelFile, f"{INNER}: found no such tensor"),
        ({"tensors": {INNER: np.ones((32, 63), np.float32)}}, BadModelFile, r"found shape \(32, 63\), expected shape"),
        ({"tensors": {INNER: np.ones((32, 64), np.int64)}}, UnsupportedModel, "found I64, expected F32, F16 or BF16"),
        ({"tensors": {INNER: np.full((32, 64), np.nan, np.float32)}}, BadModelFile, "not finite"),
        ({"tensors": {INNER: np.full((32, 64), 1e9, np.float32)}}, UnsupportedModel, "too large for Q8_0"),
    ],
)
def test_refused(
    tiny_folder: Folder, tmp_path: Path, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    folder = tiny_folder(**changes)
    (tmp_path / "out").mkdir()
    with pytest.raises(error, match=message):
        import_model(folder, tmp_path / "out/f", name="tiny")
    assert list((tmp_path / "out").iterdir()) == []


def test_other_refusals(tiny_folder: Folder, tmp_path: Path) -> None:
    with pytest.raises(BadModelFile, match="found no folder"):
        import_model(tmp_path / "none", tmp_path / "f", name="x")
    with pytest.raises(UnsupportedModel, match="file type: found 'q4_k', expected one of f32, f16, q8_0"):
        import_model(tiny_folder("a"), tmp_path / "f", name="x", file_type="q4_k")
    with pytest.raises(EngineError, match="name of the model"):
        import_model(tiny_folder("b"), tmp_path / "f", name="a\nb")
    with pytest.raises(EngineError, match="cannot be written"):
        import_model(tiny_folder("c"), tmp_path / "none/f", name="x")
    (tiny_folder("d") / "model.safetensors").unlink()
    with pytest.raises(BadModelFile, match=r"found no model\.safetensors"):
        import_model(tmp_path / "d", tmp_path / "f", name="x")


def test_progress(tiny_folder: Folder, tmp_path: Path) -> None:
    lines: list[str] = []
    import_model(tiny_folder(), tmp_path / "f", name="tiny", progress=lines.append)
    assert lines[0] == "tensor 1 of 37: token_embd.weight Q8_0"
    assert len(lines) == 37
