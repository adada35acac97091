"""llama.cpp loads the imported file, cuts texts into the same tokens, and computes the original model's embeddings.

Runs where llama-cpp-python is installed (the `bench` extra) and, for the real model, where its folder is at hand. Its
Q8_0 also rounds the activations to 8 bits, which costs more than the weights: the shortest text of these comes out at
0.998. Its GELU is the approximation by tanh, which makes most of the difference in F32.
"""

from pathlib import Path

import numpy as np
import pytest

from engine.convert import import_model
from engine.gguf import read
from engine.tokenizer import Tokenizer, from_metadata
from tests.encoders import CONFIGS, write_encoder
from tests.reference.bert import Reference
from tests.reference.encoders import Encoder

llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")

TEXTS = [
    "The tenant shall pay the rent on the first day of each month.",
    "Invoice no. 2026-0417: the total amount due is €1,234.56, payable within 30 days.",
    "Führerschein, naïve café, 東京 ½",
    "ok",
    "This agreement is made between the parties named below; neither of them may disclose what it learns. " * 8,
]


@pytest.fixture(scope="module")
def reference(minilm: Path) -> Reference:
    return Reference(minilm)


@pytest.mark.parametrize(("file_type", "least"), [("f32", 0.99999), ("f16", 0.9999), ("q8_0", 0.997)])
def test_llama_cpp_computes_the_original(
    minilm: Path, reference: Reference, tmp_path: Path, file_type: str, least: float
) -> None:
    path = tmp_path / "model.gguf"
    import_model(minilm, path, name="minilm", file_type=file_type)
    ours: Tokenizer = from_metadata(read(path).metadata)
    theirs = llama_cpp.Llama(str(path), embedding=True, verbose=False, n_ctx=512, n_threads=1)
    assert theirs.metadata["general.name"] == "minilm"
    for text in TEXTS:
        ids = ours.encode(text)
        assert theirs.tokenize(text.encode()) == ids.tolist()
        found = np.array(theirs.create_embedding(text)["data"][0]["embedding"])
        cosine = float(found @ reference.embed(ids)) / np.linalg.norm(found)
        assert cosine >= least, (text, cosine)


def open_model(path: Path) -> "llama_cpp.Llama":
    return llama_cpp.Llama(str(path), embedding=True, verbose=False, n_ctx=40, n_batch=40, n_ubatch=40, n_threads=1)


@pytest.mark.parametrize("name", CONFIGS)
def test_llama_cpp_loads_every_kind_of_encoder(tmp_path: Path, name: str) -> None:
    import_model(write_encoder(tmp_path / "hf", name), tmp_path / "f", name="x", file_type="f32")
    ours, reference, theirs = (
        from_metadata(read(tmp_path / "f").metadata),
        Encoder(tmp_path / "f"),
        open_model(tmp_path / "f"),
    )
    for text in ("the rent, in advance", "the  tenant pays é 7"):
        ids = ours.encode(text)
        assert theirs.tokenize(text.encode()) == ids.tolist()
        found = np.array(theirs.create_embedding(text)["data"][0]["embedding"])
        assert np.abs(found / np.linalg.norm(found) - reference.embed(ids)).max() < 1e-3


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "nomic_bert"])  # it knows no head of that
def test_llama_cpp_computes_outputs_for_texts(tmp_path: Path, name: str) -> None:
    import_model(write_encoder(tmp_path / "hf", name, "sequence"), tmp_path / "f", name="x", file_type="f32")
    ids = from_metadata(read(tmp_path / "f").metadata).encode("the rent, in advance")
    found = np.array(open_model(tmp_path / "f").create_embedding("the rent, in advance")["data"][0]["embedding"])
    expected = Encoder(tmp_path / "f").sequence(ids)
    assert np.abs(found[: expected.size] - expected).max() < 0.01  # the rest is not the head's
