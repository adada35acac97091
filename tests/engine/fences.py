"""Run as a program: forward passes whose every array ends at memory that must not be touched, or begins after some.

python -m tests.engine.fences MODEL.gguf…   prints two digests of each model's outputs; a wrong address ends it
"""

import ctypes
import dataclasses
import hashlib
import mmap
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

PAGE = mmap.PAGESIZE
LENGTHS = [1, 2, 15, 16, 17, 33, 63, 64, 65, 128, 130, 200, 600]


def fenced(array: NDArray[Any], side: str) -> NDArray[Any]:
    """A copy right before (`end`) or after (`begin`) a page that cannot be touched; read-only if the original is, so
    that what is compiled for the product runs, and nothing else has to be compiled."""
    pages = -(-max(1, array.nbytes) // PAGE)
    memory = mmap.mmap(-1, (pages + 1) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    at, fence = (pages * PAGE - array.nbytes, pages * PAGE) if side == "end" else (PAGE, 0)
    if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(start + fence), PAGE, 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    found = np.frombuffer(memory, array.dtype, array.size, at)
    found[:] = array
    found.flags.writeable = array.flags.writeable
    return found


def all_fenced(arrays: Any, side: str) -> Any:
    """Nested (named) tuples of fenced copies; arrays that share memory share it again."""
    known: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def copy(value: Any) -> Any:
        if isinstance(value, tuple):
            parts = [copy(part) for part in value]
            return value._make(parts) if hasattr(value, "_make") else tuple(parts)
        for before, after in known:
            if value.size and np.shares_memory(before, value):
                return after.view(value.dtype)
        known.append((value, fenced(value, side)))
        return known[-1][1]

    return copy(arrays)


def poison(arrays: Any, fill: int) -> None:
    """Put something else wherever something was written."""
    for value in arrays:
        if isinstance(value, tuple):
            poison(value, fill)
        else:
            value[value.view(f"i{value.itemsize}") != 0] = np.full(value.itemsize, fill, np.uint8).view(value.dtype)


def digest(path: str, side: str) -> str:
    """Of what is computed of texts of many lengths, alone and together."""
    import engine

    model, found = engine.load(path), hashlib.sha256()
    network, readout = model._network, model._readout
    arrays = {name: fenced(array, side) for name, array in network.arrays.items()}
    network = dataclasses.replace(network, arrays=arrays)
    if model.labels:
        readout = dataclasses.replace(readout, arrays=arrays)
    for sequences in [[length] for length in LENGTHS] + [LENGTHS[:9], LENGTHS[8::-1]]:
        tokens = sum(sequences)
        starts = fenced(np.concatenate([[0], np.cumsum(sequences)]).astype(np.int64), side)
        ids = fenced(np.random.default_rng(tokens).integers(5, 80, tokens).astype(np.int32), side)
        scratch, outs = all_fenced(network.scratch(tokens), side), set()
        for fill in (0, 0xFF, 0x7F):  # as it is at first; NaN; great numbers
            if fill:
                poison(scratch, fill)
            out = np.zeros((tokens if readout.each_token else len(sequences), readout.columns), np.float32)
            readout.read(network.states(ids, ids % max(1, network.kinds), starts, scratch), starts, out)
            outs.add(out.tobytes())
            assert np.isfinite(out).all(), sequences
        assert len(outs) == 1, (sequences, "what was in the scratch before changes the answer")
        found.update(outs.pop())
    return found.hexdigest()


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(digest(path, "end"), digest(path, "begin"))
