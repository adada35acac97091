"""Scales for blocks of values: for each block those with the least weighted error that a search finds.

ggml searches as well (`make_qx_quants`, `make_qkx3_quants`, `make_qp_quants`): several scales are tried, each is put
right by least squares, and the best stays. Here the same is done with more of them, and what is chosen is tried on the
values in the form in which it will be stored: float16 for the block, a few bits for each group.
"""

import numpy as np
from numpy.typing import NDArray

from engine.quant.base import Floats
from engine.quant.search import offset, offsets, scale, scales

__all__ = ["fit_offset", "fit_scale", "fit_scales", "fit_scales_and_offsets"]

Halves = NDArray[np.float16]
Codes = NDArray[np.uint8]


def fit_scale(groups: Floats, low: int, high: int, *, uneven: bool = False) -> Floats:
    """d [...] for groups [..., n] of values near d * q, q from low to high; `uneven`: q among the levels of IQ4_NL."""
    flat = groups.reshape(-1, groups.shape[-1])
    found = np.empty(len(flat), np.float32)
    scale.fit(flat, np.float32(low), np.float32(high), uneven, found)
    return found.reshape(groups.shape[:-1])


def fit_offset(groups: Floats, top: int) -> tuple[Floats, Floats]:
    """d and m, both [...], for groups [..., n] of values near d * q + m, q from 0 to top."""
    flat = groups.reshape(-1, groups.shape[-1])
    found = np.empty((2, len(flat)), np.float32)
    offset.fit(flat, np.float32(top), found[0], found[1])
    return found[0].reshape(groups.shape[:-1]), found[1].reshape(groups.shape[:-1])


def fit_scales(
    blocks: Floats, codes: tuple[int, int], factors: tuple[int, int], *, uneven: bool = False
) -> tuple[Halves, NDArray[np.int8]]:
    """d [...] and k [..., g] for blocks [..., g, n] of values near d * k * q.

    `codes` and `factors` are the least and the greatest q and k; `uneven`: q among the levels of IQ4_NL.
    """
    flat = blocks.reshape(-1, *blocks.shape[-2:])
    d, found = np.empty(len(flat), np.float32), np.empty(flat.shape[:2], np.float32)
    low, high, least, most = (np.float32(value) for value in (*codes, *factors))
    scales.fit(flat, low, high, least, most, uneven, d, found)
    return d.astype("<f2").reshape(blocks.shape[:-2]), found.astype(np.int8).reshape(blocks.shape[:-1])


def fit_scales_and_offsets(blocks: Floats, top: int, most: int) -> tuple[Halves, Halves, Codes, Codes]:
    """d, dmin [...] and k, o [..., g] for blocks [..., g, n] of values near d * k * q - dmin * o.

    q is from 0 to top, k and o are from 0 to most.
    """
    flat = blocks.reshape(-1, *blocks.shape[-2:])
    d, found = np.empty((2, len(flat)), np.float32), np.empty((2, *flat.shape[:2]), np.float32)
    offsets.fit(flat, np.float32(top), np.float32(most), d[0], d[1], found[0], found[1])
    of_block = [each.astype("<f2").reshape(blocks.shape[:-2]) for each in d]
    of_group = [each.astype(np.uint8).reshape(blocks.shape[:-1]) for each in found]
    return of_block[0], of_block[1], of_group[0], of_group[1]
