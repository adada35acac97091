"""Searches of scales for blocks of values: for each block those with the least weighted error that a search finds.

ggml searches as well (`make_qx_quants`, `make_qkx3_quants`, `make_qp_quants`): several scales are tried, each is put
right by least squares, and the best stays. Here the same is done with more of them, and what is chosen is tried on the
values in the form in which it will be stored: float16 for the block, a few bits for each sub-block.
"""

import numpy as np
from numpy.typing import NDArray

from engine.quant.layout import Bytes, Floats, to_half
from engine.quant.search import offset, scale

__all__ = ["fit_offset", "fit_scale", "fit_scales", "fit_scales_and_offsets"]

Halves = NDArray[np.float16]


def fit_scale(blocks: Floats, low: int, high: int, *, uneven: bool = False) -> Halves:
    """Returns d [...] for blocks [..., n] of values near d * q, q from low to high; `uneven`: q among the levels of
    IQ4_NL."""
    flat = blocks.reshape(-1, blocks.shape[-1])
    found = np.empty(len(flat), np.float32)
    scale.fit(flat, np.float32(low), np.float32(high), uneven, found)
    return to_half(found).reshape(blocks.shape[:-1])


def fit_offset(blocks: Floats, top: int) -> tuple[Halves, Halves]:
    """Returns d and m, both [...], for blocks [..., n] of values near d * q + m, q from 0 to top."""
    flat = blocks.reshape(-1, blocks.shape[-1])
    found = np.empty((2, len(flat)), np.float32)
    offset.fit(flat, np.float32(top), found[0], found[1])
    d, m = to_half(found).reshape(2, *blocks.shape[:-1])
    return d, m


def fit_scales(
    blocks: Floats, quants: tuple[int, int], factors: tuple[int, int], *, uneven: bool = False
) -> tuple[Halves, NDArray[np.int8]]:
    """Returns d [...] and k [..., s] for super-blocks [..., s, n] of values near d * k * q.

    `quants` and `factors` are the least and the greatest q and k; `uneven`: q among the levels of IQ4_NL.
    """
    flat = blocks.reshape(-1, *blocks.shape[-2:])
    d, found = np.empty(len(flat), np.float32), np.empty(flat.shape[:2], np.float32)
    low, high, least, most = (np.float32(value) for value in (*quants, *factors))
    scale.fit_factors(flat, low, high, least, most, uneven, d, found)
    return d.astype("<f2").reshape(blocks.shape[:-2]), found.astype(np.int8).reshape(blocks.shape[:-1])


def fit_scales_and_offsets(blocks: Floats, top: int, most: int) -> tuple[Halves, Halves, Bytes, Bytes]:
    """Returns d, dmin [...] and k, o [..., s] for super-blocks [..., s, n] of values near d * k * q - dmin * o.

    q is from 0 to top, k and o are from 0 to most.
    """
    flat = blocks.reshape(-1, *blocks.shape[-2:])
    d, found = np.empty((2, len(flat)), np.float32), np.empty((2, *flat.shape[:2]), np.float32)
    offset.fit_factors(flat, np.float32(top), np.float32(most), d[0], d[1], found[0], found[1])
    of_block = [each.astype("<f2").reshape(blocks.shape[:-2]) for each in d]
    of_sub_block = [each.astype(np.uint8).reshape(blocks.shape[:-1]) for each in found]
    return of_block[0], of_block[1], of_sub_block[0], of_sub_block[1]
