"""A table in registers gives every lane the value of its index, in the way of each instruction set."""

from typing import Any

import numpy as np
import pytest
from numba import njit

from engine.cpu import ISAS
from engine.simd import JIT, LANES, gelu, load_i32, store_f32
from engine.simd.vector import f32x16, i32x16, operation
from tests.engine.tiles.test_group_tile import usable


@pytest.mark.skipif(not JIT, reason="plain Python has no registers")
@pytest.mark.parametrize("isa", ISAS)
def test_each_lane_takes_the_value_of_its_index(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usable("avx512_vnni" if isa == "amx" else isa)
    monkeypatch.setattr(gelu, "compiled_isa", lambda: isa)
    random = np.random.default_rng(0)
    values = random.standard_normal(LANES).astype(np.float32)

    def emit(b: Any, index: Any) -> Any:
        return gelu.emit_value_of(b, values.tolist(), index)

    value_of = operation(f32x16(i32x16), emit, lambda index: values[index % LANES])

    @njit
    def run(index: Any, out: Any) -> None:
        for i in range(0, index.size, LANES):
            store_f32(out, i, value_of(load_i32(index, i)))

    index = np.concatenate([np.arange(-40, 40), random.integers(-(2**31), 2**31, 160)]).astype(np.int32)
    out = np.zeros(index.size, np.float32)
    run(index, out)
    assert np.array_equal(out, values[index % LANES])
