"""Files of decoders that do not hold what they should, or ask for what is not computed: refused by name, at once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import BadModelFile, EngineError, UnsupportedModel
from engine.gguf import GgmlType, read
from engine.models.decoders import examine, load
from tests.decoders import GROUPS, HEADS, INNER, WIDTH, pieces, write_decoder

f = np.float32

# case, what differs in metadata, what differs in tensors, error, what it says
BAD: list[tuple[str, dict[str, Any], dict[str, Any], type[EngineError], str]] = [
    ("llama", {"general.architecture": "mamba"}, {}, UnsupportedModel, "architecture 'mamba', expected one of llama"),
    ("llama", {"llama.block_count": None}, {}, BadModelFile, "llama.block_count"),
    ("llama", {"llama.block_count": 4}, {}, BadModelFile, "there is no tensor blk.3"),
    ("llama", {"llama.block_count": 2}, {}, UnsupportedModel, "no tensor blk.2"),
    ("llama", {"llama.block_count": 2**31}, {}, BadModelFile, "found 2147483648, expected a number from 1 to 1024"),
    ("llama", {"llama.attention.head_count": 0}, {}, BadModelFile, "head_count: found 0"),
    ("llama", {"llama.attention.head_count": 2**31}, {}, BadModelFile, "head_count"),
    ("llama", {"llama.attention.head_count": 3}, {}, BadModelFile, "head_count"),
    ("llama", {"llama.attention.head_count_kv": 3}, {}, BadModelFile, f"divides {HEADS}"),
    ("llama", {"llama.attention.head_count": "4"}, {}, BadModelFile, "expected int"),
    ("llama", {"llama.attention.layer_norm_rms_epsilon": 0.0}, {}, BadModelFile, "epsilon: found 0.0"),
    ("llama", {"llama.rope.freq_base": float("nan")}, {}, BadModelFile, "freq_base: found nan"),
    ("llama", {"llama.rope.freq_base": 0.5}, {}, BadModelFile, "freq_base: found 0.5"),
    ("llama", {"llama.rope.dimension_count": 7}, {}, BadModelFile, "dimension_count: found 7, expected an even"),
    ("llama", {"llama.rope.dimension_count": 80}, {}, BadModelFile, "dimension_count"),
    ("llama", {"llama.rope.scaling.type": "dynamic"}, {}, UnsupportedModel, "rope.scaling.type: found 'dynamic'"),
    ("llama", {"llama.rope.scaling.type": "longrope"}, {}, BadModelFile, "no tensor rope_factors_short"),
    ("llama", {"llama.attention.causal": False}, {}, UnsupportedModel, "attention.causal"),
    ("llama", {"llama.attention.sliding_window": np.int32(-1)}, {}, BadModelFile, "expected a number from 0 on"),
    ("llama yarn", {"llama.rope.scaling.yarn_log_multiplier": 0.1}, {}, UnsupportedModel, "yarn_log_multiplier"),
    ("llama 3", {"llama.attention.value_length": 8}, {}, UnsupportedModel, "value_length: found 8, expected 16"),
    ("qwen2", {"qwen2.attention.sliding_window": 10}, {}, UnsupportedModel, "sliding_window: found 10"),
    ("qwen2", {"qwen2.expert_count": 4}, {}, UnsupportedModel, "expert_count: found 4"),
    ("qwen3moe", {"qwen3moe.expert_used_count": 9}, {}, BadModelFile, "expert_used_count: found 9"),
    ("qwen3moe", {"qwen3moe.expert_gating_func": 2}, {}, UnsupportedModel, "expert_gating_func: found 2"),
    ("gemma3", {"gemma3.attention.sliding_window_pattern": "x"}, {}, BadModelFile, "sliding_window_pattern"),
    ("gemma3", {"gemma3.attn_logit_softcapping": 50.0}, {}, UnsupportedModel, "attn_logit_softcapping"),
    ("granite", {"granite.rope.scaling.finetuned": False}, {}, UnsupportedModel, "finetuned"),
    ("gemma3", {"gemma3.attn_logit_softcapping": np.ones(2, bool)}, {}, UnsupportedModel, "attn_logit_softcapping"),
    ("llama", {"llama.expert_count": np.ones(3, f)}, {}, BadModelFile, "expert_count"),
    ("llama", {"llama.rope.scaling.original_context_length": 64}, {}, BadModelFile, "rope.scaling.type: found None"),
    ("qwen2", {}, {"blk.1.attn_k.bias": None}, BadModelFile, "no tensor blk.1.attn_k.bias"),
    ("llama", {}, {"token_embd.weight": None}, BadModelFile, "no tensor token_embd"),
    ("llama", {}, {"blk.1.ffn_up.weight": None}, BadModelFile, "no tensor blk.1.ffn_up.weight"),
    ("llama", {}, {"blk.1.ffn_up.weight": np.zeros((5, WIDTH), f)}, BadModelFile, "has the shape"),
    ("llama", {}, {"blk.1.attn_norm.weight": np.zeros(WIDTH + 1, f)}, BadModelFile, "has the shape"),
    ("llama", {}, {"blk.1.attn_norm.bias": np.zeros(WIDTH, f)}, UnsupportedModel, "no tensor blk.1.attn_norm.bias"),
    ("llama", {}, {"blk.0.attn_sinks.weight": np.zeros(HEADS, f)}, UnsupportedModel, "attn_sinks"),
    ("llama", {}, {"blk.1.attn_q_norm.weight": np.zeros(16, f)}, UnsupportedModel, "attn_q_norm"),
    ("llama 3", {}, {"rope_freqs.weight": np.zeros(8, f)}, BadModelFile, "rope_freqs.weight holds values"),
    ("llama", {}, {"output_norm.weight": np.full(WIDTH, np.inf, f)}, BadModelFile, "output_norm.weight holds"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "metadata", "tensors", "error", "message"), BAD)
def test_refused(
    case: str, metadata: dict[str, Any], tensors: dict[str, Any], error: type[EngineError], message: str, tmp_path: Path
) -> None:
    path = write_decoder(tmp_path / "f", case, GgmlType.Q8_0, metadata=metadata, tensors=tensors)
    with pytest.raises(error, match=message) as caught:
        load(read(path), lambda make: make(), 1)
    assert str(path) in str(caught.value)


NOT_FINITE = {
    "blk.1.ffn_up.weight": np.full((INNER, WIDTH), np.nan, f), "output_norm.weight": np.full(WIDTH, np.inf, f),
    "token_embd.weight": np.full((len(pieces()), WIDTH), -np.inf, f),
    "blk.0.attn_k.bias": np.full(16 * GROUPS, np.nan, f),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_FINITE)
def test_weights_that_are_no_numbers(name: str, tmp_path: Path) -> None:
    """Looked at in all tensors, before a run and when weights are made."""
    path = write_decoder(tmp_path / "f", "qwen2", tensors={name: NOT_FINITE[name]})
    for use in (lambda: load(read(path), lambda make: make(), 1), lambda: examine(read(path))):
        with pytest.raises(BadModelFile, match=f"{name} holds values that are not finite"):
            use()


@pytest.mark.parametrize("kind", [GgmlType.Q8_0, GgmlType.Q4_1, GgmlType.F16], ids=lambda kind: kind.name)
def test_scales_that_are_no_numbers(tmp_path: Path, kind: GgmlType) -> None:
    path = write_decoder(tmp_path / "f", "llama", kind)
    tensor = read(path).tensors["blk.1.ffn_down.weight"]
    data = bytearray(path.read_bytes())
    at = bytes(data).index(tensor.data.tobytes())
    data[at : at + 2] = np.float16(np.nan).tobytes()
    path.write_bytes(data)
    with pytest.raises(BadModelFile, match=r"blk.1.ffn_down.weight holds values that are not finite"):
        load(read(path), lambda make: make(), 1)


def test_a_longer_context_than_angles_are_exact_for_is_cut(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "f", "llama", metadata={"llama.context_length": 1 << 20})
    assert load(read(path), lambda make: make(), 1).shape.context == 131072


def test_steps_that_cannot_be(tmp_path: Path) -> None:
    model = load(read(write_decoder(tmp_path / "f", "llama", GgmlType.Q8_0)), lambda make: make(), 1)
    pages = model.pages(2)

    def step(
        ids: list[int], positions: list[int], sequences: list[int], wanted: tuple[int, ...] = (),
        tables: tuple[tuple[int, ...], ...] = ((0,), (1,)),
    ) -> np.ndarray:  # fmt: skip
        arrays = (np.array(each, np.int32) for each in (ids, positions, sequences, tables))
        return model.step(*arrays, pages, np.array(wanted, np.int32))

    assert step([], [], []).shape == (0, model.shape.vocab)
    assert step([5, 6], [0, 0], [1, 0], (1,)).shape == (1, model.shape.vocab)
    for message, arguments in {
        "length": ([5], [0, 1], [0]), "ids": ([-1], [0], [0]), "positions": ([5], [32], [0]),
        "sequences": ([5], [0], [2]), "wanted": ([5], [0], [0], (1,)), "one after another": ([5, 6], [0, 2], [0, 0]),
        "lie together": ([5, 6, 7], [0, 0, 1], [0, 1, 0]), "page of": ([5], [0], [0], (), ((2,),)),
        "not in order": ([5, 6], [0, 1], [0, 0], (1, 0)), "are not in": ([5, 6], [0, 1], [0, 0], (1, 1)),
    }.items():  # fmt: skip
        with pytest.raises(ValueError, match=message):
            step(*arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="float16 or int8"):
        model.pages(1, "float64")  # type: ignore[arg-type]
