"""The shape of an encoder, as the metadata of its file says it."""

from dataclasses import dataclass

import numpy as np

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import GgufFile
from engine.kernels.rope import MAX_CONTEXT
from engine.models.weights import Axis
from engine.simd import Float


@dataclass(frozen=True)
class Sizes:
    """The sizes of an encoder; an `Axis` is padded."""

    d_model: Axis
    d_ff: Axis
    queries: Axis  # of all heads' queries; its parts are heads, or halves of heads with rotary positions
    heads: int
    layers: int
    context: int
    epsilon: np.float32

    @property
    def head_dim(self) -> int:
        """The values of a head, without padding."""
        return self.d_model.size // self.heads

    @property
    def head_places(self) -> int:
        """The places of a head, a multiple of 16."""
        return self.queries.part * self.queries.parts // self.heads

    @property
    def scale(self) -> Float:
        """The factor of scores, 1 / sqrt(head_dim)."""
        return np.float32(1) / np.sqrt(np.float32(self.head_dim))


def read_sizes(file: GgufFile, name: str, *, rotary: bool) -> Sizes:
    """The sizes of an encoder of the architecture `name`. Raises BadModelFile and UnsupportedModel."""

    def number(key: str) -> int:
        return file.require(f"{name}.{key}", int)

    d_model, d_ff, layers = number("embedding_length"), number("feed_forward_length"), number("block_count")
    heads, context = number("attention.head_count"), number("context_length")
    epsilon = np.float32(file.require(f"{name}.attention.layer_norm_epsilon", float))
    if not 0 < epsilon < 1:
        raise BadModelFile(f"{file.path}: found the layer norm epsilon {epsilon}, expected one between 0 and 1")
    parts = 2 * heads if rotary else heads
    if min(d_model, d_ff, layers, heads, context) < 1 or d_model % parts or layers > len(file.tensors):
        found = f"{layers} blocks of width {d_model} and inner width {d_ff} with {heads} heads, context {context}"
        halves = "the halves of heads" if rotary else "the heads"
        raise BadModelFile(f"{file.path}: found {found}, expected positive numbers and a width that {halves} divide")
    if rotary and context > MAX_CONTEXT:
        raise UnsupportedModel(f"{file.path}: {name}.context_length: found {context}, expected at most {MAX_CONTEXT}")
    if file.metadata.get(f"{name}.attention.causal", False) is not False:
        raise UnsupportedModel(f"{file.path}: {name}.attention.causal is set; this engine computes encoders")
    return Sizes(Axis(d_model), Axis(d_ff), Axis(d_model, parts), heads, layers, context, epsilon)


def read_base(file: GgufFile, key: str) -> float:
    """A base of rotary positions. Raises BadModelFile."""
    base = file.require(key, float)
    if not 1 <= base < np.inf:
        raise BadModelFile(f"{file.path}: {key}: found {base}, expected a number from 1 on")
    return base
