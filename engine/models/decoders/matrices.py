"""The tensors of a file as matrices of an arena, each in its order of rows; and the weights of norms."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.errors import UnsupportedModel
from engine.gguf import GgufFile, Tensor
from engine.kernels.matmul.arena import Arena, MatrixShape
from engine.models.decoders.shape import Shape
from engine.models.stored import Arrays
from engine.models.weights import check_finite, expect
from engine.quant import TYPES, to_float32
from engine.simd import F32, I64
from engine.tiles.operands import CHUNK

QUERY, KEY, VALUE, OUT, ROUTER, GATE = range(6)
"""Matrices of a layer; from GATE on gate, up and down of the feed-forward part, or of each expert."""
NORMS = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
BEFORE, AFTER, MIDDLE, LAST = range(len(NORMS))
"""Weights of the norms of a layer, in this order; then those of a query and of a key."""
_ROTARY = {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}


def padded(size: int) -> int:
    """The places of a row of `size` activations."""
    return -(-size // CHUNK) * CHUNK


@dataclass(frozen=True)
class Rows:
    """A matrix: the rows `order` of one of the matrices of a tensor, zeros where it is -1; None: all of them."""

    tensor: Tensor | None  # None: a place that is not used
    part: int = 0
    order: I64 | None = None
    bias: Tensor | None = None

    @property
    def matrix(self) -> MatrixShape:
        if self.tensor is None:
            return MatrixShape(next(iter(TYPES)), 1, 1)
        n = self.tensor.shape[-2] if self.order is None else self.order.size
        return MatrixShape(self.tensor.type, n, self.tensor.shape[-1])

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
    """All matrices of a decoder and the weights of its norms, from the tensors of a file.

    Raises BadModelFile and UnsupportedModel.
    """

    def __init__(self, file: GgufFile, shape: Shape) -> None:
        self._file, self._shape, self._used = file, shape, {"token_embd.weight", *_ROTARY & set(file.tensors)}
        self.rows = [rows for layer in range(shape.layers) for rows in self._layer(f"blk.{layer}")]
        embeddings = self._tensor("token_embd.weight", shape.vocab, shape.d_model)
        last = self._tensor("output.weight", shape.vocab, shape.d_model, needed=False) or embeddings
        self.rows.append(Rows(last, bias=self._bias("output", shape.vocab)))
        self.norms = np.concatenate([self._norm(*each) for each in self._norms()])
        if more := sorted(set(file.tensors) - self._used):
            raise UnsupportedModel(f"{file.path}: {shape.architecture} has no tensor {more[0]} here ({len(more)} such)")
        for name in self._used & set(file.tensors):
            if file.tensors[name].type not in TYPES:
                to_float32(file.tensors[name])  # says which types there are

    def check_values(self) -> None:
        """Raise BadModelFile for values that are not finite; reads all of the file."""
        check_finite(self._file)

    def arena(self) -> Arena:
        """An arena for the matrices, with nothing in it yet."""
        return Arena([rows.matrix for rows in self.rows])

    def arrays(self) -> Arrays:
        """The filled arena and the weights of norms. Raises BadModelFile."""
        self.check_values()
        arena = self.arena()
        for number, rows in enumerate(self.rows):
            rows.fill(arena, number)
            self._file.release()  # else the whole file would be in memory beside the arena
        return {"quants": arena.quants, "floats": arena.floats, "norms": self.norms}

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
        columns = shape.heads * shape.head_dim
        yield Rows(
            self._tensor(f"{block}.attn_output.weight", shape.d_model, columns),
            bias=self._bias(f"{block}.attn_output", shape.d_model),
        )
        if not shape.experts:
            yield Rows(None)
            yield from self._feed_forward(block)
            return
        yield Rows(self._tensor(f"{block}.ffn_gate_inp.weight", shape.experts, shape.d_model))
        sizes = {
            "gate": (shape.d_ff, shape.d_model),
            "up": (shape.d_ff, shape.d_model),
            "down": (shape.d_model, shape.d_ff),
        }
        parts = [self._tensor(f"{block}.ffn_{name}_exps.weight", shape.experts, *size) for name, size in sizes.items()]
        for expert in range(shape.experts):
            yield from (Rows(part, expert) for part in parts)

    def _qkv(self, block: str) -> Iterator[Rows]:
        shape = self._shape
        rotated, plain = head_order(shape, rotary=True), head_order(shape, rotary=False)
        parts = (("q", shape.heads, rotated), ("k", shape.kv_heads, rotated), ("v", shape.kv_heads, plain))
        if f"{block}.attn_qkv.weight" in self._file.tensors:
            total = (shape.heads + 2 * shape.kv_heads) * shape.head_dim
            tensor, at = self._tensor(f"{block}.attn_qkv.weight", total, shape.d_model), 0
            bias = self._bias(f"{block}.attn_qkv", total, needed=shape.qkv_bias)
            for _, heads, order in parts:
                yield Rows(tensor, order=all_heads(order, heads, shape.head_dim, at), bias=bias)
                at += heads * shape.head_dim
            return
        for name, heads, order in parts:
            n = heads * shape.head_dim
            tensor, bias = (
                self._tensor(f"{block}.attn_{name}.weight", n, shape.d_model),
                self._bias(f"{block}.attn_{name}", n, needed=shape.qkv_bias),
            )
            where = all_heads(order, heads, shape.head_dim, 0)
            yield Rows(tensor, order=None if np.array_equal(where, np.arange(n)) else where, bias=bias)

    def _feed_forward(self, block: str) -> Iterator[Rows]:
        shape = self._shape
        if f"{block}.ffn_gate.weight" in self._file.tensors:
            for name in ("gate", "up"):
                tensor = self._tensor(f"{block}.ffn_{name}.weight", shape.d_ff, shape.d_model)
                yield Rows(tensor, bias=self._bias(f"{block}.ffn_{name}", shape.d_ff))
        else:
            tensor = self._tensor(f"{block}.ffn_up.weight", 2 * shape.d_ff, shape.d_model)
            bias = self._bias(f"{block}.ffn_up", 2 * shape.d_ff)
            for half in range(2):
                yield Rows(tensor, order=np.arange(shape.d_ff) + half * shape.d_ff, bias=bias)
        tensor = self._tensor(f"{block}.ffn_down.weight", shape.d_model, shape.d_ff)
        yield Rows(tensor, bias=self._bias(f"{block}.ffn_down", shape.d_model))

    def _norms(self) -> Iterator[tuple[str, int, bool, I64 | None]]:
        """Name, places, whether the architecture has it, order of the places."""
        shape = self._shape
        order = head_order(shape, rotary=True)
        for layer in range(shape.layers):
            for i, name in enumerate(NORMS):
                yield f"blk.{layer}.{name}", padded(shape.d_model), i in (BEFORE, MIDDLE) or shape.post_norms, None
            for name in ("attn_q_norm", "attn_k_norm"):
                yield f"blk.{layer}.{name}", shape.head_stride, shape.qk_norm, order
        yield "output_norm", padded(shape.d_model), True, None

    def _norm(self, name: str, places: int, needed: bool, order: I64 | None) -> F32:
        out = np.zeros(places, np.float32)
        if needed:
            size = self._shape.head_dim if order is not None else self._shape.d_model
            tensor = self._tensor(f"{name}.weight", size)
            assert tensor is not None
            values = to_float32(tensor)
            out[:size] = values
            if order is not None:
                out[:] = np.where(order < 0, np.float32(0), values[order])
        return out


def head_order(shape: Shape, *, rotary: bool) -> I64:
    """The value of the file that belongs to each place of a head, or -1. The two values of a rotary pair lie
    head_stride / 2 places apart; what is not rotated follows them."""
    order = np.full(shape.head_stride, -1, np.int64)
    if not rotary:
        order[: shape.head_dim] = np.arange(shape.head_dim)
        return order
    size, half = shape.rotation.size, shape.head_stride // 2
    pairs = np.arange(size).reshape((-1, 2) if shape.interleaved else (2, -1))
    first, second = pairs.T if shape.interleaved else pairs
    order[: size // 2], order[half : half + size // 2] = first, second
    rest = np.flatnonzero(order < 0)[: shape.head_dim - size]
    order[rest] = np.arange(size, shape.head_dim)
    return order


def all_heads(order: I64, heads: int, head_dim: int, first: int) -> I64:
    """The `head_order` of heads one after another, whose values begin at `first`."""
    each = np.where(order < 0, -1, order + first + head_dim * np.arange(heads)[:, None])
    result: I64 = each.reshape(-1).astype(np.int64)
    return result
