"""A whole file in fewer bits: what is kept, what is refused, how much memory it takes, and that it still works."""

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import quantize as model
from engine.errors import BadModelFile, EngineError, UnsupportedModel
from engine.gguf import GgmlType, TensorSource, read, write
from engine.gguf.types import ValueType
from engine.quant import TYPES, to_float32
from engine.quant.mixes import MIXES
from engine.quantize import quantize_model
from tests.engine.quant.models import Shape, source, write_model

METADATA: dict[str, Any] = {
    "general.architecture": "test",
    "general.name": "a model",
    "general.file_type": 0,
    "general.alignment": 32,
    "a.u8": np.uint8(255), "a.i8": np.int8(-1), "a.u16": np.uint16(1), "a.i16": np.int16(-2),
    "a.u32": np.uint32(2**32 - 1), "a.i32": np.int32(-3), "a.u64": np.uint64(2**63), "a.i64": np.int64(-(2**62)),
    "a.f32": np.float32(0.1),
    "a.f64": np.float64(0.1), "a.yes": True, "a.text": "três", "a.texts": ["", "x"], "a.none": np.array([], np.int16),
    "a.bools": np.array([True, False]),
    "cloister.source.sha256": ["0" * 64],
}  # fmt: skip


def tensor(name: str, values: np.ndarray, kind: GgmlType = GgmlType.F32) -> TensorSource:
    return TensorSource(name, kind, values.shape, lambda: [TYPES[kind].quantize(values)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """F32: a vector, and matrices of one, two and four dimensions more; one row is no whole block."""
    shapes = {
        "norm.weight": (256,),
        "a.weight": (6, 256),
        "b.weight": (2, 3, 32),
        "c.weight": (5, 33),
        "d.bias": (4, 256),
    }
    write(tmp_path / "source", METADATA, [source(name, shape) for name, shape in shapes.items()])
    return tmp_path / "source"


@pytest.mark.parametrize("mix", MIXES)
def test_what_is_kept_and_what_changes(path: Path, tmp_path: Path, mix: str) -> None:
    done = quantize_model(path, tmp_path / "out", mix=mix)
    old, new = read(path), read(tmp_path / "out")
    changed = {"general.file_type", "general.quantization_version", "general.alignment", "cloister.quantized.sha256"}
    for key in old.metadata.keys() - changed:
        assert new.value_types[key] == old.value_types[key]
        assert np.array_equal(new.metadata[key], old.metadata[key])
    assert new.metadata.keys() - old.metadata.keys() == changed - {"general.file_type", "general.alignment"}
    assert new.metadata["general.file_type"] == MIXES[mix].number
    assert new.value_types["general.file_type"] == ValueType.UINT32
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert new.metadata["cloister.quantized.sha256"] == done.source_sha256 == digest
    assert {name: tensor.shape for name, tensor in new.tensors.items()} == {
        name: tensor.shape for name, tensor in old.tensors.items()
    }
    for name in ("norm.weight", "d.bias"):
        assert np.array_equal(new.tensors[name].data, old.tensors[name].data)
    assert new.tensors["a.weight"].type == MIXES[mix].base
    assert new.tensors["c.weight"].type == (GgmlType.BF16 if mix == "bf16" else GgmlType.F16)
    for name in old.tensors:
        wrong = to_float32(new.tensors[name]) - to_float32(old.tensors[name])
        assert np.sqrt(np.square(wrong).mean()) < 0.02 * (0.32 if mix == "q2_k" else 0.17)


def test_what_is_told(path: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []
    done = quantize_model(path, tmp_path / "out", mix="q4_k_s", progress=lambda *fact: told.append(fact))
    total = 256 + 6 * 256 + 6 * 32 + 5 * 33 + 4 * 256
    assert [fact[0] for fact in told] == sorted(fact[0] for fact in told)
    assert told[-1] == (total, total, "d.bias")
    facts = done.to_dict()
    assert (facts["mix"], facts["architecture"], facts["parameters"]) == ("q4_k_s", "test", total)
    assert facts["fallbacks"] == [
        {"tensor": "b.weight", "columns": 32, "wanted": "Q4_K", "type": "Q5_0"},
        {"tensor": "c.weight", "columns": 33, "wanted": "Q4_K", "type": "F16"},
    ]
    assert facts["sha256"] == hashlib.sha256((tmp_path / "out").read_bytes()).hexdigest()
    assert json.loads(json.dumps(facts)) is not None


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("at_a_time", [1, 600, 1 << 20])
def test_the_same_bytes_for_any_threads_and_chunks(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: str, at_a_time: int
) -> None:
    quantize_model(path, tmp_path / "first", mix="q5_k_m")
    monkeypatch.setenv("CLOISTER_THREADS", threads)
    monkeypatch.setattr(model, "_VALUES_AT_A_TIME", at_a_time)
    quantize_model(path, tmp_path / "second", mix="q5_k_m")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@pytest.mark.parametrize("kind", [GgmlType.F16, GgmlType.BF16, GgmlType.Q8_0], ids=lambda kind: kind.name)
def test_other_sources(tmp_path: Path, kind: GgmlType) -> None:
    values = np.random.default_rng(1).standard_normal((4, 256)).astype(np.float32)
    write(tmp_path / "f", {"general.architecture": "x"}, [tensor("a.weight", values, kind)])
    quantize_model(tmp_path / "f", tmp_path / "q", mix="q6_k")
    (found,) = read(tmp_path / "q").tensors.values()
    expected = TYPES[GgmlType.Q6_K].quantize(to_float32(read(tmp_path / "f").tensors["a.weight"]))
    assert np.array_equal(found.data, expected.reshape(-1))
    if kind == GgmlType.Q8_0:
        quantize_model(tmp_path / "f", tmp_path / "same", mix="q8_0")
        assert np.array_equal(
            read(tmp_path / "same").tensors["a.weight"].data, read(tmp_path / "f").tensors["a.weight"].data
        )


def one(path: Path, values: Any, kind: GgmlType = GgmlType.F32, **metadata: Any) -> Path:
    write(path, metadata, [tensor("a.weight", np.full((2, 256), values, np.float32), kind)])
    return path


@pytest.mark.parametrize(
    ("values", "kind", "error", "message"),
    [
        (np.nan, GgmlType.F32, BadModelFile, "tensor a.weight: found values that are not finite"),
        (np.inf, GgmlType.F16, BadModelFile, "tensor a.weight: found values that are not finite"),
        (1e5, GgmlType.F32, UnsupportedModel, "tensor a.weight: found 100000, which is too large for Q4_K"),
        (1, GgmlType.Q5_0, UnsupportedModel, "tensor a.weight: found Q5_0, expected one of F32, F16, BF16, Q8_0"),
    ],
)
def test_tensors_that_are_refused(
    tmp_path: Path, values: float, kind: GgmlType, error: type[EngineError], message: str
) -> None:
    one(tmp_path / "f", values, kind)
    with pytest.raises(error, match=message):
        quantize_model(tmp_path / "f", tmp_path / "out", mix="q4_k_s")
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


def test_files_that_are_refused(tmp_path: Path) -> None:
    good = one(tmp_path / "f", 1)
    with pytest.raises(UnsupportedModel, match=r"found 'q9', expected one of f16, bf16"):
        quantize_model(good, tmp_path / "out", mix="q9")
    with pytest.raises(UnsupportedModel, match="the source itself"):
        quantize_model(good, good, mix="q8_0")
    write(tmp_path / "none", {}, [])
    with pytest.raises(UnsupportedModel, match="found no tensors"):
        quantize_model(tmp_path / "none", tmp_path / "out", mix="q8_0")
    with pytest.raises(UnsupportedModel, match="a part of a model in 3 files"):
        quantize_model(one(tmp_path / "split", 1, **{"split.count": np.uint16(3)}), tmp_path / "out", mix="q8_0")
    with pytest.raises(EngineError, match="No such file"):
        quantize_model(good, tmp_path / "no" / "out", mix="q8_0")
    with pytest.raises(BadModelFile):
        quantize_model(tmp_path / "nowhere", tmp_path / "out", mix="q8_0")


def test_a_type_that_nobody_reads_is_kept_where_it_may_not_change(tmp_path: Path) -> None:
    odd = TensorSource("odd.bias", GgmlType.IQ1_S, (256,), lambda: [np.arange(50, dtype=np.uint8)])
    write(tmp_path / "f", {}, [odd, tensor("a.weight", np.ones((2, 256), np.float32))])
    quantize_model(tmp_path / "f", tmp_path / "out", mix="q8_0")
    assert read(tmp_path / "out").tensors["odd.bias"].data.tolist() == list(range(50))


def test_the_file_does_not_have_to_fit_into_memory(tmp_path: Path) -> None:
    """64 MB of float32 pass through a few chunks at a time."""
    shape = (1 << 14, 1024)
    rows = np.random.default_rng(1).standard_normal((64, 1024)).astype("<f2").view(np.uint8)
    many = TensorSource("a.weight", GgmlType.F16, shape, lambda: (rows for _ in range(shape[0] // 64)))
    write(tmp_path / "f", {}, [many])
    tracemalloc.start()
    quantize_model(tmp_path / "f", tmp_path / "out", mix="q4_0")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


@pytest.mark.parametrize("mix", MIXES)
def test_an_encoder_still_computes(tiny_model: Path, tmp_path: Path, mix: str) -> None:
    texts = ["invoice total due", "lease landlord tenant", "the report of the contract"]
    expected = engine.load(tiny_model).embed(texts)
    quantize_model(tiny_model, tmp_path / "out", mix=mix)
    found = engine.load(tmp_path / "out").embed(texts)
    assert (found * expected).sum(axis=1).min() > (0.9 if mix == "q2_k" else 0.98)


@pytest.mark.parametrize(("mix", "least"), [("q8_0", 0.997), ("q5_k_m", 0.99), ("q4_k_m", 0.98), ("q4_0", 0.95)])
def test_llama_cpp_computes_the_same_model(minilm: Path, tmp_path: Path, mix: str, least: float) -> None:
    llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    engine.import_model(minilm, tmp_path / "f", file_type="f32", name="minilm")
    quantize_model(tmp_path / "f", tmp_path / "out", mix=mix)
    text = "Invoice no. 2026-0417: the total amount due is 1,234.56 euros, payable within 30 days."
    vectors = []
    for path in (tmp_path / "f", tmp_path / "out"):
        loaded = llama_cpp.Llama(str(path), embedding=True, verbose=False, n_ctx=512, n_threads=1)
        vector = np.array(loaded.create_embedding(text)["data"][0]["embedding"])
        vectors.append(vector / np.linalg.norm(vector))
    assert vectors[0] @ vectors[1] >= least


def test_large_models_of_others(tmp_path: Path) -> None:
    """Every tensor of a mixture of experts comes through, in its shape."""
    write_model(tmp_path / "f", Shape(4, experts=8))
    quantize_model(tmp_path / "f", tmp_path / "out", mix="q4_k_m")
    old, new = read(tmp_path / "f"), read(tmp_path / "out")
    assert {name: tensor.shape for name, tensor in old.tensors.items()} == {
        name: tensor.shape for name, tensor in new.tensors.items()
    }
    wrong = to_float32(new.tensors["blk.3.ffn_down_exps.weight"]) - to_float32(
        old.tensors["blk.3.ffn_down_exps.weight"]
    )
    assert np.abs(wrong).max() < 0.005
