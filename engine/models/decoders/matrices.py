"""Which tensors of a file become which matrices of an arena, in what order of rows; and the gains of its norms."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.codegen import CHUNK
from engine.errors import UnsupportedModel
from engine.gguf import GgufFile, Tensor
from engine.kernels.matmul.arena import Arena, Matrix
from engine.models.decoders.shape import Shape
from engine.models.stored import Arrays
from engine.models.weights import check_finite, expect
from engine.quant import TYPES, to_float32
from engine.simd import F32, I64

QUERY, KEY, VALUE, OUT, ROUTER, GATE = range(6)
"""Matrices of a layer; from GATE on gate, up and down of the feed-forward part, or of each expert."""
NORMS = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
BEFORE, AFTER, MIDDLE, LAST = range(len(NORMS))
"""Gains of a layer, in this order; then those of a query and of a key."""
_ROTARY = {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}


def padded(size: int) -> int:
    """Places of a row of activations."""
    return -(-size // CHUNK) * CHUNK


@dataclass(frozen=True)
class Rows:
    """A matrix: the rows `order` of one of the matrices of a tensor, zeros where it is -1; None: all of them."""

    tensor: Tensor | None  # None: a place that is not used
    part: int = 0
    order: I64 | None = None
    bias: Tensor | None = None

    @property
    def matrix(self) -> Matrix:
        if self.tensor is None:
            return Matrix(next(iter(TYPES)), 1, 1)
        n = self.tensor.shape[-2] if self.order is None else self.order.size
        return Matrix(self.tensor.type, n, self.tensor.shape[-1])

    def fill(self, arena: Arena, number: int) -> None:
        if self.tensor is None:
            return
        n = self.tensor.shape[-2]
        data = self.tensor.data.reshape(int(np.prod(self.tensor.shape[:-2])), n, -1)[self.part]
        bias = None if self.bias is None else to_float32(self.bias)
        if self.order is not None:
            data = np.where(self.order[:, None] < 0, np.uint8(0), data[self.order])
            bias = None if bias is None else np.where(self.order < 0, np.float32(0), bias[self.order])
        arena.fill(number, data, bias)


class Plan:
    """All matrices of a decoder and its gains, from the tensors of a file. Raises BadModelFile and UnsupportedModel."""

    def __init__(self, file: GgufFile, shape: Shape) -> None:
        self._file, self._shape, self._used = file, shape, {"token_embd.weight", *_ROTARY & set(file.tensors)}
        self.rows = [rows for layer in range(shape.layers) for rows in self._layer(f"blk.{layer}")]
        embeddings = self._tensor("token_embd.weight", shape.vocab, shape.width)
        last = self._tensor("output.weight", shape.vocab, shape.width, needed=False) or embeddings
        self.rows.append(Rows(last, bias=self._bias("output", shape.vocab)))
        self.gains = np.concatenate([self._gain(*each) for each in self._norms()])
        if more := sorted(set(file.tensors) - self._used):
            raise UnsupportedModel(f"{file.path}: {shape.architecture} has no tensor {more[0]} here ({len(more)} such)")
        for name in self._used & set(file.tensors):
            if file.tensors[name].type not in TYPES:
                to_float32(file.tensors[name])  # says which types there are

    def check_values(self) -> None:
        """Raises BadModelFile for values that are not finite; reads all of the file."""
        check_finite(self._file)

    def arena(self) -> Arena:
        """With nothing in it yet."""
        return Arena([rows.matrix for rows in self.rows])

    def arrays(self) -> Arrays:
        """What lies in the arena, and the gains. Raises BadModelFile."""
        self.check_values()
        arena = self.arena()
        for number, rows in enumerate(self.rows):
            rows.fill(arena, number)
            self._file.release()  # else the whole file would be in memory beside the arena
        return {"codes": arena.codes, "floats": arena.floats, "gains": self.gains}

    def _tensor(self, name: str, *sizes: int, needed: bool = True) -> Tensor | None:
        if not needed and name not in self._file.tensors:
            return None
        self._used.add(name)
        return expect(self._file, name, sizes)

    def _bias(self, name: str, size: int, *, needed: bool = False) -> Tensor | None:
        return self._tensor(f"{name}.bias", size, needed=needed)

    def _layer(self, block: str) -> Iterator[Rows]:
        """The matrices of a layer, in their order."""
        shape = self._shape
        yield from self._qkv(block)
        columns = shape.heads * shape.depth
        yield Rows(
            self._tensor(f"{block}.attn_output.weight", shape.width, columns),
            bias=self._bias(f"{block}.attn_output", shape.width),
        )
        if not shape.experts:
            yield Rows(None)
            yield from self._feed_forward(block)
            return
        yield Rows(self._tensor(f"{block}.ffn_gate_inp.weight", shape.experts, shape.width))
        sizes = {
            "gate": (shape.inner, shape.width),
            "up": (shape.inner, shape.width),
            "down": (shape.width, shape.inner),
        }
        parts = [self._tensor(f"{block}.ffn_{name}_exps.weight", shape.experts, *size) for name, size in sizes.items()]
        for expert in range(shape.experts):
            yield from (Rows(part, expert) for part in parts)

    def _qkv(self, block: str) -> Iterator[Rows]:
        shape = self._shape
        turned, plain = head_order(shape, turned=True), head_order(shape, turned=False)
        parts = (("q", shape.heads, turned), ("k", shape.kv_heads, turned), ("v", shape.kv_heads, plain))
        if f"{block}.attn_qkv.weight" in self._file.tensors:
            total = (shape.heads + 2 * shape.kv_heads) * shape.depth
            tensor, at = self._tensor(f"{block}.attn_qkv.weight", total, shape.width), 0
            bias = self._bias(f"{block}.attn_qkv", total, needed=shape.qkv_bias)
            for _, heads, order in parts:
                yield Rows(tensor, order=all_heads(order, heads, shape.depth, at), bias=bias)
                at += heads * shape.depth
            return
        for name, heads, order in parts:
            n = heads * shape.depth
            tensor, bias = (
                self._tensor(f"{block}.attn_{name}.weight", n, shape.width),
                self._bias(f"{block}.attn_{name}", n, needed=shape.qkv_bias),
            )
            where = all_heads(order, heads, shape.depth, 0)
            yield Rows(tensor, order=None if np.array_equal(where, np.arange(n)) else where, bias=bias)

    def _feed_forward(self, block: str) -> Iterator[Rows]:
        shape = self._shape
        if f"{block}.ffn_gate.weight" in self._file.tensors:
            for name in ("gate", "up"):
                tensor = self._tensor(f"{block}.ffn_{name}.weight", shape.inner, shape.width)
                yield Rows(tensor, bias=self._bias(f"{block}.ffn_{name}", shape.inner))
        else:
            tensor = self._tensor(f"{block}.ffn_up.weight", 2 * shape.inner, shape.width)
            bias = self._bias(f"{block}.ffn_up", 2 * shape.inner)
            for half in range(2):
                yield Rows(tensor, order=np.arange(shape.inner) + half * shape.inner, bias=bias)
        tensor = self._tensor(f"{block}.ffn_down.weight", shape.width, shape.inner)
        yield Rows(tensor, bias=self._bias(f"{block}.ffn_down", shape.width))

    def _norms(self) -> Iterator[tuple[str, int, bool, I64 | None]]:
        """Name, places, whether the architecture has it, order of the places."""
        shape = self._shape
        order = head_order(shape, turned=True)
        for layer in range(shape.layers):
            for i, name in enumerate(NORMS):
                yield f"blk.{layer}.{name}", padded(shape.width), i in (BEFORE, MIDDLE) or shape.post_norms, None
            for name in ("attn_q_norm", "attn_k_norm"):
                yield f"blk.{layer}.{name}", shape.part, shape.qk_norm, order
        yield "output_norm", padded(shape.width), True, None

    def _gain(self, name: str, places: int, needed: bool, order: I64 | None) -> F32:
        out = np.zeros(places, np.float32)
        if needed:
            size = self._shape.depth if order is not None else self._shape.width
            tensor = self._tensor(f"{name}.weight", size)
            assert tensor is not None
            values = to_float32(tensor)
            out[:size] = values
            if order is not None:
                out[:] = np.where(order < 0, np.float32(0), values[order])
        return out


def head_order(shape: Shape, *, turned: bool) -> I64:
    """Of each place of a head the value of the file that belongs there, or -1. Values that turn together lie `part / 2`
    places apart; what does not turn follows them."""
    order = np.full(shape.part, -1, np.int64)
    if not turned:
        order[: shape.depth] = np.arange(shape.depth)
        return order
    size, half = shape.rotation.size, shape.part // 2
    pairs = np.arange(size).reshape((-1, 2) if shape.interleaved else (2, -1))
    first, second = pairs.T if shape.interleaved else pairs
    order[: size // 2], order[half : half + size // 2] = first, second
    rest = np.flatnonzero(order < 0)[: shape.depth - size]
    order[rest] = np.arange(size, shape.depth)
    return order


def all_heads(order: I64, heads: int, depth: int, first: int) -> I64:
    """The same of heads one after another, whose values begin at `first`."""
    each = np.where(order < 0, -1, order + first + depth * np.arange(heads)[:, None])
    result: I64 = each.reshape(-1).astype(np.int64)
    return result
