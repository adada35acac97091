"""The shape of a decoder, as the metadata of its file says it: sizes, and what its architecture does differently."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import GgufFile
from engine.kernels.rope import F64, MAX_CONTEXT, cosines_and_sines, frequencies
from engine.models.weights import expect
from engine.quant import to_float32
from engine.simd import F32

# Only additions, multiplications, divisions and Decimal's logarithms: the same bits on every machine.


_POSITIONS = 4096  # at a time


@dataclass(frozen=True)
class Rotation:
    """Pair i of `size / 2` is rotated by position * base**(-2i / size), over its factor, and is multiplied by `grown`.

    With YaRN (Peng et al. 2023) `kept` is the share of that in each pair, the rest is over `stretch`.
    """

    size: int
    base: float
    factors: tuple[float, ...] = ()
    stretch: float = 1.0
    kept: tuple[float, ...] = ()
    grown: float = 1.0

    def linear(self, factor: float) -> "Rotation":
        return replace(self, stretch=factor)

    def yarn(self, factor: float, context: int, fast: float, slow: float, given: float, more: float) -> "Rotation":
        """`context` is that of training; pairs that rotate more than `fast` times in it are kept, those that rotate
        less than `slow` times stretched. `given`: by what all grows, 0 for the usual."""
        low, high = (self._pair(context, turns) for turns in (fast, slow))
        low, high = max(0, math.floor(low)), min(self.size - 1, math.ceil(high))
        width = max(0.001, high - low)
        kept = tuple(1 - min(1.0, max(0.0, (i - low) / width)) for i in range(self.size // 2))
        usual = 1 + 0.1 * _log(factor) if factor > 1 else 1.0
        return replace(self, stretch=factor, kept=kept, grown=(given or usual) * more)

    def _pair(self, context: int, turns: float) -> float:
        """The pair that rotates so many times in the context."""
        return self.size * (_log(context / (turns * 2 * math.pi))) / (2 * _log(self.base))

    def angles(self, first: int, count: int, half: int) -> F32:
        """float32 [count, 2, half]: cosines and sines of positions from `first` on; 1 and 0 of what is not rotated."""
        pace = self.frequencies()
        out = np.zeros((count, 2, half), np.float32)
        out[:, 0] = 1
        for at in range(0, count, _POSITIONS):
            positions = np.arange(first + at, first + min(at + _POSITIONS, count), dtype=np.float64)
            both = np.stack(cosines_and_sines(positions[:, None] * pace), 1)
            out[at : at + _POSITIONS, :, : pace.size] = both * self.grown
        return out

    def frequencies(self) -> F64:
        """The angle by which each pair is rotated from one position to the next."""
        usual = frequencies(self.size, self.base)
        if self.factors:
            usual = usual / np.array(self.factors)
        if not self.kept:
            return usual / self.stretch
        kept = np.array(self.kept)
        result: F64 = usual / self.stretch * (1 - kept) + usual * kept
        return result


def _log(x: float) -> float:
    with localcontext(Context(prec=40)):
        return float(Decimal(x).ln())


MAX_WIDTH, MAX_LAYERS, MAX_EXPERTS = 1 << 17, 1024, 1024
LONG = "rope_factors_long.weight"
_STRIDE = 32  # heads lie a multiple of it apart: two halves of whole vectors


@dataclass(frozen=True)
class Shape:
    """Sizes count values without padding."""

    architecture: str
    context: int
    vocab: int
    layers: int
    d_model: int
    d_ff: int  # of the feed-forward layer, or of each expert
    heads: int
    kv_heads: int  # whose keys and values heads / kv_heads heads share
    head_dim: int
    epsilon: float
    scale: float  # of products of queries and keys
    rotation: Rotation
    near_rotation: Rotation  # in layers with a window
    windows: tuple[int, ...]  # of each layer; 0: none
    interleaved: bool = False  # values 2i and 2i + 1 of a head are a rotary pair, else i and i + half
    qk_norm: bool = False
    qkv_bias: bool = False  # needed; elsewhere they may be there
    post_norms: bool = False  # norms of what attention and the feed-forward layer add
    gelu: bool = False  # else SiLU
    embedding_scale: float = 1.0
    residual_scale: float = 1.0
    logit_scale: float = 1.0  # logits are divided by it
    attention_cap: float = 0.0  # tanh(score / cap) * cap; 0: none
    final_cap: float = 0.0
    experts: int = 0
    experts_used: int = 0

    @property
    def head_stride(self) -> int:
        """The places of a head."""
        return -(-self.head_dim // _STRIDE) * _STRIDE

    @property
    def group(self) -> int:
        """Heads that share keys and values."""
        return self.heads // self.kv_heads


class Metadata:
    """The keys of one architecture, each checked as it is read. Raises BadModelFile and UnsupportedModel."""

    def __init__(self, file: GgufFile) -> None:
        self.file, self.architecture = file, file.require("general.architecture", str)

    def name(self, key: str) -> str:
        return f"{self.architecture}.{key}"

    def has(self, key: str) -> bool:
        return self.name(key) in self.file.metadata

    def bad(self, key: str, expected: str) -> BadModelFile:
        found = repr(self.file.metadata.get(self.name(key)))
        return BadModelFile(f"{self.file.path}: {self.name(key)}: found {found:.60}, expected {expected}")

    def unsupported(self, key: str, expected: str) -> UnsupportedModel:
        found = repr(self.file.metadata.get(self.name(key)))
        return UnsupportedModel(f"{self.file.path}: {self.name(key)}: found {found:.60}, expected {expected}")

    def integer(self, key: str) -> int:
        """The integer of a key."""
        return self.file.require(self.name(key), int)

    def count(self, key: str, most: int, default: int | None = None) -> int:
        """The integer of a key, from 1 to `most`."""
        if default is not None and not self.has(key):
            return default
        value = self.integer(key)
        if not 1 <= value <= most:
            raise self.bad(key, f"a number from 1 to {most}")
        return value

    def number(self, key: str, default: float | None = None, *, zero: bool = False) -> float:
        """The positive number of a key; with `zero`, 0 as well."""
        if default is not None and not self.has(key):
            return default
        value = self.file.require(self.name(key), float)
        if not (0 < value < 1e30 or (zero and value == 0)):
            raise self.bad(key, "a positive number")
        return value

    def refuse(self, key: str, *allowed: Any) -> None:
        """Raise UnsupportedModel if the file has this key with another value: what it asks for is not computed."""
        value = self.file.metadata.get(self.name(key))
        if self.has(key) and (isinstance(value, list | np.ndarray) or value not in allowed):
            raise self.unsupported(key, f"none, or {' or '.join(map(str, allowed))}" if allowed else "no such key")


def read_shape(
    file: GgufFile, *, windows: Sequence[int] | None = None, near: Rotation | None = None, experts: bool = False,
    **flags: Any,
) -> Shape:  # fmt: skip
    """The shape of the file; `flags` are what the architecture makes of it. Raises BadModelFile, UnsupportedModel."""
    data = Metadata(file)
    d_model, heads = data.count("embedding_length", MAX_WIDTH), data.count("attention.head_count", MAX_WIDTH)
    kv_heads = data.count("attention.head_count_kv", MAX_WIDTH, heads)
    if heads % kv_heads:
        raise data.bad("attention.head_count_kv", f"a number that divides {heads}, the heads")
    if not data.has("attention.key_length") and d_model % heads:
        raise data.bad("attention.head_count", f"a number that divides {d_model}, the width")
    head_dim = data.count("attention.key_length", MAX_WIDTH, max(1, d_model // heads))
    if data.count("attention.value_length", MAX_WIDTH, head_dim) != head_dim:
        raise data.unsupported("attention.value_length", f"{head_dim}, the length of keys")
    layers, context = data.count("block_count", MAX_LAYERS), data.count("context_length", 1 << 40)
    epsilon = data.number("attention.layer_norm_rms_epsilon")
    data.refuse("attention.causal", True)
    data.refuse("use_parallel_residual", False)
    if windows is None:
        data.refuse("attention.sliding_window", 0)
    tensor = file.tensors.get("token_embd.weight")
    if tensor is None:
        raise BadModelFile(f"{file.path}: there is no tensor token_embd.weight")
    scale = flags.pop("scale", 1 / math.sqrt(head_dim))
    rotation = read_rotation(data, head_dim, min(context, MAX_CONTEXT))
    return Shape(
        architecture=data.architecture, context=min(context, MAX_CONTEXT), vocab=tensor.shape[0], layers=layers,
        d_model=d_model, d_ff=read_d_ff(data, experts=experts), heads=heads, kv_heads=kv_heads, head_dim=head_dim,
        epsilon=epsilon, scale=scale, rotation=rotation, near_rotation=near or rotation,
        windows=tuple(windows or [0] * layers), **read_experts(data, experts=experts), **flags,
    )  # fmt: skip


def read_d_ff(data: Metadata, *, experts: bool) -> int:
    if experts and data.has("expert_feed_forward_length"):
        return data.count("expert_feed_forward_length", MAX_WIDTH)
    return data.count("feed_forward_length", MAX_WIDTH)


def read_experts(data: Metadata, *, experts: bool) -> dict[str, Any]:
    if not experts:
        data.refuse("expert_count", 0)
        return {}
    count = data.count("expert_count", MAX_EXPERTS)
    for key in ("expert_shared_count", "expert_group_count", "leading_dense_block_count"):
        data.refuse(key, 0)
    data.refuse("expert_gating_func", 1)  # softmax
    data.refuse("expert_weights_norm", True)
    data.refuse("expert_weights_scale", 0.0, 1.0)
    return {"experts": count, "experts_used": data.count("expert_used_count", count)}


def read_windows(data: Metadata, every: int, default: int = 0) -> list[int]:
    """The window of each layer; every so many layers one has none (0: all have one), or as the file's pattern says."""
    layers = data.count("block_count", MAX_LAYERS)
    size = data.file.metadata.get(data.name("attention.sliding_window"), default)
    if type(size) is not int or size < 0:
        raise data.bad("attention.sliding_window", "a number from 0 on")
    size = min(size, MAX_CONTEXT)
    pattern = data.file.metadata.get(data.name("attention.sliding_window_pattern"), every)
    if isinstance(pattern, np.ndarray) and pattern.dtype.kind in "biu" and pattern.size >= layers:
        return [size if near else 0 for near in pattern[:layers]]
    if type(pattern) is not int or pattern < 0:
        raise data.bad("attention.sliding_window_pattern", "a number, or one for each layer")
    return [size if pattern == 0 or i % pattern < pattern - 1 else 0 for i in range(layers)]


def read_rotation(data: Metadata, head_dim: int, context: int) -> Rotation:
    """The rotary positions of heads, by the keys below `rope.`."""
    size = data.count("rope.dimension_count", head_dim, head_dim)
    if size % 2:
        raise data.bad("rope.dimension_count", "an even number")
    base, kind = data.number("rope.freq_base", 10000.0), data.file.metadata.get(data.name("rope.scaling.type"))
    if base < 1:
        raise data.bad("rope.freq_base", "a number from 1 on")
    data.refuse("rope.dimension_sections")
    data.refuse("rope.scaling.alpha", 0.0)
    data.refuse("rope.scaling.yarn_log_multiplier", 0.0)
    data.refuse("rope.scaling.yarn_ext_factor", 1.0, -1.0)
    before = data.count("rope.scaling.original_context_length", 1 << 40, context)
    factor = data.number("rope.scaling.factor", data.number("rope.scale_linear", 1.0))
    grown = data.number("rope.scaling.attn_factor", 1.0)
    plain = Rotation(size, base, read_factors(data.file, "rope_freqs.weight", size))
    if not isinstance(kind, str | None):
        raise data.bad("rope.scaling.type", "text")
    if kind in (None, "none") and LONG in data.file.tensors:  # files of Phi 3 and 4 do not name it
        kind = "longrope"
    if kind in (None, "none") and context > before and factor == 1:
        raise data.bad("rope.scaling.type", f"a way to {context} tokens from {before}, the original_context_length")
    if kind == "none":
        return plain
    if kind in (None, "linear"):
        return plain.linear(factor)
    if kind == "longrope":
        name = LONG if context > before else LONG.replace("long", "short")
        if name not in data.file.tensors:
            raise BadModelFile(f"{data.file.path}: there is no tensor {name}")
        return Rotation(size, base, read_factors(data.file, name, size), grown=grown)
    if kind != "yarn":
        raise data.unsupported("rope.scaling.type", "none, linear, yarn or longrope")
    fast, slow = data.number("rope.scaling.yarn_beta_fast", 32.0), data.number("rope.scaling.yarn_beta_slow", 1.0)
    given = data.number("rope.scaling.yarn_attn_factor", 0.0, zero=True)
    return plain.yarn(factor, before, fast, slow, given, grown)


def read_factors(file: GgufFile, name: str, size: int) -> tuple[float, ...]:
    """The numbers by which each pair's frequency is divided; none if the file has no such tensor."""
    if name not in file.tensors:
        return ()
    values = to_float32(expect(file, name, (size // 2,)))
    if not (np.isfinite(values) & (values > 0)).all():
        raise BadModelFile(f"{file.path}: {name} holds values that are not positive numbers")
    return tuple(map(float, values))
