"""Small files with the tensors of large models; and llama.cpp's own choice of types, where it is installed."""

import ctypes
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.gguf import GgmlType, TensorSource, read, write


@dataclass(frozen=True)
class Shape:
    """What the rules for mixes look at."""

    layers: int
    heads: int = 4
    shared_heads: int = 4
    experts: int = 0
    output: bool = True
    width: int = 256


SHAPES = {
    "plain": Shape(20),
    "tied, heads share": Shape(17, heads=8, shared_heads=1, output=False),
    "two share": Shape(9, heads=8, shared_heads=4),
    "8 experts": Shape(16, experts=8),
    "4 experts": Shape(9, shared_heads=1, experts=4, output=False),
    "70B": Shape(80, heads=8, shared_heads=1),
    "96 columns": Shape(3, width=96),
    "100 columns": Shape(2, width=100, output=False),
}


def write_model(path: Path, shape: Shape, kind: GgmlType = GgmlType.F32) -> Path:
    """A file of a llama model; matrices of two rows, which no rule looks at."""
    values: dict[str, Any] = {
        "context_length": 64, "embedding_length": shape.width, "block_count": shape.layers, "feed_forward_length": 256,
        "attention.head_count": shape.heads, "attention.head_count_kv": shape.shared_heads,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }  # fmt: skip
    if shape.experts:
        values |= {"expert_count": shape.experts, "expert_used_count": 2}
    metadata = {"general.architecture": "llama"} | {f"llama.{key}": value for key, value in values.items()}
    write(path, metadata, [source(name, sizes) for name, sizes in tensors(shape).items()])
    return path


def tensors(shape: Shape) -> dict[str, tuple[int, ...]]:
    """The names of a model's tensors, and shapes."""
    row = (2, shape.width)
    found: dict[str, tuple[int, ...]] = {"token_embd.weight": row, "output_norm.weight": row[1:]}
    if shape.output:
        found["output.weight"] = row
    for layer in range(shape.layers):
        names = {"attn_norm": row[1:], "attn_q": row, "attn_k": row, "attn_v": row, "attn_output": row, "ffn_up": row}
        if shape.experts:
            names |= {"ffn_gate_inp": row, "ffn_down_exps": (shape.experts, 2, 256)}
        else:
            names["ffn_down"] = (2, 256)
        found |= {f"blk.{layer}.{name}.weight": sizes for name, sizes in names.items()}
    return found


def source(name: str, shape: tuple[int, ...]) -> TensorSource:
    """Random weights, float32."""
    values = (np.random.default_rng(len(name)).standard_normal(shape) / 50).astype(np.float32)
    return TensorSource(name, GgmlType.F32, shape, lambda: [values.view(np.uint8)])


def summary(types: dict[str, GgmlType]) -> dict[str, str]:
    """For each kind of matrix its types from the first layer to the last: {"attn_v": "Q6_K*2 Q4_K*4"}"""
    kinds: dict[str, list[tuple[int, str]]] = {}
    for name, kind in types.items():
        layer, _, rest = name.removeprefix("blk.").partition(".") if name.startswith("blk.") else ("0", "", name)
        kinds.setdefault(rest.removesuffix(".weight"), []).append((int(layer), kind.name))
    return {rest: _runs([kind for _, kind in sorted(found)]) for rest, found in sorted(kinds.items())}


def _runs(names: list[str]) -> str:
    return " ".join(f"{name}*{len(list(group))}" for name, group in groupby(names))


def llama_types(path: Path, out: Path, number: int) -> dict[str, GgmlType]:
    """The types that llama.cpp gives the tensors in a file type."""
    llama = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    parameters = llama.llama_model_quantize_default_params()
    parameters.ftype, parameters.nthread = number, 1
    assert llama.llama_model_quantize(bytes(path), bytes(out), ctypes.byref(parameters)) == 0
    return {name: tensor.type for name, tensor in read(out).tensors.items()}
