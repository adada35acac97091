"""Weights of 16-bit floats, computed as they are: the bits are those of a file that has the same values as F32."""

from pathlib import Path

import numpy as np
import pytest

import engine
from engine.gguf import GgmlType, TensorSource, read, write
from engine.quant import TYPES, to_float32
from engine.widened import HALF, type_in_file, widened
from tests.decoders import write_decoder
from tests.models import write_bert_folder

TEXTS = ["the lease of the landlord", "invoice", "total due date " * 20]


def restored(path: Path, out: Path, kinds: dict[GgmlType, GgmlType]) -> Path:
    """The file with matrices of some types stored in others."""
    file = read(path)
    tensors = []
    for tensor in file.tensors.values():
        kind = kinds.get(tensor.type, tensor.type) if len(tensor.shape) > 1 else tensor.type
        data = tensor.data if kind == tensor.type else TYPES[kind].quantize(to_float32(tensor)).reshape(-1)
        tensors.append(TensorSource(tensor.name, kind, tensor.shape, lambda data=data: [data]))  # type: ignore[misc]
    write(out, {key: file.typed(key) for key in file.metadata}, tensors)
    return out


def as_float32(path: Path, out: Path) -> Path:
    """The file with F32 in place of 16-bit floats."""
    return restored(path, out, dict.fromkeys(HALF, GgmlType.F32))


@pytest.mark.parametrize("kind", [GgmlType.F16, GgmlType.BF16])
def test_an_encoder_in_16_bits(kind: GgmlType, tmp_path: Path) -> None:
    engine.import_model(write_bert_folder(tmp_path / "hf"), tmp_path / "f32.gguf", file_type="f32", name="half")
    path = restored(tmp_path / "f32.gguf", tmp_path / "half.gguf", {GgmlType.F32: kind})
    whole, plain = engine.load(path, widen=True), engine.load(path)
    truth = engine.load(as_float32(path, tmp_path / "whole.gguf"))
    assert whole.embed(TEXTS).tobytes() == truth.embed(TEXTS).tobytes()
    assert whole.embed(TEXTS).tobytes() != plain.embed(TEXTS).tobytes()
    assert (plain.facts["half_weights"], whole.facts["half_weights"]) == ("int8", "float32")
    assert "half_weights" not in truth.facts
    assert plain.facts["types"] == whole.facts["types"] == ", ".join(sorted(("F32", kind.name)))
    assert engine.load(path, widen=True).embed(TEXTS).tobytes() == truth.embed(TEXTS).tobytes()  # from kept weights


@pytest.mark.parametrize("kind", [GgmlType.F16, GgmlType.BF16])
def test_a_decoder_in_16_bits(kind: GgmlType, tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "half.gguf", "llama", kind)
    truth = engine.load_decoder(as_float32(path, tmp_path / "whole.gguf"))
    models = [engine.load_decoder(path, widen=True), truth, engine.load_decoder(path)]
    ids = np.arange(3, 40, dtype=np.int32)
    choices = tuple(np.array([i], np.int32) for i in range(5, 60))
    whole, expected, plain = (
        [answer.scores for _, answer in model.generate([engine.Request(ids, 0, choices=choices)])] for model in models
    )
    assert np.array(whole).tobytes() == np.array(expected).tobytes()
    assert np.array(whole).tobytes() != np.array(plain).tobytes()
    assert models[0].facts["half_weights"] == "float32"


def test_nothing_but_16_bit_floats_is_widened(tiny_model: Path) -> None:
    file = read(tiny_model)
    assert all(a is b for a, b in zip(file.tensors.values(), widened(file).tensors.values(), strict=True))


def test_a_widened_tensor_has_the_values_and_knows_its_type(tmp_path: Path) -> None:
    file = read(write_decoder(tmp_path / "half.gguf", "llama", GgmlType.F16, GgmlType.Q8_0))
    wide = widened(file)
    for name, tensor in wide.tensors.items():
        assert type_in_file(tensor) == file.tensors[name].type
        assert (tensor.type == GgmlType.F32) == (file.tensors[name].type in {GgmlType.F32, GgmlType.F16})
        assert to_float32(tensor).tobytes() == to_float32(file.tensors[name]).tobytes()
