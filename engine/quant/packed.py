"""Types of few bits: their layouts, and what their bytes mean, as a table.

    value = scale * (q + low) + offset, or scale * LEVELS[q]

Scale and offset are those of a block (Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL) or, in a super-block of 256 values (the others),
those of each of its sub-blocks: a few bits times the float16 values of the super-block. Each type's source is the
struct of ggml that has its name (`block_q4_0`); its dequantize is the truth, its quantize searches.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.quant.layout import (
    LEVELS,
    Bytes,
    Floats,
    Quants,
    Records,
    from_blocks,
    layout,
    nearest_levels,
    nearest_quants,
    pack,
    pack_scales,
    split,
    to_blocks,
    to_rows,
    to_values,
    unpack,
    unpack_scales,
)
from engine.quant.search import fit_offset, fit_scale, fit_scales, fit_scales_and_offsets

Plane = tuple[str, int, int]
ScaleAndOffset = tuple[NDArray[Any], NDArray[Any] | None]


class Scales(NamedTuple):
    """How scales lie in a block: `fit` finds those of values [..., b, (s,) values of a sub-block] and writes them,
    `read` gives scale and offset, `executed` the scales of `Quants` of types that kernels execute as they are."""

    fit: Callable[[Records, Floats], None]
    read: Callable[[Records], ScaleAndOffset]
    executed: Callable[[Records], tuple[NDArray[Any], ...]] | None = None


class Packed:
    """A type of packed quants. `planes` are the fields of their bits, lowest first, each with the number of bits and of
    the bytes that lie together (`unpack`); `low` is the value of the quant 0, or None where quants stand for LEVELS."""

    def __init__(
        self, fields: np.dtype[Any], planes: tuple[Plane, ...], low: int | None, scales: Scales, sub_blocks: int = 1
    ) -> None:
        self.LAYOUT, self.BLOCK_BYTES = fields, fields.itemsize
        self.BLOCK_VALUES: int = fields[planes[0][0]].itemsize * 8 // planes[0][1]
        self._planes, self._low, self._scales, self._sub_blocks = planes, low, scales, sub_blocks

    def quantize(self, values: Floats) -> Bytes:
        """Quantizes float32 [..., BLOCK_VALUES b] to uint8 [..., BLOCK_BYTES b], scales and offsets by search."""
        size = self.BLOCK_VALUES // self._sub_blocks
        values = split(values, self._sub_blocks, size) if self._sub_blocks > 1 else split(values, size)
        blocks = np.empty(values.shape[: -2 if self._sub_blocks > 1 else -1], self.LAYOUT)
        self._scales.fit(blocks, values)
        scale, offset = self._scales.read(blocks)
        if self._low is None:
            q = nearest_levels(values, scale).reshape(*blocks.shape, -1)
        else:
            high = self._low + (1 << sum(bits for _, bits, _ in self._planes)) - 1
            q = nearest_quants(blocks, values, scale, self._low, high, offset)
        for name, bits, run in self._planes:
            blocks[name] = pack(q & ((1 << bits) - 1), bits, run)
            q >>= bits
        return from_blocks(blocks)

    @np.errstate(invalid="ignore", over="ignore")  # a file may hold any scale
    def dequantize(self, data: Bytes) -> Floats:
        """The values of uint8 [..., BLOCK_BYTES b], float32 [..., BLOCK_VALUES b]."""
        blocks = to_blocks(data, self.LAYOUT)
        q, scales = self._quants(blocks), self._scales.read(blocks)
        if self._low is None:
            return to_values(blocks, LEVELS[q], *scales)
        return to_values(blocks, q, *scales, zero=-self._low)

    def quants_of(self, data: Bytes) -> Quants:
        """The quants of uint8 [..., BLOCK_BYTES b], uint8 [..., BLOCK_VALUES b] with the zero point -low, and their
        scales; of types that kernels execute as they are."""
        assert self._scales.executed
        blocks = to_blocks(data, self.LAYOUT)
        return Quants(to_rows(self._quants(blocks), blocks), *self._scales.executed(blocks))

    def _quants(self, blocks: Records) -> Bytes:
        (first, below, run), *others = self._planes
        q = unpack(blocks[first], below, run)
        for name, bits, run in others:
            q |= unpack(blocks[name], bits, run) << np.uint8(below)
            below += bits
        return q


def _wide(blocks: Records, *names: str) -> tuple[Floats, ...]:
    return tuple(blocks[name].astype(np.float32)[..., np.newaxis] for name in names)


def _both(blocks: Records, *names: str) -> NDArray[Any]:
    return np.stack([blocks[name] for name in names], axis=-1)


def _one_scale(low: int, high: int, *, uneven: bool = False) -> Scales:
    def fit(blocks: Records, values: Floats) -> None:
        blocks["d"] = fit_scale(values, low, high, uneven=uneven)

    return Scales(fit, lambda blocks: (blocks["d"].astype(np.float32), None), lambda blocks: (blocks["d"][..., None],))


def _scale_and_offset(top: int) -> Scales:
    def fit(blocks: Records, values: Floats) -> None:
        blocks["d"], blocks["m"] = fit_offset(values, top)

    return Scales(fit, lambda blocks: (blocks["d"], blocks["m"]), lambda blocks: (_both(blocks, "d", "m"),))


def _six_bits(top: int) -> Scales:
    """Q4_K and Q5_K: scale and offset of 6 bits for each sub-block, in 12 bytes."""

    def fit(blocks: Records, values: Floats) -> None:
        blocks["d"], blocks["dmin"], scale, offset = fit_scales_and_offsets(values, top, 63)
        blocks["scales"] = pack_scales(scale, offset)

    def scales(blocks: Records) -> ScaleAndOffset:
        (d, dmin), (scale, offset) = _wide(blocks, "d", "dmin"), unpack_scales(blocks["scales"])
        return d * scale.astype(np.float32), -(dmin * offset.astype(np.float32))

    def executed(blocks: Records) -> tuple[NDArray[Any], ...]:
        found = np.stack(unpack_scales(blocks["scales"]), axis=-1)
        return found.reshape(*blocks.shape[:-1], -1, 2), _both(blocks, "d", "dmin")

    return Scales(fit, scales, executed)


def _fit_q2_k(blocks: Records, values: Floats) -> None:
    blocks["d"], blocks["dmin"], scale, offset = fit_scales_and_offsets(values, 3, 15)
    blocks["scales"] = scale | offset << 4


def _scales_q2_k(blocks: Records) -> ScaleAndOffset:
    (d, dmin), both = _wide(blocks, "d", "dmin"), blocks["scales"]
    return d * (both & 15).astype(np.float32), -(dmin * (both >> 4).astype(np.float32))


def _fit_q3_k(blocks: Records, values: Floats) -> None:
    blocks["d"], factors = fit_scales(values, (-4, 3), (-32, 31))
    factors += 32
    blocks["scales"] = np.concatenate([pack(factors & 15, 4, 8), pack(factors >> 4, 2, 4)], axis=-1)


def _scales_q3_k(blocks: Records) -> ScaleAndOffset:
    packed = blocks["scales"]
    scale = unpack(packed[..., :8], 4, 8) | unpack(packed[..., 8:], 2, 4) << 4
    return _wide(blocks, "d")[0] * (scale.astype(np.float32) - 32), None


def _fit_q6_k(blocks: Records, values: Floats) -> None:
    blocks["d"], blocks["scales"] = fit_scales(values, (-32, 31), (-128, 127))


def _scales_q6_k(blocks: Records) -> ScaleAndOffset:
    return _wide(blocks, "d")[0] * blocks["scales"].astype(np.float32), None


def _executed_q6_k(blocks: Records) -> tuple[NDArray[Any], ...]:
    return blocks["scales"].reshape(*blocks.shape[:-1], -1, 2), blocks["d"][..., np.newaxis]


def _fit_iq4_xs(blocks: Records, values: Floats) -> None:
    blocks["d"], factors = fit_scales(values, (-127, 113), (-32, 31), uneven=True)
    factors += 32
    blocks["high"], blocks["low"] = pack(factors >> 4, 2, 1), pack(factors & 15, 4, 1)


def _scales_iq4_xs(blocks: Records) -> ScaleAndOffset:
    scale = unpack(blocks["low"], 4, 1) | unpack(blocks["high"], 2, 1) << 4
    return _wide(blocks, "d")[0] * (scale.astype(np.float32) - 32), None


_D, _M, _DMIN = ("d", "<f2"), ("m", "<f2"), ("dmin", "<f2")
_Q4, _LOW4, _FIFTH = ("q", "u1", 16), ("low", "u1", 16), ("high", "u1", 4)
_PLANES4, _PLANES5 = (("q", 4, 16),), (("low", 4, 16), ("high", 1, 1))
_K_PLANES4, _K_PLANES5 = (("q", 4, 32),), (("low", 4, 32), ("high", 1, 32))
_K_SCALES = ("scales", "u1", 12)

Q4_0 = Packed(layout(18, _D, _Q4), _PLANES4, -8, _one_scale(-8, 7))
Q4_1 = Packed(layout(20, _D, _M, _Q4), _PLANES4, 0, _scale_and_offset(15))
Q5_0 = Packed(layout(22, _D, _FIFTH, _LOW4), _PLANES5, -16, _one_scale(-16, 15))
Q5_1 = Packed(layout(24, _D, _M, _FIFTH, _LOW4), _PLANES5, 0, _scale_and_offset(31))
IQ4_NL = Packed(layout(18, _D, _Q4), _PLANES4, None, _one_scale(-127, 113, uneven=True))

_LAYOUT = layout(84, ("scales", "u1", 16), ("q", "u1", 64), _D, _DMIN)
Q2_K = Packed(_LAYOUT, (("q", 2, 32),), 0, Scales(_fit_q2_k, _scales_q2_k), 16)
_LAYOUT = layout(110, ("high", "u1", 32), ("low", "u1", 64), _K_SCALES, _D)
Q3_K = Packed(_LAYOUT, (("low", 2, 32), ("high", 1, 32)), -4, Scales(_fit_q3_k, _scales_q3_k), 16)
_LAYOUT = layout(144, _D, _DMIN, _K_SCALES, ("q", "u1", 128))
Q4_K = Packed(_LAYOUT, _K_PLANES4, 0, _six_bits(15), 8)
_LAYOUT = layout(176, _D, _DMIN, _K_SCALES, ("high", "u1", 32), ("low", "u1", 128))
Q5_K = Packed(_LAYOUT, _K_PLANES5, 0, _six_bits(31), 8)
_LAYOUT = layout(210, ("low", "u1", 128), ("high", "u1", 64), ("scales", "i1", 16), _D)
Q6_K = Packed(
    _LAYOUT, (("low", 4, 64), ("high", 2, 32)), -32, Scales(_fit_q6_k, _scales_q6_k, _executed_q6_k), sub_blocks=16
)
_LAYOUT = layout(136, _D, ("high", "u1", 2), ("low", "u1", 4), ("q", "u1", 128))
IQ4_XS = Packed(_LAYOUT, _PLANES4, None, Scales(_fit_iq4_xs, _scales_iq4_xs), 8)
