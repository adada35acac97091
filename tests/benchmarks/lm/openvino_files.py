"""Models of OpenVINO in the shapes of SHAPES, with random weights, written once beside the GGUF files.

    python -m tests.benchmarks.lm.openvino_files SHAPE PRECISION

As a user makes them: transformers' model, exported by optimum-intel for generation with state, its weights compressed
by NNCF: `int8`, or `int4`, symmetric, in groups of 128. A process of its own, for it needs many gigabytes.
"""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.benchmarks.lm import files
from tests.benchmarks.lm.shapes import LARGE, SHAPES, Shape
from tests.benchmarks.process import ROOT

NEEDS = ("openvino", "openvino_genai", "nncf", "optimum.intel", "torch", "transformers")
PRECISIONS = {"q8_0": "int8", "q4_0": "int4", "q4_k_m": "int4"}
"""The mix of a GGUF file -> what stands beside it."""


def missing() -> str:
    """Why there are no such models; empty if there are."""
    absent = [name for name in NEEDS if not (find_spec(name.split(".")[0]) and find_spec(name))]
    return f"{', '.join(absent)} not installed" if absent else ""


def is_small_enough(shape: str) -> bool:
    """Whether its export fits into the memory of an ordinary machine."""
    return shape != LARGE


def folder(shape: str, mix: str) -> Path:
    """Of the model beside this mix; made if it is not there."""
    path = files.folder() / f"{shape}-openvino-{PRECISIONS[mix]}"
    if not path.exists():
        command = [sys.executable, "-m", "tests.benchmarks.lm.openvino_files", shape, PRECISIONS[mix]]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return path


def write(shape: Shape, precision: str) -> None:
    """Its name is there when all of it is."""
    from optimum.intel import OVModelForCausalLM, OVWeightQuantizationConfig

    small = {"bits": 4, "sym": True, "group_size": 128, "ratio": 1.0} if precision == "int4" else {"bits": 8}
    with tempfile.TemporaryDirectory(dir=files.folder()) as made:
        original, whole = Path(made) / "original", Path(made) / "whole"
        _random(shape).save_pretrained(original)
        compress = OVWeightQuantizationConfig(**small)
        OVModelForCausalLM.from_pretrained(original, export=True, compile=False, quantization_config=compress) \
            .save_pretrained(whole)  # fmt: skip
        whole.rename(files.folder() / f"{shape.name}-openvino-{precision}")


def _random(shape: Shape) -> Any:
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config

    config = {"llama": LlamaConfig, "qwen2": Qwen2Config}[shape.architecture](
        vocab_size=shape.vocab, hidden_size=shape.width, intermediate_size=shape.inner,
        num_hidden_layers=shape.layers, num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads,
        head_dim=shape.depth, max_position_embeddings=shape.context, rms_norm_eps=shape.epsilon,
        tie_word_embeddings=shape.tied,
    )  # fmt: skip
    return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)


if __name__ == "__main__":
    write(SHAPES[sys.argv[1]], sys.argv[2])
