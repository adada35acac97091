"""The engine gives the bits that engine/NUMERICS.md defines: the definition in plain numpy beside it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import gguf
from engine.gguf import TensorSource
from engine.models import calibration
from tests.models import WORDS, write_bert_folder
from tests.reference.whole_numbers import WholeNumbers
from tests.thorough import part

TEXTS = ["", "the", *(" ".join(WORDS[:n] * 7) for n in (2, 5, 16)), "rechnung 17, total due: 3,40 of 9.99!"]
LONG = "the lease of the tenant " * 130  # 652 tokens: values and weights of attention have fewer bits
SHAPES: list[dict[str, int]] = [
    {},
    {"width": 60, "inner": 100, "heads": 5, "seed": 4},
    {"width": 96, "inner": 1600, "heads": 1, "layers": 1, "seed": 5},
    {"width": 160, "inner": 192, "heads": 2, "layers": 3, "seed": 6},
    {"width": 240, "inner": 200, "heads": 20, "layers": 1, "seed": 7},
    {"inner": 65, "layers": 1, "seed": 9},  # of the last group behind GELU all but one value is padding
    {"width": 400, "inner": 300, "heads": 4, "layers": 1, "context": 700, "seed": 8},
]


# One in three has each type and each shape.
CASES: list[tuple[Any, dict[str, int]]] = [(kind, one) for one in SHAPES for kind in ("q8_0", "f16", "f32", "q4_0")]


@pytest.mark.parametrize(("file_type", "shape"), part(CASES, 3), ids=str)
def test_the_definition(tmp_path: Path, file_type: Any, shape: dict[str, int]) -> None:
    path = tmp_path / "m.gguf"
    engine.import_model(write_bert_folder(tmp_path / "hf", **shape), path, file_type="f32", name="m")
    if file_type != "f32":
        engine.quantize_model(path, path := tmp_path / "q.gguf", mix=file_type)
    check(path)


@pytest.mark.parametrize(
    "floats", [("ffn_up",), ("ffn_down",), ("attn_output",), ("attn_q", "attn_k", "attn_v"), ("attn_q",)], ids=" ".join
)
def test_matrices_of_which_some_are_float32(tmp_path: Path, floats: tuple[str, ...]) -> None:
    path = tmp_path / "m.gguf"
    engine.import_model(write_bert_folder(tmp_path / "hf", width=96, heads=4), path, file_type="f32", name="m")
    engine.quantize_model(path, tmp_path / "q.gguf", mix="q8_0")
    exact, rounded = gguf.read(path), gguf.read(tmp_path / "q.gguf")
    chosen = [(exact if name.split(".")[-2] in floats else rounded).tensors[name] for name in exact.tensors]
    sources = [TensorSource(t.name, t.type, t.shape, lambda t=t: [t.data]) for t in chosen]
    gguf.write(tmp_path / "mixed.gguf", rounded.metadata, sources)
    check(tmp_path / "mixed.gguf")


def check(path: Path) -> None:
    model = engine.load(path)
    definition = WholeNumbers(path, model._tokenizer.encode_many(calibration.TEXTS))
    digits = {kind: int(model._network.arrays[f"{kind}.digits"][0]) for kind in definition.digits}
    assert digits == definition.digits
    texts = TEXTS + [LONG] * (model.context > 652)
    for text, vector in zip(texts, model.embed(texts), strict=True):
        expected = definition.embed(model._tokenizer.encode(text))
        assert np.array_equal(vector.view(np.int32), expected.view(np.int32)), text
