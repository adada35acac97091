"""Ridge regression (Hoerl and Kennard 1970): a number from a vector.

Its weights are those at which the sum over i of (x[i] . weights + bias - y[i])^2 + penalty * |weights|^2 is least (the
bias is held by a hundredth of the penalty). They solve one system of linear equations, by Cholesky's decomposition. All
is float64, and each sum goes in the order of the examples: the same examples give the same weights on every machine.
"""

from math import sqrt

import numpy as np

from engine.kernels.compiled import entry
from engine.simd import F32, F64, Integer

_BIAS = 0.01


def fit_ridge(x: F32, y: F64, penalty: float) -> tuple[F64, float]:
    """The weights [d] and the bias that give y [n] from the vectors x [n, d]. ValueError for shapes that do not fit and
    a penalty that is not positive."""
    if x.ndim != 2 or y.shape != (x.shape[0],) or not x.size or penalty <= 0:
        raise ValueError(f"found {x.shape} vectors, {y.shape} values and the penalty {penalty}")
    n, d = x.shape
    full = np.ones((n, d + 1))
    full[:, :d] = x
    products, aims = np.zeros((d + 1, d + 1)), np.zeros(d + 1)
    _gram(full.reshape(-1), np.ascontiguousarray(y, dtype=np.float64), d + 1, products.reshape(-1), aims)
    for row in range(d + 1):
        products[row, row] += penalty * (_BIAS if row == d else 1.0)
    _solve(products.reshape(-1), aims)
    return aims[:d].copy(), float(aims[d])


@entry
def _gram(x: F64, y: F64, d: Integer, products: F64, aims: F64) -> None:
    """The lower half of products [d, d] += X^T @ X, and aims [d] += X^T @ y, in the order of the examples."""
    for i in range(y.size):
        for a in range(d):
            value = x[i * d + a]
            aims[a] += value * y[i]
            if value != 0.0:
                for b in range(a + 1):
                    products[a * d + b] += value * x[i * d + b]


@entry
def _solve(products: F64, aims: F64) -> None:
    """Solve products @ w = aims, of whose symmetric positive matrix the lower half is there, which becomes its Cholesky
    factor; aims becomes w."""
    d = aims.size
    for i in range(d):
        for j in range(i + 1):
            rest = products[i * d + j]
            for k in range(j):
                rest -= products[i * d + k] * products[j * d + k]
            products[i * d + j] = sqrt(rest) if i == j else rest / products[j * d + j]
    for i in range(d):
        for k in range(i):
            aims[i] -= products[i * d + k] * aims[k]
        aims[i] /= products[i * d + i]
    for i in range(d - 1, -1, -1):
        for k in range(i + 1, d):
            aims[i] -= products[k * d + i] * aims[k]
        aims[i] /= products[i * d + i]
