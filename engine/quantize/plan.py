"""The types of a file's tensors in a mix, and what had to fall back."""

import re
from collections import Counter
from dataclasses import dataclass
from math import prod

from engine.gguf import BLOCKS, GgmlType, GgufFile, Tensor
from engine.quantize.mixes import FALLBACKS, KEPT, KEPT_NAMES, PLAIN, Mix

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
