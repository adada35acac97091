"""Outputs of a text or of each of its tokens: one matrix, or two with a function and perhaps a norm between them.

All of it is float32, whatever the types of the file: a head is small, and its outputs are what is asked for.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.gguf import GgufFile
from engine.kernels.activations import tanh
from engine.kernels.compiled import entry, kernel
from engine.kernels.matmul.arguments import Target
from engine.kernels.matmul.linear import GELU, PLAIN, SUMS
from engine.kernels.matmul.linear_float import FLOAT_ROWS, FloatLayer, linear_float
from engine.kernels.places import place
from engine.kernels.rows import LayerNorm, line_up, mean_pool
from engine.models.head import EACH_TOKEN, MEAN, Head
from engine.models.layers import aligned, norm_rows
from engine.models.network import layer_norm
from engine.models.sizes import Sizes
from engine.models.stored import Arrays
from engine.models.weights import Axis, read_floats, read_norm
from engine.simd import F32, I64, LANES, load_f32, store_f32

_ROWS = 64  # at a time
_NOTHING = np.zeros(0, np.float32)
_NOTHING.flags.writeable = False


class Dense(NamedTuple):
    """A matrix and its biases; empty, if a head has one matrix only."""

    floats: F32
    bias: F32


class Weights(NamedTuple):
    """A head as its kernel takes it: one matrix, or two with a function and perhaps a norm between them."""

    pooling: int
    is_gelu: bool  # else tanh
    width: int  # places of a token's vector
    labels: int  # places
    dense: Dense
    norm: LayerNorm
    output: Dense


def read_classifier(file: GgufFile, head: Head, width: Axis) -> Arrays:
    """The weights of a classifier. Raises BadModelFile."""
    arrays = read_floats(file, "cls.output", Axis(len(head.labels)), width)
    is_normed = "cls.norm.weight" in file.tensors
    if head.activation:
        arrays |= read_floats(file, "cls", width, width, biased=not is_normed)
    if is_normed:
        arrays |= read_norm(file, "cls.norm", ["cls.norm"], width, biased=False)
    return arrays


@dataclass(frozen=True)
class Classifier:
    """A head that gives one row a text, or one a token."""

    head: Head
    sizes: Sizes
    arrays: Arrays

    @property
    def each_token(self) -> bool:
        """Whether there is a row a token."""
        return self.head.pooling == EACH_TOKEN

    @property
    def columns(self) -> int:
        """How many values a row has: its labels."""
        return len(self.head.labels)

    @cached_property
    def _weights(self) -> Weights:
        width, names = self.sizes.d_model, ("cls", "cls.output")
        dense, output = (
            Dense(self.arrays.get(f"{name}.floats", _NOTHING), self.arrays.get(f"{name}.bias", _NOTHING))
            for name in names
        )
        norm = layer_norm(self.arrays, "cls.norm", self.sizes) if "cls.norm.weights" in self.arrays else None
        inside = self.arrays["inside"]
        none = LayerNorm(_NOTHING, _NOTHING, inside, width.size, self.sizes.epsilon)
        return Weights(
            self.head.pooling, self.head.activation == "gelu", width.padded, Axis(self.columns).padded, dense,
            norm or none, output,
        )  # fmt: skip

    def read(self, states: F32, starts: I64, out: F32) -> None:
        """out float32 [sequences or tokens, columns] from the states [tokens, padded d_model] in tiles."""
        width, padded = self.sizes.d_model.padded, Axis(self.columns).padded
        rows = np.zeros(out.shape[0] * padded, np.float32)
        sizes = (_ROWS + FLOAT_ROWS) * width, (_ROWS + LANES) * width, (_ROWS + LANES) * padded, SUMS
        classify(states, starts, self._weights, tuple(aligned(size, np.float32) for size in sizes), rows)
        out[:] = rows.reshape(out.shape[0], -1)[:, : self.columns]


@entry
def classify(x: F32, starts: I64, weights: Weights, scratch: tuple[F32, F32, F32, F32], out: F32) -> None:
    """out[sequences, labels], or [tokens, labels] without a pooling, of x [tokens, d_model] in tiles."""
    rows, hidden, outputs, sums = scratch
    pooling, width, labels, dense, output = (
        weights.pooling, weights.width, weights.labels, weights.dense, weights.output
    )  # fmt: skip
    count = starts[starts.size - 1] if pooling == EACH_TOKEN else starts.size - 1
    for first in range(0, count, _ROWS):
        some = min(_ROWS, count - first)
        if pooling == EACH_TOKEN:
            line_up(x, first, some, width, rows)
        for r in range(some if pooling else 0):
            begin, end = starts[first + r], starts[first + r + 1]
            mean_pool(x, begin, end - begin if pooling == MEAN else 1, width, rows, r * width)
        if dense.floats.size:
            mode = GELU if weights.is_gelu else PLAIN
            layer = FloatLayer(dense.floats, dense.bias, 0, width)
            linear_float(rows, some, width, layer, Target(hidden, width, 0, mode), 0, sums)
            if not weights.is_gelu:
                _through_tanh(hidden, some, width)
            if weights.norm.weights.size:
                norm_rows(hidden, some, weights.norm, 0, hidden)
            line_up(hidden, 0, some, width, rows)
        layer, target = FloatLayer(output.floats, output.bias, 0, labels), Target(outputs, labels, 0, PLAIN)
        linear_float(rows, some, width, layer, target, 0, sums)
        for r in range(some):
            for i in range(0, labels, LANES):
                store_f32(out, (first + r) * labels + i, load_f32(outputs, place(r, i, labels)))


@kernel
def _through_tanh(x: F32, count: int, n: int) -> None:
    """x = tanh(x), x [count, n] in tiles."""
    for t in range(count):
        for i in range(0, n, LANES):
            store_f32(x, place(t, i, n), tanh(load_f32(x, place(t, i, n))))
