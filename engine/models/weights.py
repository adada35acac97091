"""Weights from a file into the layout in which they are executed: packed integers with scales, or float32.

F32 matrices are executed in float32, all other types as integers. Widths are padded with zeros,
which change no sum.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine.errors import BadModelFile
from engine.gguf import GgmlType, GgufFile, Tensor
from engine.kernels.matmul.encoder import for_raised, pack, to_integers
from engine.kernels.matmul.floats import pack_floats
from engine.models.stored import Arrays
from engine.quant import TYPES, is_finite, to_float32
from engine.simd import F32, I8, I64, LANES
from engine.tiles.operands import CHUNK

STACKS = ("qk", "v", "out", "up", "down")
"""The stacks of matrices of an encoder: what makes queries and keys, values, the output of attention, and both sides of
the feed-forward part."""
_KINDS = 2  # texts of a pair: there are no more
Smoothing = dict[str, F32]
"""The greatest magnitudes of what goes into stacks that are smoothed (`calibration.py`), float32 [layers, columns]."""
KeepSmoothed = Callable[[Callable[[Smoothing], Arrays]], Arrays]
"""Gives the arrays that a function makes, or has made before, with the smoothing that they need."""


@dataclass(frozen=True)
class Axis:
    """One axis of a tensor in `parts` equal parts (1, or one a head), each padded to a multiple of 16, all of CHUNK."""

    size: int
    parts: int = 1

    @property
    def padded(self) -> int:
        return -(-self.parts * self.part // CHUNK) * CHUNK

    @property
    def part(self) -> int:
        """Places that one part takes."""
        return -(-self.size // self.parts // LANES) * LANES

    @property
    def at(self) -> I64:
        """Where each value of the file lies on the padded axis."""
        part, within = np.divmod(np.arange(self.size), self.size // self.parts)
        return part * self.part + within


@dataclass(frozen=True)
class Several:
    """`count` axes of a file's tensor one after another, each padded by itself: queries, keys, values; two halves."""

    axis: Axis
    count: int

    @property
    def size(self) -> int:
        return self.count * self.axis.size

    @property
    def padded(self) -> int:
        return self.count * self.axis.padded

    @property
    def at(self) -> I64:
        """Where each value of the file lies."""
        return np.concatenate([i * self.axis.padded + self.axis.at for i in range(self.count)])


class Stack(NamedTuple):
    """A matrix of every layer, layer after layer, flat: packed integers and their scales, or float32; and biases. Those
    of raised rows (`encoder.for_raised`) stand beside those of "down" where the matrix is of integers."""

    weights: I8
    floats: F32
    scales: F32
    bias: F32
    raised: F32
    digits: int  # of activations that are multiplied with it
    n: int  # padded rows of a layer
    inverses: F32  # that activations are multiplied with before they become integers, [layers * columns]

    @classmethod
    def of(cls, arrays: Arrays, name: str, layers: int) -> "Stack":
        """The stack that `read_stack` made under this name, one of STACKS."""
        parts = ("weights", "floats", "scales", "bias", "raised")
        weights, floats, scales, bias, raised = (arrays[f"{name}.{part}"] for part in parts)
        digits, inverses = int(arrays[f"{name}.digits"][0]), arrays[f"{name}.inverses"]
        return cls(weights, floats, scales, bias, raised, digits, bias.size // layers, inverses)


def expect(file: GgufFile, name: str, shape: tuple[int | None, ...]) -> Tensor:
    """A tensor of the file with this shape (None: any). Raises BadModelFile."""
    tensor = file.tensors.get(name)
    if tensor is None:
        raise BadModelFile(f"{file.path}: there is no tensor {name}")
    sizes = zip(shape, tensor.shape, strict=False)
    if len(tensor.shape) != len(shape) or any(want not in (None, got) for want, got in sizes):
        raise BadModelFile(f"{file.path}: {name} has the shape {tensor.shape}, expected {shape}")
    return tensor


def read_vectors(file: GgufFile, names: Sequence[str], axis: Axis | Several, *, needed: bool = True) -> F32:
    """Vectors along `axis`, padded, one after another, float32; zeros if none is needed and the file has none."""
    if not needed and not any(name in file.tensors for name in names):
        return np.zeros(len(names) * axis.padded, np.float32)
    return np.concatenate([np.zeros(0, np.float32), *(read_rows(file, name, None, axis) for name in names)])


def read_norm(file: GgufFile, name: str, tensors: Sequence[str], axis: Axis, *, biased: bool = True) -> Arrays:
    """Weights and biases of the norms of these names, one after another; without `biased` the latter may be missing."""
    weights, biases = ([f"{tensor}.{part}" for tensor in tensors] for part in ("weight", "bias"))
    return {
        f"{name}.weights": read_vectors(file, weights, axis),
        f"{name}.biases": read_vectors(file, biases, axis, needed=biased),
    }


def read_rows(file: GgufFile, name: str, count: int | None, axis: Axis | Several) -> F32:
    """A matrix of `count` rows along `axis`, padded and flat; a vector if `count` is None."""
    values = to_float32(expect(file, name, (axis.size,) if count is None else (count, axis.size)))
    out = np.zeros((count or 1, axis.padded), np.float32)
    out[:, axis.at] = _finite(file, name, values)
    return out.reshape(-1)


def read_stack(
    file: GgufFile, smoothing: Smoothing, name: str, layers: Sequence[Sequence[str]], rows: Axis | Several,
    columns: Axis, *, biased: bool = True,
) -> Arrays:  # fmt: skip
    """Read for each layer the matrices of these names (without .weight), one below another, as the stack `name`, one of
    STACKS; arrays for `Stack.of`. Without `biased` the file may have no biases."""
    return _read_stacks(file, smoothing, {name: slice(None)}, layers, rows, columns, biased)


def read_qkv(
    file: GgufFile, smoothing: Smoothing, layers: Sequence[Sequence[str]], rows: Axis | Several, columns: Axis,
    queries: Axis, *, biased: bool = True,
) -> Arrays:  # fmt: skip
    """Queries, keys and values, in one matrix or in three, as the stacks "qk" and "v"; otherwise as `read_stack`."""
    end = 2 * queries.padded
    return _read_stacks(file, smoothing, {"qk": slice(end), "v": slice(end, None)}, layers, rows, columns, biased)


def _read_stacks(
    file: GgufFile, smoothing: Smoothing, names: dict[str, slice], layers: Sequence[Sequence[str]],
    rows: Axis | Several, columns: Axis, biased: bool,
) -> Arrays:  # fmt: skip
    """Stacks of so many of the padded rows of each layer."""
    tensors = [[expect(file, f"{part}.weight", (rows.size, columns.size)) for part in parts] for parts in layers]
    exact = all(tensor.type == GgmlType.F32 for parts in tensors for tensor in parts)
    bias = read_vectors(file, [f"{part}.bias" for parts in layers for part in parts], rows, needed=biased)
    biases = bias.reshape(len(layers), -1)
    found: dict[str, list[tuple[I8, F32, F32, F32]]] = {name: [] for name in names}
    greatest = None if exact else smoothing.get(next(iter(names)))
    inverses = np.ones((len(layers), columns.padded), np.float32)
    for layer, parts in enumerate(tensors):
        matrix = np.concatenate([_read_matrix(file, tensor, rows, columns) for tensor in parts])
        if greatest is not None:
            factors = _factors(greatest[layer], matrix)
            matrix, inverses[layer] = matrix * factors, np.float32(1) / factors
        for name, part in names.items():
            weights, floats, scales, raised = np.zeros(0, np.int8), *(np.zeros(0, np.float32) for _ in range(3))
            if exact:
                floats = pack_floats(matrix[part])
            else:
                integers = to_integers(matrix[part])
                weights, scales = pack(*integers)
                raised = for_raised(biases[layer, part], *integers) if name == "down" else raised
            found[name].append((weights, floats, scales, raised))
    arrays: Arrays = {}
    for name, part in names.items():
        for kind, values in zip(("weights", "floats", "scales", "raised"), zip(*found[name], strict=True), strict=True):
            arrays[f"{name}.{kind}"] = np.concatenate(values)
        arrays[f"{name}.bias"] = biases[:, part].reshape(-1)
        arrays[f"{name}.inverses"] = inverses.reshape(-1)
        arrays[f"{name}.digits"] = np.array([2], np.int8)  # `calibration.py` finds where one is enough
    return arrays


def _factors(greatest: F32, matrix: F32) -> F32:
    """What columns of a matrix are multiplied with, float32 [columns], where their inputs have these greatest
    magnitudes; no magnitude counts as less than a thousandth of the greatest one."""
    values, weights = (np.maximum(x, x.max() * np.float32(1e-3)) for x in (greatest, np.abs(matrix).max(0)))
    with np.errstate(all="ignore"):  # a file may hold any numbers
        factors: F32 = np.sqrt(values / weights)
    return factors if np.isfinite(factors).all() and factors.min() > 0 else np.ones_like(greatest)


def read_floats(file: GgufFile, name: str, rows: Axis, columns: Axis, *, biased: bool = True) -> Arrays:
    """One matrix for `matmul_floats`, whatever its type in the file, and its bias, zeros if it may have none."""
    tensor = expect(file, f"{name}.weight", (rows.size, columns.size))
    return {
        f"{name}.floats": pack_floats(_read_matrix(file, tensor, rows, columns)),
        f"{name}.bias": read_vectors(file, [f"{name}.bias"], rows, needed=biased),
    }


def _read_matrix(file: GgufFile, tensor: Tensor, rows: Axis | Several, columns: Axis) -> F32:
    """float32 (rows, columns), both axes padded."""
    values = np.zeros((rows.padded, columns.padded), np.float32)
    values[np.ix_(rows.at, columns.at)] = _finite(file, tensor.name, to_float32(tensor))
    return values


def check_finite(file: GgufFile) -> None:
    """Raise BadModelFile for values that are not finite, in any tensor of a type that is computed."""
    for name, tensor in file.tensors.items():
        if tensor.type in TYPES and not is_finite(tensor):
            raise BadModelFile(f"{file.path}: {name} holds values that are not finite")
        file.release()


def _finite(file: GgufFile, name: str, values: F32) -> F32:
    if not np.isfinite(values).all():
        raise BadModelFile(f"{file.path}: {name} holds values that are not finite")
    return values


def read_tables(file: GgufFile, axis: Axis, *, positions: int, kinds: bool) -> Arrays:
    """Tables for `layers.look_up`: of all tokens, of so many positions (none: 0), and of kinds if the architecture has
    them; besides `inside`, 1 where a vector has values and 0 in its padding."""
    vocabulary = len(file.require("tokenizer.ggml.tokens", list))
    nothing = np.zeros(0, np.float32)
    tokens = read_rows(file, "token_embd.weight", vocabulary, axis)
    of_positions = read_rows(file, "position_embd.weight", positions, axis) if positions else nothing
    of_kinds = nothing
    if kinds:
        count = expect(file, "token_types.weight", (None, axis.size)).shape[0]
        of_kinds = read_rows(file, "token_types.weight", count, axis)[: _KINDS * axis.padded]
    inside = np.zeros(axis.padded, np.float32)
    inside[axis.at] = 1
    return {"inside": inside, "tokens": tokens, "positions": of_positions, "kinds": of_kinds}
