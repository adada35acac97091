"""llama.cpp loads the imported file, cuts texts into the same tokens, and computes the original model's embeddings.

Runs where llama-cpp-python is installed (the `bench` extra) and the original model's folder is at hand. Its Q8_0 also
rounds the activations to 8 bits, which costs more than the weights: the shortest text of these comes out at 0.998.
"""

import json
from math import erf
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.convert import import_model, safetensors
from engine.convert.folder import SourceFolder
from engine.gguf import read
from engine.tokenizer import Tokenizer, from_metadata

llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")

TEXTS = [
    "The tenant shall pay the rent on the first day of each month.",
    "Invoice no. 2026-0417: the total amount due is €1,234.56, payable within 30 days.",
    "Führerschein, naïve café, 東京 ½",
    "ok",
    "This agreement is made between the parties named below; neither of them may disclose what it learns. " * 8,
]
Array = NDArray[np.float32]
vector_erf = np.vectorize(erf, otypes=[np.float32])


class Reference:
    """The BertModel of a Hugging Face folder in numpy, float32, by the names of that folder (Devlin et al. 2018)."""

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        found = safetensors.read(SourceFolder(folder), "model.safetensors")
        floats = {name: tensor for name, tensor in found.items() if tensor.dtype == "F32"}
        self.w = {name: tensor.data.view(np.float32).reshape(tensor.shape) for name, tensor in floats.items()}
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]

    def dense(self, name: str, x: Array) -> Array:
        return x @ self.w[f"{name}.weight"].T + self.w[f"{name}.bias"]

    def norm(self, name: str, x: Array) -> Array:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def attention(self, name: str, x: Array) -> Array:
        q, k, v = (
            self.dense(f"{name}.self.{part}", x).reshape(len(x), self.heads, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = q @ k.swapaxes(1, 2) / np.sqrt(np.float32(q.shape[-1]))
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return self.dense(f"{name}.output.dense", (weights @ v).swapaxes(0, 1).reshape(len(x), -1))

    def embed(self, ids: NDArray[np.int32]) -> Array:
        part = "embeddings.{}_embeddings.weight".format
        x = self.w[part("word")][ids] + self.w[part("position")][: len(ids)] + self.w[part("token_type")][0]
        x = self.norm("embeddings.LayerNorm", x)
        for layer in (f"encoder.layer.{number}" for number in range(self.layers)):
            x = self.norm(f"{layer}.attention.output.LayerNorm", x + self.attention(f"{layer}.attention", x))
            inner = self.dense(f"{layer}.intermediate.dense", x)
            inner = inner * (1 + vector_erf(inner / np.sqrt(np.float32(2)))) / 2
            x = self.norm(f"{layer}.output.LayerNorm", x + self.dense(f"{layer}.output.dense", inner))
        mean: Array = x.mean(0)
        return mean / np.linalg.norm(mean)


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
