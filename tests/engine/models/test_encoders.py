"""Every architecture and head against the reference, kept results of transformers, and transformers itself."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import engine
from engine.batches import Batches, Text
from engine.models import Network
from engine.models.layers import QKV_ROWS
from engine.models.weights import STACKS
from tests.encoders import write_encoder
from tests.reference.encoders import Encoder
from tests.reference.make_encoders import CASES, ROWS, TARGET, compute, inputs

Array = NDArray[Any]
TOLERANCE = 2e-5
"""Of float32 against float64; the values are of the size of 1. The greatest difference seen is 9e-6."""


def load(folder: Path, case: str, file_type: Any, **more: Any) -> engine.Model:
    name, head, config = CASES[case]
    write_encoder(folder / "hf", name, head, config | more)
    engine.import_model(folder / "hf", folder / "m.gguf", name="m", file_type=file_type)
    return engine.load(folder / "m.gguf")


def states(model: engine.Model, ids: Array, types: Array, starts: Array | None = None) -> Array:
    """The last layer [tokens, width], without the padding and out of the tiles, of texts that begin at `starts`."""
    network = model._network
    flat = network.states(ids, types, np.array([0, ids.size]) if starts is None else starts, network.scratch(ids.size))
    width = network.sizes.d_model
    rows = flat[: flat.size // (16 * width.padded) * 16 * width.padded].reshape(-1, width.padded // 16, 16, 16)
    return rows.transpose(0, 2, 1, 3).reshape(-1, width.padded)[: ids.size, width.at]


def outputs(model: engine.Model, ids: Array, types: Array) -> Array:
    """What the head computes, before it is made into probabilities."""
    rows = model._run([Text(ids, types)])[0]
    return rows[0] if model.head == "sequence" else rows


def expected(path: Path, ids: Array, types: Array) -> Array:
    reference = Encoder(path)
    head = reference.meta["cloister.head"]
    if head == "embedding":
        return reference.states(ids, types)
    return reference.sequence(ids, types) if head == "sequence" else reference.tokens(ids, types)


def cosine(a: Array, b: Array) -> float:
    return float((a.ravel() @ b.ravel()) / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("case", CASES)
def test_float32(case: str, tmp_path: Path) -> None:
    model = load(tmp_path, case, "f32")
    ids, types = inputs(CASES[case][0])
    found = states(model, ids, types) if model.head == "embedding" else outputs(model, ids, types)
    assert np.abs(found - expected(tmp_path / "m.gguf", ids, types)).max() < TOLERANCE
    kept = np.array(json.loads(TARGET.read_text())[case])
    assert np.abs((found[ROWS] if model.head == "embedding" else found) - kept).max() < TOLERANCE


@pytest.mark.parametrize("case", CASES)
def test_transformers(case: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    name, head, _ = CASES[case]
    model = load(tmp_path, case, "f32")
    ids, types = inputs(name)
    found = states(model, ids, types)[ROWS] if head == "embedding" else outputs(model, ids, types)
    assert np.abs(found - compute(tmp_path / "hf", name, head)).max() < TOLERANCE


def of_two_digits(model: engine.Model) -> Network:
    """Its network as it would be if one digit were not enough: random weights and a vocabulary of a few words, which
    the texts of the calibration are not made of, say little about that."""
    network = model._network
    return replace(network, arrays=network.arrays | {f"{name}.digits": np.array([2], np.int8) for name in STACKS})


@pytest.mark.parametrize("case", CASES)
def test_whole_numbers(case: str, tmp_path: Path) -> None:
    model = load(tmp_path, case, "q8_0")
    assert not model._network.exact
    ids, types = inputs(CASES[case][0])
    for network, least in ((model._network, 0.99), (of_two_digits(model), 0.998)):
        model._network, model._batches = network, Batches(network, model._readout)
        found = states(model, ids, types) if model.head == "embedding" else outputs(model, ids, types)
        assert cosine(found, expected(tmp_path / "m.gguf", ids, types)) > least


@pytest.mark.parametrize(
    ("case", "config"),
    [
        ("nomic_bert embedding", {"max_trained_positions": 400}),
        ("nomic_bert embedding", {"max_trained_positions": 400, "n_head": 2}),
        ("modernbert embedding", {"max_position_embeddings": 400}),
        ("modernbert embedding", {"max_position_embeddings": 400, "num_attention_heads": 1}),
        ("modernbert embedding", {"max_position_embeddings": 400, "local_attention": 3}),
        ("modernbert embedding", {"max_position_embeddings": 400, "local_attention": 100_000}),
        ("modernbert embedding", {"num_hidden_layers": 1, "max_position_embeddings": 400}),
        ("bert embedding", {"max_position_embeddings": 400}),
    ],
    ids=str,
)
def test_a_text_of_several_blocks(case: str, config: dict[str, Any], tmp_path: Path) -> None:
    model = load(tmp_path, case, "f32", **config)
    assert model.context == 400
    rng = np.random.default_rng(2)
    ids, types = rng.integers(4, 80, 300, dtype=np.int32), np.zeros(300, np.int32)
    found = states(model, ids, types)
    assert np.abs(found - expected(tmp_path / "m.gguf", ids, types)).max() < 5 * TOLERANCE  # of twelve times the values


@pytest.mark.parametrize("case", ["bert embedding", "nomic_bert embedding", "modernbert embedding"])
def test_texts_beside_each_other_have_the_bits_that_they_have_alone(case: str, tmp_path: Path) -> None:
    """Texts that end before, at and after the rows that are made together, and one of more than these."""
    key = "max_trained_positions" if case.startswith("nomic") else "max_position_embeddings"
    model, rng = load(tmp_path, case, "q8_0", **{key: 400}), np.random.default_rng(3)
    for sizes in ([3, 130, 1, 300, 7], [QKV_ROWS] * 2, [QKV_ROWS - 1, 1, 1, QKV_ROWS - 1], [16] * 20):
        starts = np.cumsum([0, *sizes])
        ids = rng.integers(4, 80, starts[-1], dtype=np.int32)
        types = np.zeros(ids.size, np.int32)
        together = states(model, ids, types, starts)
        for first, end in pairwise(starts):
            assert np.array_equal(states(model, ids[first:end], types[first:end]), together[first:end])


def test_biases_and_shifts_where_a_model_has_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    flags = ("norm_bias", "attention_bias", "mlp_bias", "classifier_bias")
    sizes = {"attn_norm": 32, "mlp_norm": 32, "attn.Wqkv": 96, "attn.Wo": 32, "mlp.Wi": 96, "mlp.Wo": 32}
    names = {f"model.layers.{i}.{part}": size for i in range(4) for part, size in sizes.items()}
    names |= dict.fromkeys(("model.embeddings.norm", "model.final_norm", "head.dense", "head.norm"), 32)
    del names["model.layers.0.attn_norm"]
    biases = {f"{name}.bias": rng.standard_normal(size).astype(np.float32) for name, size in names.items()}
    write_encoder(tmp_path / "hf", "modernbert", "tokens", dict.fromkeys(flags, True), biases)
    engine.import_model(tmp_path / "hf", tmp_path / "m.gguf", name="m", file_type="f32")
    ids, types = inputs("modernbert")
    found = outputs(engine.load(tmp_path / "m.gguf"), ids, types)
    assert np.abs(found - expected(tmp_path / "m.gguf", ids, types)).max() < TOLERANCE


def test_other_types_of_the_same_weights(tmp_path: Path) -> None:
    """Down to four bits, against the reference with the weights that the file has."""
    write_encoder(tmp_path / "hf", "nomic_bert")
    engine.import_model(tmp_path / "hf", tmp_path / "f32", name="m", file_type="f32")
    for mix in ("q4_0", "q5_1", "f16"):
        engine.quantize_model(tmp_path / "f32", tmp_path / mix, mix=mix)
        model = engine.load(tmp_path / mix)
        model._network = of_two_digits(model)
        ids, types = inputs("nomic_bert")
        assert cosine(states(model, ids, types), expected(tmp_path / mix, ids, types)) > 0.995
