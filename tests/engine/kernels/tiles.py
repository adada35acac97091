"""Activations in tiles, as the kernels have them, and back; and copies beside which nothing may be written."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def to_tiles(x: NDArray[Any], fill: float = np.nan) -> NDArray[np.float32]:
    """[tokens, n] -> flat tiles of 16 tokens by 16 values; tokens that are added hold `fill`."""
    rows = np.full((-(-x.shape[0] // 16) * 16, x.shape[1]), fill, np.float32)
    rows[: x.shape[0]] = x
    return np.ascontiguousarray(rows.reshape(-1, 16, x.shape[1] // 16, 16).transpose(0, 2, 1, 3)).reshape(-1)


def from_tiles(flat: NDArray[Any], n: int) -> NDArray[np.float32]:
    """Flat tiles -> [tokens, n], a multiple of 16 of them."""
    return flat.reshape(-1, n // 16, 16, 16).transpose(0, 2, 1, 3).reshape(-1, n)


def near(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Copies that end right before memory which must stay as it is: [array, guard, array, guard …]."""
    found: list[NDArray[Any]] = []
    for array in arrays:
        size, guard = array.size, 4096 // array.dtype.itemsize
        memory = np.zeros(size + guard, array.dtype)
        memory[:size], memory.view(np.uint8)[array.nbytes :] = array, 0xA5
        found += [memory[:size], memory[size:]]
    return found


def untouched(guard: NDArray[Any]) -> bool:
    return bool((guard.view(np.uint8) == 0xA5).all())
