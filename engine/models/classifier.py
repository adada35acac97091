"""Outputs of a text or of each of its tokens: one matrix, or two with a function and perhaps a norm between them.

All of it is float32, whatever the types of the file: a head is small, and its outputs are what is asked for.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.gguf import GgufFile
from engine.kernels.activations import tanh
from engine.kernels.compiled import entry, kernel
from engine.kernels.matmul.arguments import Target
from engine.kernels.matmul.linear import FLOAT_ROWS, GELU, PLAIN, SUMS, FloatLayer, linear_float
from engine.kernels.places import place
from engine.kernels.rows import line_up, mean_pool
from engine.models.head import EACH_TOKEN, MEAN, Head
from engine.models.layers import Norm, aligned, norm_rows
from engine.models.sizes import Sizes
from engine.models.stored import Arrays
from engine.models.weights import Axis, read_floats, read_norm
from engine.simd import F32, I64, LANES, Float, load_f32, store_f32

_ROWS = 64  # at a time
_NOTHING = np.zeros(0, np.float32)
_NOTHING.flags.writeable = False

Dense = tuple[F32, F32]  # weights, biases


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
    """One row a text, or one a token."""

    head: Head
    sizes: Sizes
    arrays: Arrays

    @property
    def each_token(self) -> bool:
        """Whether there is a row a token."""
        return self.head.pooling == EACH_TOKEN

    @property
    def columns(self) -> int:
        """Values of a row: its labels."""
        return len(self.head.labels)

    @cached_property
    def _weights(self) -> tuple[Dense, Norm, Dense]:
        names = (
            ("cls.floats", "cls.bias"),
            ("cls.norm.gain", "cls.norm.shift"),
            ("cls.output.floats", "cls.output.bias"),
        )
        dense, norm, output = ((self.arrays.get(a, _NOTHING), self.arrays.get(b, _NOTHING)) for a, b in names)
        return dense, norm, output

    def read(self, states: F32, starts: I64, out: F32) -> None:
        """out float32 [sequences or tokens, columns] from the states [tokens, padded width] in tiles."""
        width, padded = self.sizes.width, Axis(self.columns).padded
        rows = np.zeros(out.shape[0] * padded, np.float32)
        scratch = tuple(aligned(size, np.float32) for size in (
            (_ROWS + FLOAT_ROWS) * width.padded, (_ROWS + LANES) * width.padded, (_ROWS + LANES) * padded, SUMS
        ))  # fmt: skip
        classify(
            states, starts, self.head.pooling, self.head.activation == "gelu", width.size, width.padded, padded,
            self.sizes.epsilon, self.arrays["inside"], *self._weights, scratch, rows,
        )  # fmt: skip
        out[:] = rows.reshape(out.shape[0], -1)[:, : self.columns]


@entry
def classify(
    x: F32, starts: I64, pooling: int, is_gelu: bool, size: int, width: int, labels: int, epsilon: Float, inside: F32,
    dense: Dense, norm: Norm, output: Dense, scratch: tuple[F32, F32, F32, F32], out: F32,
) -> None:  # fmt: skip
    """out[sequences, labels], or [tokens, labels] without a pooling, of x [tokens, width] in tiles."""
    rows, inner, outputs, sums = scratch
    count = starts[starts.size - 1] if pooling == EACH_TOKEN else starts.size - 1
    for first in range(0, count, _ROWS):
        some = min(_ROWS, count - first)
        if pooling == EACH_TOKEN:
            line_up(x, first, some, width, rows)
        for r in range(some if pooling else 0):
            begin, end = starts[first + r], starts[first + r + 1]
            mean_pool(x, begin, end - begin if pooling == MEAN else 1, width, rows, r * width)
        if dense[0].size:
            mode = GELU if is_gelu else PLAIN
            layer = FloatLayer(dense[0], dense[1], 0, width)
            linear_float(rows, some, width, layer, Target(inner, width, 0, mode), 0, sums)
            if not is_gelu:
                _through_tanh(inner, some, width)
            if norm[0].size:
                norm_rows(inner, some, norm, 0, inside, size, width, epsilon, inner)
            line_up(inner, 0, some, width, rows)
        layer, target = FloatLayer(output[0], output[1], 0, labels), Target(outputs, labels, 0, PLAIN)
        linear_float(rows, some, width, layer, target, 0, sums)
        for r in range(some):
            for i in range(0, labels, LANES):
                store_f32(out, (first + r) * labels + i, load_f32(outputs, place(r, i, labels)))


@kernel
def _through_tanh(x: F32, count: int, n: int) -> None:
    """tanh of x [count, n] in tiles."""
    for t in range(count):
        for i in range(0, n, LANES):
            store_f32(x, place(t, i, n), tanh(load_f32(x, place(t, i, n))))
