"""Every kind of encoder and head becomes a GGUF file; what would be computed wrongly is refused by name."""

import copy
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer as Oracle

from engine.convert import import_model
from engine.convert.importer import MODEL_TYPES
from engine.errors import BadModelFile, EngineError, UnsupportedModel
from engine.gguf import GgmlType, GgufFile, read
from engine.quant import to_float32
from engine.tokenizer import from_metadata
from tests.encoders import CONFIGS, ENDINGS, write_encoder
from tests.engine.convert.test_hostile import REPLACEMENTS, places, replaced
from tests.engine.tokenizer.texts import CONTROL, HARD, LEARNED

KINDS = [(name, head) for name in CONFIGS for head in ("embedding", *ENDINGS) if (name, head) != ("nomic_bert", "span")]


def converted(folder: Path, file_type: str = "f32") -> GgufFile:
    import_model(folder, folder.parent / "f", name="x", file_type=file_type)
    return read(folder.parent / "f")


def test_every_kind_is_tested() -> None:
    assert set(CONFIGS) == set(MODEL_TYPES)


# kind of model -> architecture, tensors of layer 1, of all else
TENSORS: dict[str, tuple[str, str, str]] = {
    "bert": (
        "bert",
        "attn_q attn_q.b attn_k attn_k.b attn_v attn_v.b attn_output attn_output.b attn_output_norm attn_output_norm.b "
        "ffn_up ffn_up.b ffn_down ffn_down.b layer_output_norm layer_output_norm.b",
        "token_embd position_embd token_types token_embd_norm token_embd_norm.b",
    ),
    "nomic_bert": (
        "nomic-bert",
        "attn_qkv attn_output attn_output_norm attn_output_norm.b ffn_up ffn_gate ffn_down layer_output_norm "
        "layer_output_norm.b",
        "token_embd token_types token_embd_norm token_embd_norm.b",
    ),
    "modernbert": (
        "modern-bert",
        "attn_norm attn_qkv attn_output ffn_norm ffn_up ffn_down",
        "token_embd token_embd_norm output_norm",
    ),
}
HEAD_TENSORS = {
    ("bert", "sequence"): "cls cls.b cls.output cls.output.b",
    ("nomic_bert", "sequence"): "cls cls.b cls.output cls.output.b",
    **{("modernbert", head): "cls cls.norm cls.output cls.output.b" for head in ENDINGS},
}


def full_names(text: str) -> set[str]:
    return {f"{name[:-2]}.bias" if name.endswith(".b") else f"{name}.weight" for name in text.split()}


@pytest.mark.parametrize(("name", "head"), KINDS)
def test_tensors_and_head(tmp_path: Path, name: str, head: str) -> None:
    file = converted(write_encoder(tmp_path / "hf", name, head))
    arch, layer, rest = TENSORS.get(name, TENSORS["bert"])
    key = (name if name in TENSORS else "bert", head)
    expected = {f"blk.1.{found}" for found in full_names(layer)} | full_names(rest)
    if head != "embedding":
        expected |= full_names(HEAD_TENSORS.get(key, "cls.output cls.output.b"))
    assert {found for found in file.tensors if not found.startswith(("blk.0", "blk.2", "blk.3"))} == expected
    assert ("blk.0.attn_norm.weight" in file.tensors) is False
    meta = file.metadata
    assert (meta["general.architecture"], meta["cloister.head"]) == (arch, head)
    labels = ["start", "end"] if head == "span" else ["label 0", "label 1", "label 2"]
    assert meta.get(f"{arch}.classifier.output_labels") == (None if head == "embedding" else labels)
    assert meta[f"{arch}.pooling_type"] == {"embedding": 1, "sequence": 4}.get(head, 0)
    activation = ("gelu" if name == "modernbert" else "tanh") if "cls.weight" in expected else None
    assert meta.get("cloister.head.activation") == activation
    assert meta.get(f"{arch}.classifier.pooling_type") == (2 if head == "sequence" else None)
    assert meta.get("cloister.head.scores") == ("softmax" if head == "sequence" else None)


def test_metadata_of_each_architecture(tmp_path: Path) -> None:
    found = {
        name: converted(write_encoder(tmp_path / name / "hf", name)).metadata for name in CONFIGS if name != "bert"
    }
    assert found["xlm-roberta"]["bert.context_length"] == found["roberta"]["bert.context_length"] == 40
    assert found["xlm-roberta"]["tokenizer.ggml.token_type_count"] == 1
    nomic = {key.removeprefix("nomic-bert."): value for key, value in found["nomic_bert"].items()}
    assert (nomic["context_length"], nomic["feed_forward_length"], nomic["rope.freq_base"]) == (40, 48, 1000.0)
    modern = {key.removeprefix("modern-bert."): value for key, value in found["modernbert"].items()}
    assert (modern["rope.freq_base"], modern["rope.freq_base_swa"]) == (160000.0, 10000.0)
    assert (modern["attention.sliding_window"], modern["attention.sliding_window_pattern"]) == (8, 3)
    assert {name: meta["tokenizer.ggml.model"] for name, meta in found.items()} == {
        "roberta": "gpt2", "xlm-roberta": "t5", "nomic_bert": "bert", "modernbert": "gpt2",
    }  # fmt: skip


def test_positions_begin_at_the_first_that_is_used(tmp_path: Path) -> None:
    values = np.arange(42 * 32, dtype=np.float32).reshape(42, 32)
    folder = write_encoder(tmp_path / "hf", "roberta", tensors={"embeddings.position_embeddings.weight": values})
    assert np.array_equal(to_float32(converted(folder).tensors["position_embd.weight"]), values[2:])


def test_matrices_are_quantized_and_norms_are_not(tmp_path: Path) -> None:
    for name in ("nomic_bert", "modernbert"):
        file = converted(write_encoder(tmp_path / name / "hf", name, "sequence"), "q8_0")
        kinds = {found: tensor.type for found, tensor in file.tensors.items()}
        assert kinds["blk.0.attn_qkv.weight"] is kinds["cls.weight"] is kinds["cls.output.weight"] is GgmlType.Q8_0
        assert all(tensor.type is GgmlType.F32 for tensor in file.tensors.values() if len(tensor.shape) == 1)


def test_older_names_of_norms(tmp_path: Path) -> None:
    gain, shift = (np.full(32, value, np.float32) for value in (2, 3))
    names = {"weight": "gamma", "bias": "beta"}
    older = {f"bert.embeddings.LayerNorm.{part}": None for part in names}
    newer = {"bert.embeddings.LayerNorm.gamma": gain, "bert.embeddings.LayerNorm.beta": shift}
    file = converted(write_encoder(tmp_path / "hf", "bert", "tokens", tensors=older | newer))
    assert to_float32(file.tensors["token_embd_norm.weight"])[0] == 2
    assert to_float32(file.tensors["token_embd_norm.bias"])[0] == 3


@pytest.mark.parametrize("name", ["roberta", "xlm-roberta", "modernbert"])
def test_ids_are_those_of_the_original_tokenizer(tmp_path: Path, name: str) -> None:
    folder = write_encoder(tmp_path / "hf", name)
    ours = from_metadata(converted(folder).metadata)
    theirs = Oracle.from_file(str(folder / "tokenizer.json"))
    for text in [text for text in LEARNED + HARD if not any(token in text for token in CONTROL)]:
        assert ours.encode(text).tolist() == theirs.encode(text).ids, ascii(text)
        pair, expected = ours.encode_pair("the rent", text), theirs.encode("the rent", text)
        assert pair.ids.tolist() == expected.ids
        assert pair.types.tolist() == expected.type_ids


SPACES = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
MARKS = SPACES | {"content": "\u2581"}
STRIP = {"type": "Strip", "strip_left": False, "strip_right": True}


@pytest.mark.parametrize("more", [[SPACES], [STRIP, MARKS]])
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("older", [True, False])
def test_other_ways_to_white_space(tmp_path: Path, more: list[Any], split: bool, older: bool) -> None:
    folder = write_encoder(tmp_path / "hf", "xlm-roberta")
    full = json.loads((folder / "tokenizer.json").read_text())
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True}
    if not older:
        metaspace = full["pre_tokenizer"]["pretokenizers"][1]
    steps = [{"type": "WhitespaceSplit"}, metaspace]
    full["normalizer"] = {"type": "Sequence", "normalizers": [full["normalizer"], *more]}
    full["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps} if split else metaspace
    (folder / "tokenizer.json").write_text(json.dumps(full))
    if split and more != [SPACES]:
        with pytest.raises(UnsupportedModel, match="usual ways"):
            converted(folder)
        return
    ours, theirs = from_metadata(converted(folder).metadata), Oracle.from_file(str(folder / "tokenizer.json"))
    for text in [text for text in LEARNED + HARD if not any(token in text for token in CONTROL)]:
        assert ours.encode(text).tolist() == theirs.encode(text).ids, ascii(text)


def test_rows_without_a_piece_are_never_given(tmp_path: Path) -> None:
    metadata = converted(write_encoder(tmp_path / "hf", "nomic_bert")).metadata
    tokens = metadata["tokenizer.ggml.tokens"]
    assert tokens[-1] == f"[PAD{len(tokens) - 1}]"
    assert metadata["tokenizer.ggml.token_type"][-6:].tolist() == [5] * 6
    assert max(from_metadata(metadata).encode(" ".join(tokens[-6:]))) < len(tokens) - 6


SCORES = [
    ({}, "softmax"), ({"id2label": {"0": "x"}}, "sigmoid"), ({"problem_type": "regression"}, "none"),
    ({"problem_type": "multi_label_classification"}, "sigmoid"),
    ({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}}, "none"),
    ({"sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"}, "sigmoid"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "scores"), SCORES)
def test_what_makes_scores_of_outputs(tmp_path: Path, config: dict[str, Any], scores: str) -> None:
    file = converted(write_encoder(tmp_path / "hf", "roberta", "sequence", config))
    assert file.metadata["cloister.head.scores"] == scores


MODERN_ROPE = {
    "full_attention": {"rope_theta": 5e4, "rope_type": "default"},
    "sliding_attention": {"rope_theta": 100.0},
}


def test_newer_names_in_configurations(tmp_path: Path) -> None:
    layers = ["full_attention", "sliding_attention"] * 2
    config = {"global_attn_every_n_layers": None, "layer_types": layers, "rope_parameters": MODERN_ROPE}
    found = converted(write_encoder(tmp_path / "a" / "hf", "modernbert", config=config)).metadata
    assert (found["modern-bert.rope.freq_base"], found["modern-bert.rope.freq_base_swa"]) == (5e4, 100.0)
    assert found["modern-bert.attention.sliding_window_pattern"] == 2
    newer = {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}, "head_dim": 8, "hidden_act": "silu"}
    found = converted(write_encoder(tmp_path / "b" / "hf", "nomic_bert", config=newer)).metadata
    assert found["nomic-bert.rope.freq_base"] == 500.0
    older = write_encoder(tmp_path / "c" / "hf", "modernbert", config={"local_rope_theta": None})
    assert converted(older).metadata["modern-bert.rope.freq_base_swa"] == 160000.0


REFUSED: list[tuple[str, str, dict[str, Any], type[EngineError], str]] = [
    ("nomic_bert", "embedding", {"activation_function": "gelu"}, UnsupportedModel, "activation_function: found 'gelu'"),
    ("nomic_bert", "embedding", {"prenorm": True}, UnsupportedModel, "prenorm: found True, expected False"),
    ("nomic_bert", "embedding", {"parallel_block": True}, UnsupportedModel, "parallel_block"),
    ("nomic_bert", "embedding", {"use_rms_norm": True}, UnsupportedModel, "use_rms_norm"),
    ("nomic_bert", "embedding", {"causal": True}, UnsupportedModel, "causal"),
    ("nomic_bert", "embedding", {"qkv_proj_bias": True}, UnsupportedModel, "qkv_proj_bias"),
    ("nomic_bert", "embedding", {"mlp_fc2_bias": True}, UnsupportedModel, "mlp_fc2_bias"),
    ("nomic_bert", "embedding", {"moe_every_n_layers": 2}, UnsupportedModel, "expected no mixture of experts"),
    ("nomic_bert", "embedding", {"num_experts": 8}, UnsupportedModel, "expected no mixture of experts"),
    ("nomic_bert", "embedding", {"rotary_emb_fraction": 0.5}, UnsupportedModel, "rotary_emb_fraction: found 0.5"),
    ("nomic_bert", "embedding", {"rotary_emb_fraction": 0.0}, UnsupportedModel, "rotary_emb_fraction: found 0.0"),
    ("nomic_bert", "embedding", {"rotary_emb_interleaved": True}, UnsupportedModel, "rotary_emb_interleaved"),
    ("nomic_bert", "embedding", {"rotary_emb_scale_base": 512}, UnsupportedModel, "rotary_emb_scale_base"),
    ("nomic_bert", "embedding", {"rotary_emb_base": None}, BadModelFile, "rotary_emb_base: found None"),
    ("nomic_bert", "embedding", {"rope_parameters": 1}, BadModelFile, "rope_parameters: found 1"),
    ("nomic_bert", "embedding", {"rope_parameters": {"rope_type": "yarn"}}, UnsupportedModel, "rope_type 'yarn'"),
    ("nomic_bert", "embedding", {"head_dim": 16}, UnsupportedModel, "head_dim: found 16, expected 8"),
    ("nomic_bert", "embedding", {"n_head": 32}, BadModelFile, "multiple of the heads"),
    ("nomic_bert", "span", {}, UnsupportedModel, "head: found 'span', expected one of embedding, sequence, tokens"),
    ("modernbert", "embedding", {"hidden_activation": "silu"}, UnsupportedModel, "hidden_activation: found 'silu'"),
    ("modernbert", "tokens", {"classifier_activation": "relu"}, UnsupportedModel, "classifier_activation"),
    ("modernbert", "sequence", {"classifier_pooling": "max"}, UnsupportedModel, "found 'max', expected cls or mean"),
    ("modernbert", "embedding", {"local_attention": 0}, BadModelFile, "local_attention: found 0"),
    ("modernbert", "embedding", {"global_attn_every_n_layers": 0}, BadModelFile, "global_attn_every_n_layers: found 0"),
    ("modernbert", "embedding", {"layer_types": ["full_attention"] * 3}, UnsupportedModel, "layer_types"),
    ("modernbert", "embedding", {"layer_types": ["sliding_attention"] * 4}, UnsupportedModel, "layer_types"),
    ("modernbert", "embedding", {"rope_scaling": {"type": "linear"}}, UnsupportedModel, "rope_scaling"),
    ("modernbert", "embedding", {"rope_parameters": {}}, UnsupportedModel, "rope_parameters"),
    ("modernbert", "embedding", {"global_rope_theta": 0}, BadModelFile, "global_rope_theta: found 0"),
    ("modernbert", "embedding", {"norm_bias": 1}, BadModelFile, "norm_bias: found 1, expected a bool"),
    ("modernbert", "tokens", {"classifier_bias": True}, BadModelFile, "head.dense.bias: found no such tensor"),
    ("modernbert", "embedding", {"num_attention_heads": 32}, BadModelFile, "multiple of the heads"),
    ("roberta", "embedding", {"hidden_act": "gelu_new"}, UnsupportedModel, "hidden_act: found 'gelu_new'"),
    ("roberta", "embedding", {"position_embedding_type": "relative_key"}, UnsupportedModel, "position_embedding_type"),
    ("roberta", "embedding", {"is_decoder": True}, UnsupportedModel, "is_decoder"),
    ("roberta", "embedding", {"pad_token_id": None}, BadModelFile, "pad_token_id: found None"),
    ("xlm-roberta", "embedding", {"pad_token_id": 41}, BadModelFile, "pad_token_id: found 41"),
    ("xlm-roberta", "embedding", {"vocab_size": 5 << 20}, BadModelFile, "vocab_size"),
    ("xlm-roberta", "embedding", {"vocab_size": 2000}, BadModelFile, "vocabulary: found"),
    ("bert", "span", {"id2label": {"0": "a", "1": "b", "2": "c"}}, UnsupportedModel, "num_labels: found 3, expected 2"),
    ("bert", "tokens", {"id2label": {"1": "a"}}, BadModelFile, "id2label"),
    ("bert", "tokens", {"id2label": {"0": "\ud800"}}, BadModelFile, "id2label"),
    ("bert", "tokens", {"id2label": {"0": "a\nb"}}, BadModelFile, "id2label"),
    ("bert", "tokens", {"id2label": {}}, BadModelFile, "id2label"),
    ("bert", "tokens", {"id2label": None, "num_labels": 0}, BadModelFile, "num_labels 0"),
    ("bert", "tokens", {"id2label": None}, BadModelFile, r"classifier.weight: found shape \(3, 32\), expected .*2, 32"),
    ("bert", "sequence", {"problem_type": "x"}, UnsupportedModel, "problem_type: found 'x'"),
    (
        "bert",
        "sequence",
        {"sbert_ce_default_activation_function": "torch.nn.Softplus"},
        UnsupportedModel,
        "activation_fn: found 'torch.nn.Softplus', expected Sigmoid or Identity",
    ),
    ("bert", "embedding", {"model_type": "deberta"}, UnsupportedModel, "expected bert, roberta, xlm-roberta"),
]


@pytest.mark.parametrize(("name", "head", "config", "error", "message"), REFUSED)
def test_refused(
    tmp_path: Path, name: str, head: str, config: dict[str, Any], error: type[EngineError], message: str
) -> None:
    folder = write_encoder(tmp_path / "hf", name, head)
    whole = json.loads((folder / "config.json").read_text()) | config
    (folder / "config.json").write_text(json.dumps({key: value for key, value in whole.items() if value is not None}))
    with pytest.raises(error, match=message):
        converted(folder)


def test_tensors_that_would_be_left_out_are_refused(tmp_path: Path) -> None:
    bias = np.ones(32, np.float32)
    for name, key in {"modernbert": "head.dense.bias", "nomic_bert": "nomic_bert.emb_ln.extra"}.items():
        folder = write_encoder(tmp_path / name, name, "tokens", tensors={key: bias})
        with pytest.raises(UnsupportedModel, match=f"found the tensors .*{key.removeprefix('nomic_bert.')}"):
            converted(folder)
    both = write_encoder(tmp_path / "both", "bert", "tokens", tensors={"embeddings.LayerNorm.bias": bias})
    with pytest.raises(BadModelFile, match="under two names"):
        converted(both)
    with pytest.raises(UnsupportedModel, match=r"found the tensors \['classifier.bias', 'classifier.weight'\]"):
        converted(_with_modules(write_encoder(tmp_path / "mixed", "bert", "tokens")))


def _with_modules(folder: Path) -> Path:
    plain = write_encoder(folder.parent / "plain", "bert")
    for file in ("modules.json", "1_Pooling/config.json"):
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text((plain / file).read_text())
    return folder


def changed(value: Any, path: str, new: Any) -> Any:
    """Another value at a place such as `model.vocab.0`; None removes it."""
    result = copy.deepcopy(value)
    *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    part = result
    for key in way:
        part = part[key]
    part[last] = new
    return result


TOKENIZERS = [
    ("xlm-roberta", "model.type", "WordLevel", UnsupportedModel, "model.type: found 'WordLevel'"),
    ("xlm-roberta", "model.byte_fallback", True, UnsupportedModel, "byte_fallback: found True"),
    ("xlm-roberta", "model.unk_id", None, BadModelFile, "unk_id: found None"),
    ("xlm-roberta", "model.unk_id", 10**6, BadModelFile, "unk_id: found 1000000"),
    ("xlm-roberta", "model.vocab.5", ["x"], BadModelFile, "pieces with their scores"),
    ("xlm-roberta", "model.vocab.5", ["x", float("nan")], BadModelFile, "pieces with their scores"),
    ("xlm-roberta", "model.vocab.5", ["<s>", 0.0], BadModelFile, "different"),
    ("xlm-roberta", "model.vocab.5", ["", 0.0], BadModelFile, "empty piece"),
    ("xlm-roberta", "model.vocab.5", ["\ud800", 0.0], BadModelFile, "half of a character"),
    ("xlm-roberta", "normalizer", {"type": "NFKC"}, UnsupportedModel, "expected a precompiled character map"),
    ("xlm-roberta", "normalizer.precompiled_charsmap", "!", BadModelFile, "expected base64"),
    ("xlm-roberta", "normalizer.precompiled_charsmap", "AAAA", BadModelFile, "expected the trie to fit"),
    ("xlm-roberta", "pre_tokenizer.pretokenizers.1.prepend_scheme", "first", UnsupportedModel, "usual ways"),
    ("xlm-roberta", "pre_tokenizer.pretokenizers.1.split", False, UnsupportedModel, "usual ways"),
    ("xlm-roberta", "pre_tokenizer.pretokenizers.0.type", "Whitespace", UnsupportedModel, "usual ways"),
    ("xlm-roberta", "added_tokens.1.special", False, UnsupportedModel, "special ones only"),
    ("xlm-roberta", "added_tokens.1.id", 7, BadModelFile, "expected its id"),
    ("xlm-roberta", "post_processor", None, UnsupportedModel, "post_processor: found None"),
    ("xlm-roberta", "post_processor.special_tokens.<s>.ids", [1], UnsupportedModel, "post_processor"),
    ("xlm-roberta", "post_processor.single.0.SpecialToken.id", "</s>", UnsupportedModel, "post_processor"),
    ("xlm-roberta", "post_processor.pair.0.SpecialToken.type_id", 1, UnsupportedModel, "post_processor"),
    ("roberta", "model.dropout", 0.1, UnsupportedModel, "model.dropout: found 0.1"),
    ("roberta", "model.byte_fallback", True, UnsupportedModel, "model.byte_fallback"),
    ("roberta", "model.end_of_word_suffix", "</w>", UnsupportedModel, "end_of_word_suffix"),
    ("roberta", "model.merges.0", "a", BadModelFile, "merges: found 'a'"),
    ("roberta", "model.merges.0", ["q", "q"], BadModelFile, "merges: merge 0: found 'q q'"),
    ("roberta", "model.vocab.<s>", 7, BadModelFile, "found gaps or an id twice"),
    ("roberta", "model.vocab", ["a"], UnsupportedModel, "found no model.vocab"),
    ("roberta", "normalizer", {"type": "Lowercase"}, UnsupportedModel, "expected none or NFC"),
    ("roberta", "pre_tokenizer.use_regex", False, UnsupportedModel, "expected ByteLevel with its pattern"),
    ("roberta", "pre_tokenizer", {"type": "Whitespace"}, UnsupportedModel, "expected ByteLevel with its pattern"),
    ("roberta", "post_processor.cls", ["<s>", 1], UnsupportedModel, "post_processor"),
    ("modernbert", "added_tokens.5.lstrip", True, UnsupportedModel, "expected none of them"),
    ("modernbert", "added_tokens.5.normalized", False, UnsupportedModel, "expected normalized ones"),
    ("modernbert", "added_tokens.5.content", "", BadModelFile, "expected ids and contents"),
]


@pytest.mark.parametrize(("name", "path", "new", "error", "message"), TOKENIZERS)
def test_tokenizers_that_are_refused(
    tmp_path: Path, name: str, path: str, new: Any, error: type[EngineError], message: str
) -> None:
    folder = write_encoder(tmp_path / "hf", name)
    whole = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(changed(whole, path, new)))
    with pytest.raises(error, match=message):
        converted(folder)


@pytest.mark.parametrize("name", CONFIGS)
def test_every_part_replaced(tmp_path: Path, name: str) -> None:
    """A file comes of it, or one EngineError."""
    folder = write_encoder(tmp_path / "hf", name, "sequence")
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        if not (folder / file).exists():
            continue
        whole = json.loads((folder / file).read_text())
        for number, at in enumerate(places(whole)):
            for new in (REPLACEMENTS[number % 12], REPLACEMENTS[(number + 5) % 12]):
                (folder / file).write_text(json.dumps(replaced(whole, at, new)))
                with suppress(EngineError):
                    converted(folder)
        (folder / file).write_text(json.dumps(whole))
