"""Tools of all block layouts: records over bytes, and quants of a few bits packed into bytes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.quant.base import Bytes, Floats, Records


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
