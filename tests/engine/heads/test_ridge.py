"""`ridge`: the weights are those of the definition, solved by numpy, with the same bits everywhere."""

import hashlib

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.heads import fit_ridge
from tests.engine.isas import said_everywhere


def examples(count: int, width: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Vectors, one in three of whose values is 0, and numbers that hang on them."""
    random = np.random.default_rng(5)
    x = random.standard_normal((count, width)).astype(np.float32)
    x[random.random(x.shape) < 1 / 3] = 0
    return x, x @ random.standard_normal(width) + 0.7 + 0.1 * random.standard_normal(count)


def solved(x: NDArray[np.float32], y: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    """The weights and the bias by numpy."""
    full = np.hstack([x.astype(np.float64), np.ones((len(x), 1))])
    held = np.diag([penalty] * x.shape[1] + [penalty / 100])
    return np.linalg.solve(full.T @ full + held, full.T @ y)


@pytest.mark.parametrize(("count", "width"), [(1, 1), (2, 5), (7, 3), (40, 40), (300, 17)])
@pytest.mark.parametrize("penalty", [0.01, 1.0, 100.0])
def test_weights_are_those_of_the_definition(count: int, width: int, penalty: float) -> None:
    x, y = examples(count, width)
    weights, bias = fit_ridge(x, y, penalty)
    assert np.allclose([*weights, bias], solved(x, y, penalty), rtol=1e-7, atol=1e-9)


def test_wrong_examples_are_refused() -> None:
    x, y = examples(5, 3)
    for wrong in ((x, y[:4], 1.0), (x[0], y, 1.0), (x, y, 0.0), (x[:0], y[:0], 1.0)):
        with pytest.raises(ValueError, match="vectors"):
            fit_ridge(*wrong)


def digest() -> str:
    weights, bias = fit_ridge(*examples(500, 60), 1.0)
    return hashlib.sha256(np.array([*weights, bias]).tobytes()).hexdigest()


def test_the_same_bits_on_every_instruction_set_and_with_any_threads() -> None:
    program = "from tests.engine.heads.test_ridge import digest; print(digest())"
    assert said_everywhere("-c", program) == {f"{digest()}\n"}
