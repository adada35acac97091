"""Tensors to be quantized, how wrong they come out, and ggml's own quantizer where it is installed.

Run as a program it prints a digest of what every type makes of each: python -m tests.engine.quant.tensors NAME…
"""

import ctypes
import hashlib
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

Quantize = Callable[[int, np.ndarray], np.ndarray]


def tensor(name: str, shape: tuple[int, int] = (32, 1024)) -> np.ndarray:
    """float32: weights as they are in models, with heavy tails, of a scale float16 hardly has, and far from zero."""
    random = np.random.default_rng(11)
    values = {
        "normal": lambda: random.standard_normal(shape) * 0.02,
        "heavy": lambda: random.standard_t(4, shape) * 0.02,
        "tiny": lambda: random.standard_normal(shape) * 2e-4,
        "shifted": lambda: random.standard_normal(shape) * 0.02 + 0.05,
    }[name]()
    return values.astype(np.float32)


NAMES = ("normal", "heavy", "tiny", "shifted")


def errors(values: np.ndarray, back: np.ndarray) -> tuple[float, float]:
    """Root mean square error: of all values alike, and weighted by |x| plus the mean |x| of 32 values."""
    squares, size = (back.astype(np.float64) - values) ** 2, np.abs(values.astype(np.float64))
    mean = size.reshape(-1, 32).mean(axis=1).repeat(32).reshape(values.shape)
    return float(np.sqrt(squares.mean())), float(np.sqrt((squares * (size + mean)).sum() / (size + mean).sum()))


def ggml() -> Quantize:
    """`ggml_quantize_chunk` without importance weights, from the library that llama-cpp-python brings."""
    spec = find_spec("llama_cpp")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("llama-cpp-python is not installed")
    library = ctypes.CDLL(str(Path(spec.submodule_search_locations[0]) / "lib" / "libggml-base.so"))
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    library.ggml_quantize_chunk.argtypes = [
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p,
    ]  # fmt: skip

    def quantize(kind: int, values: np.ndarray) -> np.ndarray:
        out = np.zeros(values.nbytes, np.uint8)
        rows, columns = values.shape
        size = library.ggml_quantize_chunk(kind, values.ctypes.data, out.ctypes.data, 0, rows, columns, None)
        return out[:size].reshape(rows, -1)

    return quantize


def main() -> None:
    """Print the digests."""
    import engine  # noqa: F401 - before numba
    from engine.quant import TYPES

    for name in sys.argv[1:]:
        values = tensor(name, (9, 512))  # 18 blocks of 256: one tile, and a rest
        print(hashlib.sha256(b"".join(kind.quantize(values).tobytes() for kind in TYPES.values())).hexdigest())


if __name__ == "__main__":
    main()
