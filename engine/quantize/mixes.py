"""The usual mixes of quantization types, as data: which type each tensor gets.

Source: llama.cpp's `llama-quant.cpp` without an importance matrix. Its special cases for Falcon are left out.
"""

from collections.abc import Callable
from dataclasses import dataclass

from engine.gguf import GgmlType

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
