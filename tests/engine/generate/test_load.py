"""A model file to a language model, and what its answers are."""

import resource
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.generate.constraint.grammar import Grammars
from engine.gguf import GgmlType, read
from engine.models import decoders
from tests.decoders import tokenizer, write_decoder
from tests.models import WORDS
from tests.reference.generation import Writer

TEXT = " ".join(["the rent is paid on the first of a month", *WORDS])
SCHEMA = {
    "type": "object",
    "properties": {"rent": {"type": "string"}, "paid": {"type": ["boolean", "null"]}},
    "required": ["rent", "paid"],
    "additionalProperties": False,
}
SPECS = [
    None,
    engine.Choice(("rent", "lease")),
    engine.Pattern("[0-9]{3}"),
    engine.Schema(SCHEMA, {"/properties/rent": TEXT}),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_decoder(tmp_path_factory.mktemp("decoder") / "m.gguf", "llama", GgmlType.Q8_0)


@pytest.fixture(scope="module")
def model(path: Path) -> engine.LanguageModel:
    return engine.load_decoder(path, cache_mib=16)


def requests(model: engine.LanguageModel) -> list[engine.Request]:
    found = []
    for i, spec in enumerate(SPECS * 3):
        prompt = model.prompt(
            [{"role": "system", "content": TEXT[:40]}, {"role": "user", "content": TEXT[i : 2 * i + 20]}]
        )
        found.append(engine.Request(prompt, 40, constraint=spec))
    choices = tuple(np.array(ids, np.int32) for ids in ([5, 6, 7], [5, 6, 9], [8]))
    return [*found, engine.Request(found[0].prompt, 0, choices=choices)]


def test_answers_are_those_of_one_request_after_another(model: engine.LanguageModel, path: Path) -> None:
    words = model._words
    makes = Grammars(words.token_bytes, words.end_ids, words.encode_within)  # type: ignore[attr-defined, arg-type]
    slow = Writer(decoders.load(read(path), lambda make: make(), 1), words.token_bytes, words.end_ids, makes.make)
    asked = requests(model)
    for index, found in model.generate(asked):
        expected = slow.answer(asked[index])
        assert (found.finish, found.reason, found.text) == (expected.finish, expected.reason, expected.text)
        for name in ("ids", "logprobs", "offsets", "scores"):
            assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    assert model.counters.shared > 0
    assert model.counters.forced > 0


def test_what_it_says_of_itself(model: engine.LanguageModel, path: Path) -> None:
    assert model.context == 256
    assert model.sha256 == read(path).sha256
    assert model.facts["architecture"] == "llama"
    assert model.facts["kv"] == "float16"
    assert len(model.tokenizer_sha256) == 64


def test_keys_and_values_of_8_bits(path: Path) -> None:
    small = engine.load_decoder(path, cache_mib=1, kv="int8")
    assert {done.finish for _, done in small.generate(requests(small))} <= {"stopped", "length"}
    assert small.facts["kv"] == "int8"
    with pytest.raises(engine.EngineError, match="kv: found 'int4', expected one of float16, int8"):
        engine.load_decoder(path, kv="int4")
    with pytest.raises(engine.EngineError, match="cache_mib: found 0 MiB"):
        engine.load_decoder(path, cache_mib=0)


def test_memory_is_taken_as_it_is_written(path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    many = decoders.load(read(path), lambda make: make(), 1).pages(50_000)
    assert many.bytes_per_page * many.count > 256 << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_a_head_and_what_loads_it(path: Path, tiny_model: Path) -> None:
    assert engine.head_of(path) == "text"
    assert engine.head_of(tiny_model) == "embedding"
    with pytest.raises(
        engine.UnsupportedModel, match=r"m\.gguf: architecture 'llama' .* engine\.load_decoder loads it"
    ):
        engine.load(path)
    with pytest.raises(engine.UnsupportedModel, match="architecture 'bert', expected one of llama"):
        engine.load_decoder(tiny_model)


def test_more_tokens_than_rows(tmp_path: Path) -> None:
    keys = tokenizer()
    more = {
        "tokenizer.ggml.tokens": [*keys["tokenizer.ggml.tokens"], "more"],
        "tokenizer.ggml.scores": np.append(keys["tokenizer.ggml.scores"], np.float32(-9)),
        "tokenizer.ggml.token_type": np.append(keys["tokenizer.ggml.token_type"], np.int32(1)),
    }
    wrong = write_decoder(tmp_path / "m.gguf", "llama", metadata=more)
    with pytest.raises(engine.BadModelFile):
        engine.load_decoder(wrong)


def test_a_text_that_other_software_wrote(data: Path) -> None:
    folder = data / "models" / "stories260K"
    expected = (folder / "GOLDEN-greedy-t0.txt").read_text().rstrip("\n")
    model = engine.load_decoder(folder / "stories260K-f32.gguf", cache_mib=64)
    ((_, found),) = model.generate([engine.Request(np.ones(1, np.int32), 256)])
    assert len(expected) == 565
    assert found.text.removeprefix(" ").startswith(expected)
