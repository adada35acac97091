"""What the pipeline computes with vectors, against numpy."""

import numpy as np
import pytest

import engine

RANDOM = np.random.default_rng(4)


@pytest.mark.parametrize(("n", "m", "d"), [(0, 3, 16), (3, 0, 16), (1, 1, 1), (2, 3, 15), (5, 4, 17), (7, 2, 384)])
def test_similarity(n: int, m: int, d: int) -> None:
    a, b = RANDOM.standard_normal((n, d)).astype(np.float32), RANDOM.standard_normal((m, d)).astype(np.float32)
    found = engine.similarity(a, b)
    assert found.dtype == np.float32
    assert found.shape == (n, m)
    assert np.allclose(found, a.astype(np.float64) @ b.T.astype(np.float64), atol=1e-5)


def test_similarity_of_a_pair_does_not_depend_on_the_others() -> None:
    a, b = RANDOM.standard_normal((5, 384)).astype(np.float32), RANDOM.standard_normal((4, 384)).astype(np.float32)
    together = engine.similarity(a, b)
    for i in range(5):
        for j in range(4):
            assert engine.similarity(a[i : i + 1], b[j : j + 1])[0, 0] == together[i, j]


@pytest.mark.parametrize("shapes", [((2, 3), (2, 4)), ((3,), (3,)), ((2, 3), (3,))])
def test_shapes_that_do_not_fit(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="expected rows of the same length"):
        engine.similarity(*(np.zeros(shape, np.float32) for shape in shapes))


@pytest.mark.parametrize(("n", "m"), [(0, 4), (1, 1), (2, 5), (3, 16), (2, 77)])
def test_softmax(n: int, m: int) -> None:
    x = RANDOM.standard_normal((n, m)).astype(np.float32)
    before = x.copy()
    found = engine.softmax(x, 20.0)
    expected = np.exp(20 * (x.astype(np.float64) - x.max(1, keepdims=True, initial=-9)))
    assert found.dtype == np.float32
    assert np.abs(found - expected / expected.sum(1, keepdims=True)).max(initial=0) < 1e-6
    assert np.array_equal(x, before)


def test_softmax_wants_rows() -> None:
    with pytest.raises(ValueError, match="expected rows"):
        engine.softmax(np.zeros(3, np.float32), 1.0)
