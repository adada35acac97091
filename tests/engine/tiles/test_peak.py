"""The loops that show what an instruction set has room for do what they say: the compiler leaves nothing out."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

import engine
from engine.simd import JIT
from engine.tiles.amx import start_tiles, stop_tiles
from engine.tiles.peak import PeakLoop, meaning, peak_loop
from tests.engine.isas import COMPARED, need, usable


def data(loop: PeakLoop) -> NDArray[np.int8]:
    return np.random.default_rng(1).integers(-128, 128, loop.room).astype(np.int8)


@pytest.mark.parametrize("isa", [isa for isa in COMPARED if isa != "amx"])
@pytest.mark.parametrize("turns", [1, 2, 7])
def test_vectors(isa: str, turns: int) -> None:
    usable(isa)
    loop = peak_loop(isa)
    run: Any = loop.run
    found, expected = data(loop), data(loop)
    njit(lambda address, turns: run(address, turns))(found.ctypes.data, turns)
    meaning(isa)(expected.ctypes.data, turns)
    assert (found == expected).all()
    sums = loop.room // 64 - 1
    assert loop.multiply_adds == sums * (64 if isa == "avx512_vnni" and JIT else 32)  # of bytes, or of int16


@pytest.mark.parametrize("turns", [1, 3])
def test_tiles(turns: int) -> None:
    need("amx")
    if engine.isa() != "amx" or not JIT:
        pytest.skip("kernels are compiled for another instruction set here")
    loop = peak_loop("amx")
    run: Any = loop.run

    @njit
    def with_tiles(address: int, turns: int) -> None:
        start_tiles()
        run(address, turns)
        stop_tiles()

    found, before = data(loop), data(loop)
    with_tiles(found.ctypes.data, turns)
    a, b = before[:1024].reshape(16, 64).astype(np.int32), before[1024:2048].reshape(16, 16, 4).astype(np.int32)
    product = a @ b.transpose(0, 2, 1).reshape(64, 16)
    sums = before[2048:].view(np.int32).reshape(-1, 16, 16)
    assert (found[2048:].view(np.int32).reshape(-1, 16, 16) == sums + turns * product).all()
    assert loop.multiply_adds == len(sums) * 16 * 64 * 16
