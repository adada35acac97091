"""Keys and values of tokens, PAGE tokens a page: as float16, or as int8, with a scale each."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.kernels.attention.paged_operands import PAGE, KvCache
from engine.models.decoders.shape import Shape
from engine.simd import F32

Kind = Literal["float16", "int8"]
_BYTES: dict[str, int] = {"float16": 2, "int8": 1}


class Pages:
    """`count` pages of every layer: keys [layer][page][head][stride][PAGE], values [layer][page][head][PAGE][stride].

    Memory is the system's until it is written. ValueError for another kind.
    """

    def __init__(self, count: int, shape: Shape, kind: Kind = "float16") -> None:
        if kind not in _BYTES:
            raise ValueError(f"keys and values are float16 or int8, not {kind!r:.40}")
        self.count, self.kind, self._shape = count, kind, shape
        parts = (shape.layers, count, shape.kv_heads)
        self._keys: NDArray[Any] = np.zeros((*parts, PAGE * shape.head_stride * _BYTES[kind]), np.int8)
        self._values: NDArray[Any] = np.zeros(self._keys.shape, np.int8)  # zeros_like would write it
        self._scales: F32 = np.zeros((*parts, 2 * PAGE), np.float32)

    @property
    def cache(self) -> KvCache:
        """The pages as kernels take them."""
        keys, values = self._keys.reshape(-1), self._values.reshape(-1)
        return KvCache(keys, values, self._scales.reshape(-1), self.kind == "int8", self._shape.head_stride)

    @property
    def bytes_per_page(self) -> int:
        return self._shape.layers * self._shape.kv_heads * 2 * PAGE * (self._shape.head_stride * _BYTES[self.kind] + 4)

    def copy(self, source: int, target: int) -> None:
        """Page `target` becomes as page `source` is."""
        for array in (self._keys, self._values, self._scales):
            array[:, target] = array[:, source]
