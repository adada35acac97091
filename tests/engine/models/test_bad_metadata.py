"""Every key and tensor of a decoder's file, missing or with values of many kinds: read, or refused in one message."""

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.gguf import read
from engine.models.decoders import read_shape
from tests.decoders import pieces, write_decoder

ARRAY, TEXTS = np.array([np.nan, 1, 2], np.float32), ["a"] * 3000
VALUES: list[Any] = [
    None, 0, 1, 2, 7, np.int32(-1), np.int64(-(2**63)), 2**32 - 1, np.uint64(2**64 - 1), 0.0, -1.0, 0.5, 1e38,
    float("nan"), float("inf"), np.float64(1e300), "", "x\n\u202e" * 50, True, [], TEXTS, ARRAY, ARRAY[:0],
    np.arange(5, dtype=np.int16), np.array([True, False]),
]  # fmt: skip
MORE = [
    "rope.scaling.type", "rope.scaling.factor", "rope.scaling.original_context_length", "rope.scaling.attn_factor",
    "rope.scaling.yarn_beta_fast", "rope.freq_base_swa", "attention.scale", "embedding_scale", "logit_scale",
    "attn_logit_softcapping", "final_logit_softcapping", "attention.sliding_window", "attention.causal",
    "attention.sliding_window_pattern", "attention.key_length", "attention.value_length", "expert_count",
]  # fmt: skip
OTHERS = [
    "tokenizer.ggml.merges", "tokenizer.ggml.pre", "tokenizer.ggml.eot_token_id", "tokenizer.chat_template",
    "tokenizer.ggml.add_space_prefix", "cloister.tokenizer.prefix", "general.type", "split.count",
]  # fmt: skip
CASES = ["llama yarn", "phi3 long", "gemma3", "qwen3moe", "granite"]
WORDS = [pieces()[:-1], [*pieces(), "more"], [""] * len(pieces()), ["a"] * len(pieces()), [*pieces()[:-1], ""]]


@pytest.fixture(scope="module", autouse=True)
def compiled(tiny_decoder: Path) -> None:
    """What reads a vocabulary, before anything is timed."""
    engine.examine(tiny_decoder)


def refused(path: Path) -> bool:
    """Whether; by one message that names the file, soon."""
    began = time.process_time()
    try:
        engine.examine(path)
    except (engine.BadModelFile, engine.UnsupportedModel) as error:
        told = f"{error}"
        assert told.startswith(f"{path}: ")
        assert told.isprintable()
        assert len(told) < 700
        return True
    finally:
        assert time.process_time() - began < 2
    return False


@pytest.mark.parametrize("case", CASES)
def test_keys(case: str, tmp_path: Path) -> None:
    chance, path = random.Random(case), tmp_path / "m.gguf"
    found = read(write_decoder(path, case)).metadata
    names = [f"{found['general.architecture']}.{name}" for name in MORE]
    count = 0
    for key in [*found, *names, *OTHERS]:
        for value in [None, chance.choice(VALUES)]:
            write_decoder(path, case, metadata={key: value})
            count += refused(path)
    assert count > len(found)


@pytest.mark.parametrize("case", ["phi3 long", "qwen2"])
def test_tensors(case: str, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    tensors = {
        tensor.name: np.zeros(tensor.shape, np.float32) for tensor in read(write_decoder(path, case)).tensors.values()
    }
    for name, value in tensors.items():
        wrong = [None, value[None], value[..., :-1]]
        for each in wrong if "blk.1" in name or "blk" not in name else wrong[:1]:
            write_decoder(path, case, tensors={name: each})
            assert refused(path) or (each is None and name == "output.weight") or "short" in name, name


def test_vocabularies(tmp_path: Path) -> None:
    for words in WORDS:
        assert refused(write_decoder(tmp_path / "m.gguf", "llama", metadata={"tokenizer.ggml.tokens": words}))
    for value in (np.nan, np.inf):
        scores = np.full(len(pieces()), value, np.float32)
        assert refused(write_decoder(tmp_path / "m.gguf", "llama", metadata={"tokenizer.ggml.scores": scores}))


def test_a_file_cut_anywhere(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "m.gguf", "llama")
    whole = path.read_bytes()
    for size in [*range(0, len(whole), len(whole) // 30), len(whole) - 1]:
        path.write_bytes(whole[:size])
        assert refused(path)


def test_parts_of_models(tmp_path: Path) -> None:
    for key, value, told in (
        ("split.count", np.uint16(2), "found 2, expected 1: .*gguf-split --merge"),
        ("general.type", "adapter", "found 'adapter', expected 'model'"),
    ):
        path = write_decoder(tmp_path / "m.gguf", "llama", metadata={key: value})
        for load in (engine.examine, engine.load_decoder, engine.head_of):
            with pytest.raises(engine.UnsupportedModel, match=f"m.gguf: {key}: {told}"):
                load(path)


def test_positions_that_stretch_without_saying_so(tmp_path: Path) -> None:
    """Files of Phi 3 and 4 have the factors, but not the type; of no type, llama.cpp takes a factor as linear."""
    for case, prefix in (("phi3 long", "phi3"), ("llama linear", "llama")):
        said = read_shape(read(write_decoder(tmp_path / "a", case)))
        unsaid = read_shape(read(write_decoder(tmp_path / "b", case, metadata={f"{prefix}.rope.scaling.type": None})))
        plain = write_decoder(tmp_path / "c", prefix)
        assert said.rotation == unsaid.rotation != read_shape(read(plain)).rotation
