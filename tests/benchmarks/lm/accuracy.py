"""How far the logits of a quantized file are from those of the same weights computed exactly.

The truth is the reference of the tests in float64, over the float32 values that the file's bytes stand for. Weights are
read from the file as they are needed, so that no more than one matrix is in memory as float64.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import tokenizer
from engine.gguf import GgufFile, read
from engine.quant import to_float32
from tests.benchmarks.lm.shapes import RANDOM
from tests.benchmarks.process import ROOT
from tests.reference.decoders import F64, PAGE, Decoder

Logits = NDArray[np.float32]
TEXT = ROOT / "pipeline" / "DECISIONS.md"


class Errors(NamedTuple):
    """Mean and greatest difference of logits; the mean one less the shift that all of a position have in common, which
    changes no probability; mean Kullback-Leibler divergence of the next token, in nats; how often the likeliest one is
    another."""

    mean: float
    most: float
    unshifted: float
    divergence: float
    others: float


class Matrices(Mapping[str, F64]):
    """The weights of a file, each read when it is asked for."""

    def __init__(self, file: GgufFile) -> None:
        self._file = file

    def __getitem__(self, name: str) -> F64:
        return to_float32(self._file.tensors[name]).astype(np.float64)

    def __iter__(self) -> Iterator[str]:
        return iter(self._file.tensors)

    def __len__(self) -> int:
        return len(self._file.tensors)

    def __contains__(self, name: object) -> bool:
        return name in self._file.tensors


class Exact(Decoder):
    """The reference for files that are larger than memory as float64."""

    def weights(self, file: GgufFile) -> Mapping[str, F64]:
        return Matrices(file)


def text_ids(path: Path, count: int) -> list[int]:
    """The first tokens of an English text for a trained model; random ones for the random weights of `files`."""
    metadata = read(path).metadata
    if not str(metadata.get("general.name", "")).startswith(RANDOM):
        return tokenizer.from_metadata(metadata).encode_within(TEXT.read_text())[:count]
    vocab = len(metadata["tokenizer.ggml.tokens"])  # type: ignore[arg-type]
    return np.random.default_rng(0).integers(vocab, size=count).tolist()


def truth(path: Path, ids: list[int]) -> Logits:
    """float32 [ids, vocab], after each token of one sequence."""
    decoder, count = Exact(path), -(-len(ids) // PAGE)
    rows = np.arange(len(ids), dtype=np.int32)
    tables = np.arange(count, dtype=np.int32)[None]
    return decoder.step(np.array(ids, np.int32), rows, np.zeros_like(rows), tables, decoder.pages(count, "exact"), rows)


def compare(found: Logits, exact: Logits) -> Errors:
    """Over all positions and tokens; a few rows at a time, for they are long."""
    distances, unshifted, most, divergences, others = [], [], 0.0, [], 0
    for at in range(0, len(exact), 32):
        a, b = found[at : at + 32].astype(np.float64), exact[at : at + 32].astype(np.float64)
        difference = a - b
        distances.append(np.abs(difference).mean(1))
        unshifted.append(np.abs(difference - difference.mean(1, keepdims=True)).mean(1))
        most = max(most, float(np.abs(difference).max()))
        others += int((a.argmax(1) != b.argmax(1)).sum())
        p, q = _log_softmax(b), _log_softmax(a)
        divergences.append((np.exp(p) * (p - q)).sum(1))
    means = (float(np.concatenate(each).mean()) for each in (distances, unshifted, divergences))
    mean, without, divergence = means
    return Errors(mean, most, without, divergence, others / len(exact))


def _log_softmax(x: F64) -> F64:
    shifted = x - x.max(1, keepdims=True)
    result: F64 = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return result
