"""Compiled tokenization against its plain truth: published patterns, merges one by one, one thread after another."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from engine.gguf import read
from engine.kernels.text import splits
from engine.tokenizer import from_metadata
from engine.tokenizer.bpe import PRE, Pre
from engine.tokenizer.compiled import classes, code_points
from tests.engine.kernels.called import called
from tests.engine.tokenizer import spm_models, test_bpe, truth
from tests.engine.tokenizer.texts import ANY_TEXT, HARD, LEARNED, mixtures, naughty

NAMES = sorted({pre: name for name, pre in PRE.items()}.values())
CUTS = sorted({pre.split: name for name, pre in PRE.items()}.values())
part_end, segment_end = called(splits.part_end), called(splits.segment_end)
CASED = [
    "HelloWorld", "helloWorld", "ABC's 'S XMLHttp's", "a/b//\n/", "\u01c5a\u01c6 \u02b0\u0301A", "1234567",
    "x\u0301Y\u0301z",
]  # fmt: skip
CLOSE = st.text("aA123 \n\r\t'sSlL/\u00e9\u00c9\u0301\u01c5\u02b0\u6f22\u017f.-", max_size=30)
"""Few characters, each of another class, so that every rule meets every other."""


def cut(pre: Pre, text: str) -> list[str]:
    split, codes, table = pre.split, code_points([text]), classes()
    parts, at, segment = [], 0, 0
    while at < len(text):
        if at >= segment:
            segment = segment_end(codes, at, len(text), table, split.family, split.digits)
        stop = part_end(codes, at, segment, table, split.family, split.digits, split.endings)
        parts.append(text[at:stop])
        at = stop
    return parts


@pytest.mark.parametrize("name", CUTS)
def test_texts_are_cut_as_the_published_patterns_say(name: str) -> None:
    check_cut(name, CASED + HARD + LEARNED + mixtures(1000))


@pytest.mark.parametrize("name", CUTS)
@settings(max_examples=150, deadline=None)
@given(text=CLOSE)
def test_any_text_is_cut_as_the_published_patterns_say(name: str, text: str) -> None:
    check_cut(name, [text])


def check_cut(name: str, texts: list[str]) -> None:
    split = truth.cutter(name).pre_tokenize_str
    for text in texts:
        assert cut(PRE[name], text) == [part for part, _ in split(text)], ascii(text)


@pytest.fixture(scope="module", params=[*NAMES, "spm"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    if request.param == "spm":
        return from_metadata(spm_models.trained(True)[1])
    found = test_bpe.metadata(test_bpe.trained(), [], tokenizer__ggml__pre=request.param)
    return from_metadata(found)


@settings(max_examples=100, deadline=None)
@given(text=st.one_of(ANY_TEXT, CLOSE))
def test_ids_are_those_of_plain_merges(tokenizer: Any, text: str) -> None:
    assert tokenizer.encode(text).tolist() == truth.plain(tokenizer, text), ascii(text)


def test_long_parts_are_merged_alike(tokenizer: Any) -> None:
    draw = random.Random(3)
    for size in (23, 24, 25, 26, 60, 400, 1000):
        text = "".join(draw.choices("the rentaymocl\u00e9".replace(" ", ""), k=size))
        assert tokenizer.encode(text).tolist() == truth.plain(tokenizer, text)


def test_parts_that_are_pieces_but_not_by_merges() -> None:
    """As llama.cpp says of Llama 3: a part that is a piece is taken as it is."""
    found = test_bpe.metadata(test_bpe.trained(), [], tokenizer__ggml__pre="dbrx")
    tokens = [*found["tokenizer.ggml.tokens"], "qzx", "\u0120qzx", "\u6f22", "qz\u00e9"]
    kinds = np.concatenate([found["tokenizer.ggml.token_type"], np.ones(4, np.int32)])
    found |= {"tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": kinds}
    whole = from_metadata(found | {"cloister.tokenizer.whole_pieces": True})
    size = len(tokens)
    assert whole.encode("qzx qzx")[1:-1].tolist() == [size - 4, size - 3]
    for text in ("qzx", "qzx qzxq", "\u6f22", "qz\u00e9", "the rent"):
        assert whole.encode(text).tolist() == truth.plain(whole, text)
        assert from_metadata(found).encode(text).max() < size - 4


def test_several_threads_at_once(tokenizer: Any) -> None:
    texts = [text * 20 for text in LEARNED]
    expected = [tokenizer.encode(text).tolist() for text in texts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert [ids.tolist() for ids in pool.map(tokenizer.encode, texts)] == expected


def test_quick(tokenizer: Any) -> None:
    """The floor is far below the three to five million tokens a second that one core reaches: machines are busy."""
    text = "\n".join(LEARNED[:5]) * 200
    tokenizer.encode(text)
    start = time.process_time()
    tokens = sum(tokenizer.count(text) for _ in range(3))
    assert tokens / (time.process_time() - start) > 300_000


@pytest.mark.parametrize(
    ("name", "pre"), [("gpt-2", "gpt-2"), ("qwen2", "qwen2"), ("llama-bpe", "llama-bpe"), ("llama-bpe", "tekken")]
)
def test_published_vocabularies_give_the_ids_of_the_package(data: Path, name: str, pre: str) -> None:
    metadata: dict[str, Any] = dict(read(data / f"tokenizers/ggml-vocab-{name}.gguf").metadata)
    ours, known = from_metadata(metadata | {"tokenizer.ggml.pre": pre}), PRE[pre]
    vocabulary = {token: number for number, token in enumerate(metadata["tokenizer.ggml.tokens"])}
    merges = [tuple(pair.split(" ")) for pair in metadata["tokenizer.ggml.merges"]]
    oracle = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=known.whole_pieces))
    to_bytes = pre_tokenizers.ByteLevel(False, use_regex=False)
    oracle.pre_tokenizer = pre_tokenizers.Sequence([truth.cutter(pre), to_bytes])
    if known.nfc:
        oracle.normalizer = normalizers.NFC()
    begin = len(ours.template.prefix)
    for text in [*HARD, *LEARNED, *mixtures(1000), *naughty(data), *documents(data)]:
        assert ours.encode(text)[begin:].tolist() == oracle.encode(text).ids, ascii(text[:200])


def documents(data: Path) -> list[str]:
    paths = sorted((data / "documents/encodings").glob("*/*.txt"))
    return [
        path.read_bytes().decode("utf-8" if at % 2 else "latin-1", "replace")[:5000] for at, path in enumerate(paths)
    ]
