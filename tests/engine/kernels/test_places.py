"""Where activations lie."""

import numpy as np

from engine.kernels.rows import place


def test_every_vector_has_its_own_place_and_tiles_of_tokens_follow_each_other() -> None:
    for n in (16, 48, 384):
        found = np.array([[place(t, i, n) for i in range(0, n, 16)] for t in range(40)])
        assert sorted(found[:32].reshape(-1)) == list(range(0, 32 * n, 16))
        assert found[16:32].min() == 16 * n
        assert np.array_equal(np.diff(found[:16], axis=0), np.full((15, n // 16), 16))
