"""Model files of random weights in real shapes, written once into a folder of the caller's.

The same shape, mix and code give the same bytes: each part of a tensor has a seed of its own.
"""

import mmap
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import prod
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from engine.cpu import threads
from engine.gguf import Digest, GgmlType, GgufFile, Tensor, TensorSource, write
from engine.quant import TYPES
from engine.quant.mixes import MIXES, plan
from tests.benchmarks.lm import vocabulary
from tests.benchmarks.lm.shapes import SHAPES, Shape, frequencies, metadata, tensors

Bytes = NDArray[np.uint8]
Say = Callable[[str], None]
FOLDER = "CLOISTER_BENCH_FILES"
_VALUES_AT_A_TIME = 1 << 20
_LOUD, _GAIN, _SPREAD = 4, 8.0, 0.3  # channels that a norm makes loud, as trained models have them; the others' spread
_LOGITS = 2.5  # standard deviation of logits


def folder() -> Path:
    """CLOISTER_BENCH_FILES, else a folder beside the engine's cache."""
    chosen = os.environ.get(FOLDER)
    found = Path(chosen) if chosen else Path.home() / ".cache/cloister-bench"
    found.mkdir(parents=True, exist_ok=True)
    return found


def model(name: str, mix: str, say: Say = lambda line: None) -> Path:
    """The file of a shape in a mix; written if it is not there."""
    path = folder() / f"{name}-{mix}.gguf"
    if not path.exists():
        say(f"writing {path}")
        write_model(path, SHAPES[name], mix)
    return path


def write_model(path: Path, shape: Shape, mix: str) -> Path:
    """A file of this shape, its tensors in the types of the mix (a key of engine.MIXES)."""
    keys = metadata(shape) | vocabulary.metadata(shape.tokens, shape.vocab)
    keys |= {"general.file_type": MIXES[mix].number, "general.quantization_version": 2}
    types = {name: choice.type for name, choice in plan(_outline(path, shape, keys), MIXES[mix]).items()}
    made: dict[tuple[str, GgmlType], list[Bytes]] = {}
    with ThreadPoolExecutor(threads()) as pool:
        sources = [
            TensorSource(name, types[name], sizes, partial(_chunks, shape, name, sizes, types[name], pool, made))
            for name, sizes in tensors(shape).items()
        ]
        write(path, keys, sources)
    return path


def _outline(path: Path, shape: Shape, keys: dict[str, object]) -> GgufFile:
    """What the rules of mixes look at; there is no float32 file."""
    nothing = np.zeros(0, np.uint8)
    found = {name: Tensor(name, GgmlType.F32, sizes, nothing) for name, sizes in tensors(shape).items()}
    empty = mmap.mmap(-1, 1)
    return GgufFile(path, 3, 32, 0, keys, {}, found, empty, Digest(empty))  # type: ignore[arg-type]


def _chunks(
    shape: Shape, name: str, sizes: tuple[int, ...], kind: GgmlType, pool: ThreadPoolExecutor,
    made: dict[tuple[str, GgmlType], list[Bytes]],
) -> Iterator[Bytes]:  # fmt: skip
    """The bytes of a tensor; layers beyond the distinct ones have those of an earlier one."""
    own = name
    if name.startswith("blk."):
        _, layer, rest = name.split(".", 2)
        own = f"blk.{int(layer) % shape.distinct}.{rest}"
    if own == name and shape.distinct == shape.layers:
        yield from _make(shape, name, sizes, kind, pool)
        return
    if (own, kind) not in made:
        made[own, kind] = list(_make(shape, own, sizes, kind, pool))
    yield from made[own, kind]


def _make(shape: Shape, name: str, sizes: tuple[int, ...], kind: GgmlType, pool: ThreadPoolExecutor) -> Iterator[Bytes]:
    if name == "rope_freqs.weight":
        yield frequencies(shape).view(np.uint8)
        return
    rows, columns = prod(sizes[:-1]), sizes[-1]
    step = max(1, _VALUES_AT_A_TIME // columns)

    def part(start: int) -> Bytes:
        random = np.random.default_rng([crc32(name.encode()), start])
        return TYPES[kind].quantize(_values(random, name, min(step, rows - start), columns))

    yield from pool.map(part, range(0, rows, step))


def _values(random: np.random.Generator, name: str, rows: int, columns: int) -> NDArray[np.float32]:
    """float32 [rows, columns]: sizes as they leave a network's inner values near 1."""
    values = random.standard_normal((rows, columns), np.float32)
    if name.endswith("norm.weight"):
        values = np.exp(np.float32(_SPREAD) * values)
        values[:, random.integers(columns, size=_LOUD)] *= np.float32(_GAIN)
        return values
    scale = _LOGITS if name in ("token_embd.weight", "output.weight") else 1.0
    return values * np.float32(0.1 if name.endswith("bias") else scale / np.sqrt(columns))
