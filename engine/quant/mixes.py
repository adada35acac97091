"""The usual mixes of quantization types, as data: which type each tensor gets.

Source: llama.cpp's `llama-quant.cpp` without an importance matrix. Its special cases for Falcon are left out.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from engine.gguf import BLOCKS, GgmlType, GgufFile, Tensor

Rule = Callable[[int, int], GgmlType | None]
"""(which layer, of how many) -> a type instead of the mix's own, or None"""


def always(kind: GgmlType) -> Rule:
    """A rule that gives `kind` in every layer."""
    return lambda layer, layers: kind


def in_first(count: int, kind: GgmlType, then: GgmlType | None = None) -> Rule:
    """A rule that gives `kind` in the first `count` layers, and `then` in the others."""
    return lambda layer, layers: kind if layer < count else then


def in_first_fraction(fraction: int, kind: GgmlType, then: GgmlType | None = None) -> Rule:
    """A rule that gives `kind` in the first 1 / `fraction` of the layers, and `then` in the others."""
    return lambda layer, layers: kind if layer < layers // fraction else then


def where_it_matters(kind: GgmlType) -> Rule:
    """A rule that gives `kind` in the first and last eighth of the layers and in every third between them (llama.cpp's
    `use_more_bits`)."""

    def rule(layer: int, layers: int) -> GgmlType | None:
        eighth = layers // 8
        return kind if layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2 else None

    return rule


def nowhere(layer: int, layers: int) -> None:
    """The rule that gives the mix's own type in every layer."""


@dataclass(frozen=True)
class Mix:
    """A type for matrices, llama.cpp's number for `general.file_type`, and what some matrices get instead."""

    base: GgmlType
    number: int
    attn_v: Rule = nowhere
    ffn_down: Rule = nowhere
    attn_output: GgmlType | None = None
    attn_v_shared: GgmlType | None = None  # where four or more heads share their values
    attn_output_of_8_experts: GgmlType | None = None


F16, BF16, Q8_0 = GgmlType.F16, GgmlType.BF16, GgmlType.Q8_0
Q4_0, Q4_1, Q5_0, Q5_1 = GgmlType.Q4_0, GgmlType.Q4_1, GgmlType.Q5_0, GgmlType.Q5_1
Q2_K, Q3_K, Q4_K, Q5_K, Q6_K = GgmlType.Q2_K, GgmlType.Q3_K, GgmlType.Q4_K, GgmlType.Q5_K, GgmlType.Q6_K
IQ4_NL, IQ4_XS = GgmlType.IQ4_NL, GgmlType.IQ4_XS

MIXES: dict[str, Mix] = {
    "f16": Mix(F16, 1),
    "bf16": Mix(BF16, 32),
    "q8_0": Mix(Q8_0, 7),
    "q6_k": Mix(Q6_K, 18),
    "q5_k_m": Mix(Q5_K, 17, where_it_matters(Q6_K), where_it_matters(Q6_K)),
    "q5_k_s": Mix(Q5_K, 16),
    "q5_1": Mix(Q5_1, 9),
    "q5_0": Mix(Q5_0, 8),
    "q4_k_m": Mix(Q4_K, 15, where_it_matters(Q6_K), where_it_matters(Q6_K), attn_output_of_8_experts=Q5_K),
    "q4_k_s": Mix(Q4_K, 14, in_first(4, Q5_K), in_first_fraction(8, Q5_K), attn_output_of_8_experts=Q5_K),
    "iq4_nl": Mix(IQ4_NL, 25, nowhere, in_first_fraction(8, Q5_K), None, Q5_K, Q5_K),
    "iq4_xs": Mix(IQ4_XS, 30, nowhere, in_first_fraction(8, Q5_K), None, Q5_K, Q5_K),
    "q4_1": Mix(Q4_1, 3),
    "q4_0": Mix(Q4_0, 2),
    "q3_k_m": Mix(Q3_K, 12, in_first(2, Q5_K, Q4_K), in_first_fraction(16, Q5_K, Q4_K), Q4_K, None, Q5_K),
    "q2_k": Mix(Q2_K, 10, always(Q3_K), always(Q3_K), Q3_K, Q4_K, Q5_K),
}
PLAIN = {F16, BF16}  # mixes of these have no exceptions

# what a row gets that is no whole number of blocks; F16 where that does not fit either
FALLBACKS = {Q2_K: Q4_0, Q3_K: Q4_0, Q4_K: Q5_0, Q5_K: Q5_1, Q6_K: Q8_0, IQ4_XS: IQ4_NL}

# parts of the names of matrices that are small or delicate, and stay as they are
KEPT = (
    "_norm.weight", "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", "altup", "laurel", "per_layer_model_proj",
    "ssm_conv1d", "shortconv.conv.weight", "indexer.k_proj.weight", "indexer.q_proj.weight", "attn_rel_b.weight",
    "time_mix_first.weight", "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight", "time_mix_v0.weight",
    "time_mix_v1.weight", "time_mix_v2.weight", "time_mix_a0.weight", "time_mix_a1.weight", "time_mix_a2.weight",
    "time_mix_g1.weight", "time_mix_g2.weight", "time_mix_decay_w1.weight", "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight", ".position_embd", "sam.pos_embd", "sam.neck.", "sam.net_", ".rel_pos",
    ".patch_embd", ".patch_merger", "a.rvq.codebook", "mm.a.code_embd",
)  # fmt: skip
KEPT_NAMES = ("position_embd.weight", "token_types.weight")


_VALUES = ("attn_qkv.weight", "attn_kv_b.weight", "attn_v.weight")
_EMBEDDINGS = ("token_embd.weight", "per_layer_token_embd.weight")
_LAYER = re.compile(r"blk\.(\d+)\.")


@dataclass(frozen=True)
class Choice:
    """The type of a tensor; `wanted` differs where its rows are no whole number of blocks of that."""

    type: GgmlType
    wanted: GgmlType


@dataclass(frozen=True)
class _Model:
    """The facts about a model that the rules ask for."""

    layers: int
    experts: int
    shared: int  # query heads to one head of values
    is_70b: bool
    has_output: bool
    values: int  # how many matrices of attention values


def plan(file: GgufFile, mix: Mix) -> dict[str, Choice]:
    """The type of each tensor, by name, in the order of the file."""
    model, seen = _model(file), Counter[str]()
    chosen = {}
    for name in sorted(file.tensors, key=_by_layer):
        tensor = file.tensors[name]
        wanted = _wanted(tensor, mix, model, seen) if may_change(tensor) else tensor.type
        chosen[name] = Choice(_fitting(wanted, tensor), wanted)
    return {name: chosen[name] for name in file.tensors}


def may_change(tensor: Tensor) -> bool:
    """Only matrices of weights; vectors, norms and what is small or delicate stay as they are."""
    rows = prod(tensor.shape[:-1])
    kept = tensor.name in KEPT_NAMES or any(part in tensor.name for part in KEPT)
    return rows > 1 and tensor.name.endswith("weight") and not kept


def _model(file: GgufFile) -> _Model:
    architecture = file.metadata.get("general.architecture")

    def number(key: str) -> int:
        value = file.metadata.get(f"{architecture}.{key}")
        return value if type(value) is int else 0

    layers, heads, shared_heads = map(number, ("block_count", "attention.head_count", "attention.head_count_kv"))
    return _Model(
        layers=layers,
        experts=number("expert_count"),
        shared=heads // shared_heads if shared_heads else 1,
        is_70b=architecture == "llama" and layers == 80 and heads != shared_heads,
        has_output="output.weight" in file.tensors,
        values=sum(any(part in name for part in _VALUES) for name in file.tensors),
    )


def _by_layer(name: str) -> tuple[int, str]:
    found = _LAYER.search(name)
    return int(found[1]) if found else -1, name


def _wanted(tensor: Tensor, mix: Mix, model: _Model, seen: Counter[str]) -> GgmlType:
    """The type that the mix gives a matrix by its place in the model; `seen` counts those of its kind that came
    before."""
    name, base = tensor.name, mix.base
    if base in PLAIN:
        return base
    if name == "output.weight" or (name in _EMBEDDINGS and not model.has_output):
        return base if base == GgmlType.Q8_0 else GgmlType.Q6_K
    if any(part in name for part in _VALUES):
        return _values_type(mix, model, _next(seen, "values"))
    if "attn_k.weight" in name and model.experts == 8:
        return GgmlType.Q8_0
    if "ffn_down" in name:
        layer = _next(seen, "ffn_down")
        return mix.ffn_down(_by_layer(name)[0] if model.experts > 1 else layer, model.layers) or base
    if "attn_output.weight" in name:
        return (mix.attn_output_of_8_experts if model.experts == 8 else mix.attn_output) or base
    return base


def _values_type(mix: Mix, model: _Model, layer: int) -> GgmlType:
    """Attention values come first: they are small where heads share them, and suffer most."""
    if model.experts == 8:
        return GgmlType.Q8_0
    found = mix.attn_v(layer, model.values) or mix.base
    if mix.attn_v_shared is not None and model.shared >= 4:
        found = mix.attn_v_shared
    return GgmlType.Q5_K if model.is_70b and found in (GgmlType.Q3_K, GgmlType.Q4_K) else found


def _next(seen: Counter[str], kind: str) -> int:
    seen[kind] += 1
    return seen[kind] - 1


def _fitting(kind: GgmlType, tensor: Tensor) -> GgmlType:
    """The type, or one with smaller blocks."""
    for each in (kind, FALLBACKS.get(kind, kind)):
        if tensor.shape[-1] % BLOCKS[each].values == 0:
            return each
    return GgmlType.F16
