"""Short strings of a GGUF file, many at once: a vocabulary and its merges are 400,000 of them, read at every start."""

import numpy as np
from numpy.typing import NDArray

LONGEST = 255
"""Bytes of such a string: seven of the eight bytes of its length are zero."""
_BEFORE = 8


def short_strings(window: NDArray[np.uint8], count: int) -> tuple[list[str], int]:
    """The first strings in these bytes of a file, at most `count`, and the bytes that they take: those up to one that
    is empty or longer, or has no other behind it. None at all where that cannot be told so quickly."""
    zero = window == 0
    two = zero[:-1] & zero[1:]
    four = two[:-2] & two[2:]
    starts = np.flatnonzero(four[:-3] & four[3:]) - 1  # where seven zeros follow
    if not starts.size or starts[0] != 0:
        return [], 0
    is_next = starts[1:] == (starts + window[starts] + _BEFORE)[:-1]
    found = min(count, is_next.size if is_next.all() else int(is_next.argmin()))
    size = int(starts[found]) if found else 0
    if not found or np.count_nonzero(zero[:size]) != (_BEFORE - 1) * found:  # a zero in a text
        return [], 0
    part = window[:size].copy()
    part[starts[:found]] = 0
    try:
        return str(part.data[_BEFORE:], "utf-8").split("\0" * _BEFORE), size
    except UnicodeDecodeError:
        return [], 0
