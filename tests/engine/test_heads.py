"""Classifiers of texts and tokens, and answers: what a caller gets, and what is refused."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from tests.encoders import write_encoder
from tests.reference.encoders import Encoder

Make = Callable[..., engine.Model]
TEXTS = ["", "the lease", "rechnung 17, due: 3,40", " the\tdate \n of it "]
QUESTION = "what?"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A model of this architecture with this head; `config` changes its config.json."""

    def of(name: str, head: str, file_type: Any = "f32", **config: Any) -> engine.Model:
        folder = write_encoder(tmp_path / f"{name} {head}", name, head, config)
        engine.import_model(folder, tmp_path / "m.gguf", name="m", file_type=file_type)
        return engine.load(tmp_path / "m.gguf")

    return of


def softmax(x: np.ndarray) -> np.ndarray:
    shares = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(shares / shares.sum(-1, keepdims=True))


@pytest.mark.parametrize("name", ["bert", "xlm-roberta", "nomic_bert", "modernbert"])
def test_classify(name: str, make: Make, tmp_path: Path) -> None:
    model, reference = make(name, "sequence"), Encoder(tmp_path / "m.gguf")
    assert (model.head, model.labels) == ("sequence", ("label 0", "label 1", "label 2"))
    found = model.classify(TEXTS)
    assert (found.shape, found.dtype) == ((4, 3), np.float32)
    for text, row in zip(TEXTS, found, strict=True):
        assert np.abs(row - softmax(reference.sequence(model._tokenizer.encode(text)))).max() < 1e-5
    assert model.classify([]).shape == (0, 3)


@pytest.mark.parametrize("name", ["bert", "roberta", "nomic_bert", "modernbert"])
def test_pairs_of_texts(name: str, make: Make, tmp_path: Path) -> None:
    model, reference = make(name, "sequence"), Encoder(tmp_path / "m.gguf")
    pairs = [(QUESTION, text) for text in TEXTS]
    for pair, row in zip(pairs, model.classify(pairs), strict=True):
        encoding = model._tokenizer.encode_pair(*pair)
        assert encoding.types.any() == (name != "roberta")
        types = np.minimum(encoding.types, 0 if name == "modernbert" else 1)
        assert np.abs(row - softmax(reference.sequence(encoding.ids, types))).max() < 1e-5
    assert model.classify([QUESTION, pairs[1]]).tobytes() == model.classify([pairs[1], QUESTION])[::-1].tobytes()


@pytest.mark.parametrize(
    ("config", "scores"),
    [
        ({"problem_type": "multi_label_classification"}, lambda x: 1 / (1 + np.exp(-x))),
        ({"problem_type": "regression"}, lambda x: x),
        ({"id2label": {"0": "relevant"}}, lambda x: 1 / (1 + np.exp(-x))),
    ],
)
def test_what_makes_scores(config: dict[str, Any], scores: Any, make: Make, tmp_path: Path) -> None:
    model, reference = make("bert", "sequence", **config), Encoder(tmp_path / "m.gguf")
    for text, row in zip(TEXTS, model.classify(TEXTS), strict=True):
        assert np.abs(row - scores(reference.sequence(model._tokenizer.encode(text)))).max() < 1e-5


@pytest.mark.parametrize("name", ["bert", "xlm-roberta", "nomic_bert", "modernbert"])
def test_tag(name: str, make: Make, tmp_path: Path) -> None:
    model, reference = make(name, "tokens"), Encoder(tmp_path / "m.gguf")
    assert model.head == "tokens"
    found = model.tag(TEXTS)
    assert [offsets.shape[0] for offsets, _ in found] == [n - 2 for n in model.count_tokens(TEXTS)]
    for text, (offsets, probabilities) in zip(TEXTS, found, strict=True):
        assert (offsets.dtype, probabilities.dtype) == (np.int32, np.float32)
        assert probabilities.shape == (len(offsets), 3)
        expected = softmax(reference.tokens(model._tokenizer.encode(text)))[1:-1]
        assert np.abs(probabilities - expected).max(initial=0) < 2e-5
        pieces = "".join(text[start:end] for start, end in offsets)
        assert set(pieces) == set(text) - set(" \t\n")
    assert model.tag([]) == []


@pytest.mark.parametrize("name", ["bert", "xlm-roberta", "modernbert"])
def test_answer(name: str, make: Make, tmp_path: Path) -> None:
    model, reference = make(name, "span"), Encoder(tmp_path / "m.gguf")
    assert (model.head, model.labels) == ("span", ("start", "end"))
    for text, answer in zip(TEXTS, model.answer(QUESTION, TEXTS), strict=True):
        encoding = model._tokenizer.encode_pair(QUESTION, text)
        types = encoding.types * (name == "bert")
        inside = np.flatnonzero(encoding.offsets[:, 0] >= 0)
        starts, ends = softmax(reference.tokens(encoding.ids, types)[np.concatenate([[0], inside])].T)
        assert answer.no_answer == pytest.approx(starts[0] * ends[0], abs=1e-5)
        products = np.triu(np.outer(starts[1:], ends[1:]))
        assert answer.score == pytest.approx(products.max(initial=0), abs=1e-5)
        if inside.size:
            first, last = np.unravel_index(products.argmax(), products.shape)
            spans = encoding.offsets[inside]
            assert (answer.start, answer.end) == (spans[first, 0], spans[last, 1])
        else:
            assert (answer.start, answer.end, answer.score) == (0, 0, 0)
        assert answer.found == (answer.score > answer.no_answer)
        assert 0 <= answer.start <= answer.end <= len(text)
    assert model.answer(QUESTION, []) == []


def test_every_batch_gives_the_same(make: Make) -> None:
    texts = [*TEXTS, "the " * 30, "due"]
    for name, head in (("modernbert", "tokens"), ("nomic_bert", "sequence"), ("bert", "span")):
        model = make(name, head, "q8_0")
        ask: Any = getattr(model, {"tokens": "tag", "sequence": "classify", "span": "answer"}[head])
        ask = partial(ask, "due?") if head == "span" else ask
        some = texts if head != "span" else texts[:4]
        together = ask(some)
        for text, found in zip(some, together, strict=True):
            alone = ask([text])[0]
            assert all(np.array_equal(a, b) for a, b in zip(alone, found, strict=True)) if head == "tokens" else (
                np.array_equal(alone, found)
            )  # fmt: skip


def test_another_head_is_refused(make: Make) -> None:
    model = make("bert", "sequence")
    for call, message in [
        (lambda: model.embed([""]), "has the head 'sequence', for classify; embed needs the head 'embedding'"),
        (lambda: model.tag([""]), "tag needs the head 'tokens'"),
        (lambda: model.answer("", [""]), "answer needs the head 'span'"),
    ]:
        with pytest.raises(engine.UnsupportedModel, match=message):
            call()
    model = make("bert", "embedding")
    assert (model.head, model.labels) == ("embedding", ())
    with pytest.raises(engine.UnsupportedModel, match="has the head 'embedding', for embed; classify needs"):
        model.classify(["a"])


def test_nothing_is_cut(make: Make) -> None:
    long = "a " * 60
    with pytest.raises(engine.InputTooLong, match="text 1 has 62 tokens, the model takes 40"):
        make("bert", "tokens").tag(["a", long])
    with pytest.raises(engine.InputTooLong, match="text 0 has 63 tokens, the model takes 40"):
        make("nomic_bert", "sequence").classify([("", long)])
    with pytest.raises(engine.InputTooLong, match="text 1 has 64 tokens"):
        make("bert", "span").answer("a", ["", long])
