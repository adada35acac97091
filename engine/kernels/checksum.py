"""Whether a file on our own disk still is what was written there: as fast as memory is read.

Not against who wants to deceive, who could write the checksum as well. 64 lanes, each an int32: lane l begins with 1
and becomes `lane * FACTOR + word` with the words l, l + 64, l + 128 … in order, modulo 2^32. FACTOR is odd, so one
wrong word is always seen; a wrong sector of a disk, or two that changed places, falls into all lanes.
"""

import numpy as np

from engine.kernels.compiled import entry
from engine.simd import I32, LANES, add_i32, load_i32, mul_i32, splat_i32, store_i32

FACTOR = 0x2C1B3C6D
LINE = 4 * LANES
"""Words that go into the lanes at once."""


@entry
def checksum(words: I32, start: int, end: int, out: I32) -> None:
    """The lanes of words[start:end], a multiple of LINE, in out[:LINE]."""
    factor, first = splat_i32(np.int32(FACTOR)), splat_i32(np.int32(1))
    a, b, c, d = first, first, first, first
    for at in range(start, end, LINE):
        a = add_i32(mul_i32(a, factor), load_i32(words, at))
        b = add_i32(mul_i32(b, factor), load_i32(words, at + LANES))
        c = add_i32(mul_i32(c, factor), load_i32(words, at + 2 * LANES))
        d = add_i32(mul_i32(d, factor), load_i32(words, at + 3 * LANES))
    store_i32(out, 0, a)
    store_i32(out, LANES, b)
    store_i32(out, 2 * LANES, c)
    store_i32(out, 3 * LANES, d)
