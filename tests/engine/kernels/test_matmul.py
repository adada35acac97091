"""`linear` over whole matrices against numpy, exact, for every number of rows around the height of a tile."""

import numpy as np
import pytest

from engine.kernels.matmul import ROWS, WIDTH, linear, pack
from tests.engine.simd.test_tiles import int_tile_truth


@pytest.mark.parametrize("m", range(1, 2 * ROWS + 2))
@pytest.mark.parametrize(("k", "n"), [(32, WIDTH), (64, 3 * WIDTH), (384, 2 * WIDTH)])
def test_linear(m: int, k: int, n: int) -> None:
    random = np.random.default_rng(m)
    layers = 3
    w = random.integers(-128, 128, (layers, n, k)).astype(np.int8)
    d = random.random((layers, n, k // 32)).astype(np.float32)
    packed = [pack(w[layer], d[layer]) for layer in range(layers)]
    weights, scales = (np.concatenate(parts) for parts in zip(*packed, strict=True))
    bias = random.standard_normal(layers * n).astype(np.float32)
    a = random.integers(-32767, 32768, (m + ROWS, k)).astype(np.int16)
    row_scale = random.random(m + ROWS).astype(np.float32)
    for layer in range(layers):
        out = np.zeros((m + ROWS, n), np.float32)
        linear(a.reshape(-1), row_scale, m, k, weights, scales, bias, layer, n, out.reshape(-1))
        expected = int_tile_truth(a[:m], w[layer], d[layer], row_scale[:m], bias[layer * n : (layer + 1) * n])
        assert np.array_equal(out[:m], expected)
