"""The BertModel of a Hugging Face folder in numpy, straight from Devlin et al. 2018, by the names of that folder."""

import json
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.convert.folder import SourceFolder, read_safetensors

Array = NDArray[np.floating]

_STEP = 64
_ERF = np.array([math.erf(i / _STEP) for i in range(-6 * _STEP, 6 * _STEP + 1)])


def erf(x: Array) -> Array:
    """The error function within 1e-8: a table, and a Taylor step of third order from its nearest point."""
    x = np.clip(x, -6, 6)
    index = np.rint(x * _STEP)
    at = index / _STEP
    step = x - at
    slope = 2 / math.sqrt(math.pi) * np.exp(-at * at)
    near = _ERF[index.astype(np.int64) + 6 * _STEP].astype(x.dtype)
    return near + slope * (step - at * step**2 + (2 * at * at - 1) / 3 * step**3)


class Reference:
    """Token ids in, the normalised mean of the last layer out; every value of type `dtype`."""

    def __init__(self, folder: Path, dtype: type[np.floating] = np.float32) -> None:
        config = json.loads((folder / "config.json").read_text())
        found = read_safetensors(SourceFolder(folder), "model.safetensors")
        floats = {name: tensor for name, tensor in found.items() if tensor.dtype == "F32"}
        self.w = {n: tensor.data.view(np.float32).reshape(tensor.shape).astype(dtype) for n, tensor in floats.items()}
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
        scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return self.dense(f"{name}.output.dense", (weights @ v).swapaxes(0, 1).reshape(len(x), -1))

    def states(self, ids: NDArray[np.int32]) -> Array:
        """The last layer: one row a token."""
        part = "embeddings.{}_embeddings.weight".format
        x = self.w[part("word")][ids] + self.w[part("position")][: len(ids)] + self.w[part("token_type")][0]
        x = self.norm("embeddings.LayerNorm", x)
        for layer in (f"encoder.layer.{number}" for number in range(self.layers)):
            x = self.norm(f"{layer}.attention.output.LayerNorm", x + self.attention(f"{layer}.attention", x))
            inner = self.dense(f"{layer}.intermediate.dense", x)
            inner = inner * (1 + erf(inner / math.sqrt(2))) / 2
            x = self.norm(f"{layer}.output.LayerNorm", x + self.dense(f"{layer}.output.dense", inner))
        return x

    def embed(self, ids: NDArray[np.int32]) -> Array:
        mean = self.states(ids).mean(0)
        return mean / np.linalg.norm(mean)
