"""Tools of all block layouts: records over bytes, and quants of a few bits packed into bytes."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

# Each member of the family is a module that satisfies `QuantType`. `dequantize` is the truth that every kernel over the
# type is compared with; `quantize` makes bytes that mean nearly the same as the values.


Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Records = NDArray[Any]
"""Blocks [..., b] of a layout."""


class Quants(NamedTuple):
    """The quants of a type that kernels execute as they are in the file.

    quants: uint8 [..., n]. scales: [..., n / 32, 1 or 2], for each 32 values a float16 scale and, if there are any, an
    offset. Where super_scales is there, float16 [..., n / 256, 1 or 2], scales are integers that are multiplied by
    those of their super-block: scale and offset, or the scales of the first and the last 16 values."""

    quants: Bytes
    scales: NDArray[Any]
    super_scales: NDArray[np.float16] | None = None


class QuantType(Protocol):
    """A module such as `engine.quant.q8_0`, or an object of `engine.quant.packed`."""

    BLOCK_VALUES: int
    BLOCK_BYTES: int
    LAYOUT: np.dtype[Any]

    def quantize(self, values: Floats) -> Bytes:
        """Finite float32 [..., n] -> uint8 [..., n / BLOCK_VALUES * BLOCK_BYTES]; n a multiple of BLOCK_VALUES."""

    def dequantize(self, data: Bytes) -> Floats:
        """uint8 [..., m] -> float32 [..., m / BLOCK_BYTES * BLOCK_VALUES]; m is a multiple of BLOCK_BYTES.

        Any bytes mean something: where a scale is not finite, neither are values, and nothing is warned of.
        """


def layout(size: int, *fields: tuple[str, str] | tuple[str, str, int]) -> np.dtype[Any]:
    """The fields of a block, one behind another. Raises AssertionError if they are not `size` bytes together."""
    result = np.dtype(list(fields))
    if result.itemsize != size:
        raise AssertionError(f"the fields {result.names} have {result.itemsize} bytes a block, not {size}")
    return result


def to_blocks(data: Bytes, kind: np.dtype[Any]) -> Records:
    """Views uint8 [..., size * b] as records [..., b] of a layout of `size` bytes."""
    return np.ascontiguousarray(data).view(kind)


def from_blocks(blocks: NDArray[Any]) -> Bytes:
    """Views blocks [..., b] of `size` bytes, or single values, as uint8 [..., size * b]."""
    return np.ascontiguousarray(blocks).view(np.uint8)


def split(values: Floats, *sizes: int) -> Floats:
    """Cuts float32 [..., n] into blocks [..., b, *sizes], where b is n / (the product of sizes)."""
    return np.ascontiguousarray(values, np.float32).reshape(*values.shape[:-1], -1, *sizes)


def to_rows(values: NDArray[Any], blocks: Records) -> NDArray[Any]:
    """Joins the values of `blocks` [..., b], of any shape [..., b, *sizes], to rows [..., n]."""
    return values.reshape(*blocks.shape[:-1], -1)


def to_values(
    blocks: Records, q: NDArray[Any], scale: NDArray[Any], offset: NDArray[Any] | None = None, *, zero: int = 0
) -> Floats:
    """Rows of scale * (q - zero) + offset, float32 [..., n], of the quants or levels q [..., b, values of a block];
    scale and offset, [..., b] or [..., b, s], are those of blocks or of their sub-blocks."""
    values = q.reshape(*scale.shape, -1).astype(np.float32)
    if zero:
        values -= zero
    values *= scale.astype(np.float32)[..., np.newaxis]
    if offset is not None:
        values += offset.astype(np.float32)[..., np.newaxis]
    return to_rows(values, blocks)


def unpack(data: Bytes, bits: int, run: int) -> Bytes:
    """Unpacks quants of 1, 2 or 4 bits: uint8 [..., m] -> uint8 [..., m * 8 / bits].

    The quants of `run` bytes are in this order: the lowest `bits` bits of each byte, then the next `bits` bits of each
    byte, and so on.
    """
    planes = data.reshape(*data.shape[:-1], -1, 1, run) >> _shifts(bits)
    return (planes & np.uint8((1 << bits) - 1)).reshape(*data.shape[:-1], -1)


def pack(quants: NDArray[Any], bits: int, run: int) -> Bytes:
    """The inverse of `unpack`; every quant is an integer from 0 to 2 ** bits - 1."""
    planes = quants.astype(np.uint8).reshape(*quants.shape[:-1], -1, 8 // bits, run) << _shifts(bits)
    result: Bytes = np.bitwise_or.reduce(planes, axis=-2).reshape(*quants.shape[:-1], -1)
    return result


def _shifts(bits: int) -> Bytes:
    return np.arange(0, 8, bits, dtype=np.uint8)[:, np.newaxis]


def to_half(values: Floats) -> NDArray[np.float16]:
    """Rounds float32 to float16; a value beyond its range becomes infinite, as in ggml."""
    with np.errstate(over="ignore"):
        return values.astype("<f2")


def nearest_quants(
    blocks: Records, values: Floats, scale: NDArray[Any], low: int, high: int, offset: NDArray[Any] | None = None
) -> Bytes:
    """For each of the values [..., n] the integer q from low to high with scale * q + offset nearest to it; stored as
    q - low, uint8 [..., b, values of a block].

    `scale` and `offset` [...] are those of blocks or sub-blocks; where a scale is 0 or not finite, q is the integer
    nearest to 0.
    """
    wide = scale.astype(np.float32)[..., np.newaxis]
    apart = values if offset is None else values - offset.astype(np.float32)[..., np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        whole = np.rint(apart / wide)
    q = np.clip(np.where(np.isfinite(wide) & (wide != 0), whole, 0), low, high) - low
    return q.astype(np.uint8).reshape(*blocks.shape, -1)


# Source: ggml `kvalues_iq4nl`.


LEVELS = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)
MIDPOINTS = (LEVELS[:-1] + LEVELS[1:]) / 2


def nearest_levels(values: Floats, scale: Floats) -> Bytes:
    """The quants, uint8 [..., n], whose levels times `scale` [...] are nearest to the values [..., n]."""
    wide = scale[..., np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        level = np.where(np.isfinite(wide) & (wide != 0), values / wide, 1)
    return np.searchsorted(MIDPOINTS, level).astype(np.uint8)


def unpack_scales(data: Bytes) -> tuple[Bytes, Bytes]:
    """Unpacks uint8 [..., 12] to scales and offsets, uint8 [..., 8] each, from 0 to 63."""
    scale, offset, low = data[..., :4], data[..., 4:8], data[..., 8:]
    return (
        np.concatenate([scale & 63, low & 15 | scale >> 6 << 4], axis=-1),
        np.concatenate([offset & 63, low >> 4 | offset >> 6 << 4], axis=-1),
    )


def pack_scales(scale: Bytes, offset: Bytes) -> Bytes:
    """Packs scales and offsets, as `unpack_scales` gives them, to uint8 [..., 12]."""
    first = [each[..., :4] | each[..., 4:] >> 4 << 6 for each in (scale, offset)]
    return np.concatenate([*first, scale[..., 4:] & 15 | offset[..., 4:] << 4], axis=-1)
