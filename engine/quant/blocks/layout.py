"""What the block layouts have in common: records over bytes, and codes of a few bits packed into bytes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.quant.base import Bytes, Floats

Records = NDArray[Any]


def layout(size: int, *fields: tuple[str, str] | tuple[str, str, int]) -> np.dtype[Any]:
    """The fields of a block, one behind another. Raises AssertionError if they are not `size` bytes together."""
    result = np.dtype(list(fields))
    if result.itemsize != size:
        raise AssertionError(f"the fields {result.names} have {result.itemsize} bytes a block, not {size}")
    return result


def to_blocks(data: Bytes, kind: np.dtype[Any]) -> Records:
    """uint8 [..., size * b] -> records [..., b]"""
    return np.ascontiguousarray(data).view(kind)


def from_blocks(blocks: Records) -> Bytes:
    """records [..., b] -> uint8 [..., size * b]"""
    return np.ascontiguousarray(blocks).view(np.uint8)


def to_groups(values: Floats, *sizes: int) -> Floats:
    """float32 [..., n] -> [..., n / (the product of sizes), *sizes]"""
    return np.ascontiguousarray(values, np.float32).reshape(*values.shape[:-1], -1, *sizes)


def to_rows(groups: NDArray[Any], blocks: Records) -> NDArray[Any]:
    """Whatever shape the values of `blocks` [..., b] have -> [..., n], where n counts b blocks"""
    return groups.reshape(*blocks.shape[:-1], -1)


def unpack(data: Bytes, bits: int, run: int) -> Bytes:
    """Codes of 1, 2 or 4 bits: uint8 [..., m] -> uint8 [..., m * 8 / bits].

    In each `run` bytes lie first the lowest bits of all, then the next higher bits of all, and so on.
    """
    planes = data.reshape(*data.shape[:-1], -1, 1, run) >> _shifts(bits)
    return (planes & np.uint8((1 << bits) - 1)).reshape(*data.shape[:-1], -1)


def pack(codes: NDArray[Any], bits: int, run: int) -> Bytes:
    """The inverse of `unpack`; every code is a whole number below 2 ** bits."""
    planes = codes.astype(np.uint8).reshape(*codes.shape[:-1], -1, 8 // bits, run) << _shifts(bits)
    result: Bytes = np.bitwise_or.reduce(planes, axis=-2).reshape(*codes.shape[:-1], -1)
    return result


def _shifts(bits: int) -> Bytes:
    return np.arange(0, 8, bits, dtype=np.uint8)[:, np.newaxis]


def to_half(values: Floats) -> NDArray[np.float16]:
    """float32 -> float16, beyond its range infinite, as in ggml"""
    with np.errstate(over="ignore"):
        return values.astype("<f2")


def codes(values: Floats, scale: Floats, offset: Floats, low: int, high: int) -> Floats:
    """The whole numbers from low to high for which scale * code + offset is nearest to the values; low for no scale.

    `scale` and `offset` [...] hold for groups of values [..., n].
    """
    wide, shift = scale[..., np.newaxis], offset[..., np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        whole = np.rint((values - shift) / wide)
    return np.clip(np.where(np.isfinite(wide) & (wide != 0), whole, 0), low, high)
