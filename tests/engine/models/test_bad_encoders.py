"""Files of every architecture and head that do not hold what they should: refused by name, at once, using little."""

import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import gguf
from engine.gguf import GgmlType, TensorSource
from tests.encoders import write_encoder

Change = Callable[..., Path]
ARCH = {"bert": "bert", "nomic_bert": "nomic-bert", "modernbert": "modern-bert"}
HUGE = 2**32 - 1
ROOM = 1 << 30
"""Bytes that loading may take, mapped ones included, besides what the process of all these tests has already."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """A good file of an architecture and head."""
    folder = tmp_path_factory.mktemp("good")

    def model(name: str, head: str) -> Path:
        path = folder / f"{name}-{head}.gguf"
        if not path.exists():
            engine.import_model(write_encoder(folder / path.stem, name, head), path, name="m", file_type="q8_0")
        return path

    return model


@pytest.fixture
def change(models: Callable[[str, str], Path], tmp_path: Path) -> Change:
    """Writes a good file with other metadata and tensors; None removes one."""

    def write(
        name: str, head: str, metadata: dict[str, Any] | None = None, tensors: dict[str, Any] | None = None
    ) -> Path:
        file = gguf.read(models(name, head))
        sources = {name: TensorSource(name, t.type, t.shape, lambda t=t: [t.data]) for name, t in file.tensors.items()}
        for key, values in (tensors or {}).items():
            sources.pop(key, None)
            if values is not None:
                data = values.astype(np.float32).reshape(-1).view(np.uint8)
                sources[key] = TensorSource(key, GgmlType.F32, values.shape, lambda data=data: [data])
        changed = {key.replace("ARCH", ARCH[name]): value for key, value in (metadata or {}).items()}
        merged = {key: value for key, value in (file.metadata | changed).items() if value is not None}
        gguf.write(tmp_path / "changed.gguf", merged, list(sources.values()))
        return tmp_path / "changed.gguf"

    return write


@pytest.fixture(autouse=True)
def _nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that an older version made of the same file would hide what is refused now."""
    monkeypatch.setenv("CLOISTER_CACHE", str(tmp_path / "cache"))


def refuse(path: Path, error: type[engine.EngineError], message: str) -> None:
    begun, before = time.process_time(), resource.getrlimit(resource.RLIMIT_AS)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ROOM, before[1]))
    try:
        with pytest.raises(error, match=message):
            engine.load(path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert time.process_time() - begun < 5


SIZES = [
    ({"ARCH.block_count": 0}, "found 0 blocks"),
    ({"ARCH.block_count": HUGE}, "found 4294967295 blocks"),
    ({"ARCH.block_count": 9}, r"no tensor blk\.[34]\."),
    ({"ARCH.block_count": None}, "no metadata key .*block_count"),
    ({"ARCH.block_count": np.int32(-1)}, "found -1 blocks"),
    ({"ARCH.attention.head_count": 5}, "with 5 heads"),
    ({"ARCH.attention.head_count": 32}, "with 32 heads, .* the halves of heads divide"),
    ({"ARCH.attention.head_count": HUGE}, "with 4294967295 heads"),
    ({"ARCH.embedding_length": HUGE - 3, "ARCH.attention.head_count": 1}, "token_embd.weight has the shape"),
    ({"ARCH.embedding_length": 64}, "token_embd.weight has the shape"),
    ({"ARCH.feed_forward_length": HUGE}, "ffn_(gate|up).weight has the shape"),
    ({"ARCH.feed_forward_length": 24}, "ffn_(gate|up).weight has the shape"),
    ({"ARCH.attention.layer_norm_epsilon": 2.0}, "epsilon 2.0, expected one between 0 and 1"),
    ({"ARCH.attention.layer_norm_epsilon": float("nan")}, "epsilon nan"),
    ({"ARCH.rope.freq_base": 0.5}, "rope.freq_base: found 0.5, expected a number from 1 on"),
    ({"ARCH.rope.freq_base": float("inf")}, "rope.freq_base: found inf"),
    ({"ARCH.rope.freq_base": float("nan")}, "rope.freq_base: found nan"),
    ({"ARCH.rope.freq_base": 10_000}, "rope.freq_base: found int 10000, expected float"),
    ({"ARCH.rope.freq_base": None}, "no metadata key .*rope.freq_base"),
]


@pytest.mark.parametrize("name", ["nomic_bert", "modernbert"])
@pytest.mark.parametrize(("metadata", "message"), SIZES)
def test_sizes_that_do_not_fit(name: str, metadata: dict[str, Any], message: str, change: Change) -> None:
    refuse(change(name, "embedding", metadata), engine.BadModelFile, message)


@pytest.mark.parametrize(
    ("name", "metadata", "error", "message"),
    [
        ("nomic_bert", {"ARCH.context_length": HUGE}, engine.UnsupportedModel, "found 4294967295, expected at"),
        ("modernbert", {"ARCH.context_length": 131_073}, engine.UnsupportedModel, "context_length: found 131073"),
        ("modernbert", {"ARCH.attention.causal": True}, engine.UnsupportedModel, "modern-bert.attention.causal is set"),
        ("nomic_bert", {"ARCH.pooling_type": 3}, engine.UnsupportedModel, "found the pooling type 3, expected 1"),
        ("modernbert", {"ARCH.attention.sliding_window": 1}, engine.UnsupportedModel, "found 1, expected at least 2"),
        ("modernbert", {"ARCH.attention.sliding_window": None}, engine.BadModelFile, "no metadata key"),
        ("modernbert", {"ARCH.attention.sliding_window_pattern": 0}, engine.BadModelFile, "pattern: found 0"),
        ("modernbert", {"ARCH.attention.sliding_window_pattern": np.int32(-3)}, engine.BadModelFile, "found -3"),
        ("modernbert", {"ARCH.rope.freq_base_swa": -1.0}, engine.BadModelFile, "freq_base_swa: found -1.0"),
        ("bert", {"cloister.head": "causal"}, engine.UnsupportedModel, "cloister.head: found 'causal', expected"),
        ("bert", {"cloister.head": 7}, engine.UnsupportedModel, "cloister.head: found 7"),
        ("bert", {"cloister.head": "tokens"}, engine.BadModelFile, "no metadata key bert.classifier.output_labels"),
    ],
)  # fmt: skip
def test_metadata_of_each(
    name: str, metadata: dict[str, Any], error: type[engine.EngineError], message: str, change: Change
) -> None:
    refuse(change(name, "embedding", metadata), error, message)


HEADS: list[tuple[str, str, dict[str, Any], dict[str, Any], type[engine.EngineError], str]] = [
    ("bert", "sequence", {"ARCH.classifier.output_labels": ["a", "b"]}, {}, engine.BadModelFile,
     r"cls.output.weight has the shape \(3, 32\), expected \(2, 32\)"),
    ("bert", "sequence", {"ARCH.classifier.output_labels": ["a"] * 65_537}, {}, engine.BadModelFile, "found 65537"),
    ("bert", "span", {"ARCH.classifier.output_labels": ["a", "b", "c"]}, {}, engine.BadModelFile, "found 3, expected"),
    ("bert", "sequence", {"ARCH.classifier.pooling_type": 3}, {}, engine.UnsupportedModel, "pooling type 3"),
    ("bert", "sequence", {"ARCH.classifier.pooling_type": None}, {}, engine.BadModelFile, "classifier.pooling_type"),
    ("bert", "sequence", {"cloister.head.scores": "max"}, {}, engine.UnsupportedModel, "scores: found 'max', expected"),
    ("bert", "sequence", {"cloister.head.scores": None}, {}, engine.BadModelFile, "no metadata key cloister"),
    ("bert", "sequence", {"cloister.head.activation": "relu"}, {}, engine.UnsupportedModel, "activation: found 'relu'"),
    ("bert", "sequence", {"cloister.head.activation": None}, {}, engine.BadModelFile, "cloister.head.activation"),
    ("bert", "tokens", {"cloister.head.activation": "tanh"}, {}, engine.BadModelFile, "no tensor cls.weight"),
    ("bert", "sequence", {}, {"cls.weight": None}, engine.BadModelFile, "no tensor cls.weight"),
    ("modernbert", "tokens", {}, {"cls.norm.weight": np.ones(31)}, engine.BadModelFile, "norm.weight has the shape"),
    ("modernbert", "span", {}, {"cls.output.bias": None}, engine.BadModelFile, "no tensor cls.output.bias"),
    ("modernbert", "span", {}, {"cls.bias": np.full(32, np.nan)}, engine.BadModelFile, "cls.bias holds values"),
    ("bert", "tokens", {}, {"cls.output.weight": np.full((3, 32), np.inf)}, engine.BadModelFile, "output.weight holds"),
    ("bert", "span", {}, {"token_types.weight": np.ones((1, 32))}, engine.BadModelFile,
     "second_type: found the token type 1 for second texts, expected one of 1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "head", "metadata", "tensors", "error", "message"), HEADS)
def test_heads(
    name: str, head: str, metadata: dict[str, Any], tensors: dict[str, Any], error: type[engine.EngineError],
    message: str, change: Change,
) -> None:  # fmt: skip
    refuse(change(name, head, metadata, tensors), error, message)


@pytest.mark.parametrize("name", ["nomic_bert", "modernbert"])
def test_every_tensor_missing_of_another_shape_or_not_finite(
    name: str, change: Change, models: Callable[[str, str], Path]
) -> None:
    tensors = gguf.read(models(name, "sequence")).tensors
    for tensor, shape in ((tensor.name, tensor.shape) for tensor in tensors.values() if "blk.1" not in tensor.name):
        refuse(change(name, "sequence", tensors={tensor: None}), engine.BadModelFile, "no tensor|no metadata")
        for values in (np.ones([n + 1 for n in shape]), np.ones([1, *shape]), np.ones([1])):
            refuse(change(name, "sequence", tensors={tensor: values}), engine.BadModelFile, "has the shape")
        broken = np.ones(shape)
        broken.reshape(-1)[-1] = np.nan
        refuse(change(name, "sequence", tensors={tensor: broken}), engine.BadModelFile, "values that are not finite")


def test_tensors_that_would_be_left_out(change: Change) -> None:
    extra = {"blk.0.attn_norm.weight": np.ones(32)}
    refuse(change("modernbert", "embedding", tensors=extra), engine.UnsupportedModel, "found blk.0.attn_norm.weight")
    some = {"blk.1.ffn_up.bias": np.ones(96)}
    refuse(change("modernbert", "embedding", tensors=some), engine.BadModelFile, "no tensor blk.0.ffn_up.bias")


@pytest.mark.parametrize("name", ["bert", "nomic_bert", "modernbert"])
def test_types_may_be_mixed(name: str, change: Change) -> None:
    """Some matrices in float32, others not: slower, and right."""
    expected = engine.load(change(name, "embedding")).embed(["the lease", "due"])
    for tensor, columns in (("ffn_down", 48), ("attn_output", 32)):
        layers = range(4 if name == "modernbert" else 3)
        wide = {f"blk.{i}.{tensor}.weight": np.ones((32, columns)) / 50 for i in layers}
        found = engine.load(change(name, "embedding", tensors=wide)).embed(["the lease", "due"])
        assert np.isfinite(found).all()
        assert found.shape == expected.shape


OVERFLOWS = [
    {"blk.0.attn_output_norm.weight": np.full(32, 3e38)},
    {
        **{f"blk.{i}.ffn_gate.bias": np.full(48, 3e38) for i in range(3)},
        **{f"blk.{i}.ffn_up.bias": np.full(48, 3e38) for i in range(3)},
    },
]


@pytest.mark.parametrize("tensors", OVERFLOWS, ids=lambda tensors: next(iter(tensors)))
def test_an_overflow_on_the_way_is_never_an_answer(tensors: dict[str, Any], change: Change) -> None:
    with pytest.raises(engine.EngineError, match="not finite"):
        engine.load(change("nomic_bert", "sequence", tensors=tensors)).classify(["the lease"])
